package mandate

import "github.com/paywarrant/paywarrant/internal/sdjwt"

// Reason is the code of the rule that a mandate, a presentation or a payment
// breaks: the first one, in the order of the list below.
type Reason string

// Reasons of the envelope and of any JSON text.
const (
	TooLarge     = Reason(sdjwt.TooLarge)     // longer than MaxTokenBytes
	BadFormat    = Reason(sdjwt.BadFormat)    // not issuer JWT, disclosures, optional key binding
	KBMissing    = Reason(sdjwt.KBMissing)    // key binding required and not sent
	BadBase64URL = Reason(sdjwt.BadBase64URL) // a part is not strict base64url
	BadJSON      = Reason(sdjwt.BadJSON)      // not one I-JSON value of the wanted kind
	DuplicateKey = Reason(sdjwt.DuplicateKey) // two members of one name
)

// Reasons of the issuer's header, key and signature.
const (
	BadAlg          = Reason(sdjwt.BadAlg)          // alg is not ES256
	BadTyp          = Reason(sdjwt.BadTyp)          // typ is not dc+sd-jwt
	CritUnsupported = Reason(sdjwt.CritUnsupported) // crit is there
	HeaderForbidden = Reason(sdjwt.HeaderForbidden) // a key or certificate in the header
	KidMissing      = Reason(sdjwt.KidMissing)      // no kid
	KidUnknown      = Reason(sdjwt.KidUnknown)      // no key of the issuer has that thumbprint
	BadSignature    = Reason(sdjwt.BadSignature)    // not signed by that key
)

// Reasons of the disclosures.
const (
	BadSDAlg                = Reason(sdjwt.BadSDAlg)                // _sd_alg is not sha-256, or misplaced
	BadDisclosure           = Reason(sdjwt.BadDisclosure)           // wrong form or wrong place
	DisclosureNameForbidden = Reason(sdjwt.DisclosureNameForbidden) // claim name _sd or ...
	DisclosureRepeated      = Reason(sdjwt.DisclosureRepeated)      // sent twice
	BadSD                   = Reason(sdjwt.BadSD)                   // malformed _sd or ...
	SDInProtectedClaim      = Reason(sdjwt.SDInProtectedClaim)      // something hidden that would widen the mandate
	DigestRepeated          = Reason(sdjwt.DigestRepeated)          // one digest in two places
	DisclosureReserved      = Reason(sdjwt.DisclosureReserved)      // a claim that may not be hidden
	DisclosureConflict      = Reason(sdjwt.DisclosureConflict)      // the name is already there
	DisclosureUnreferenced  = Reason(sdjwt.DisclosureUnreferenced)  // no digest names it
)

// Reasons of the claims.
const (
	BadVct              Reason = "bad_vct"              // not an open payment mandate
	BadIss              Reason = "bad_iss"              // not the trusted issuer
	BadJti              Reason = "bad_jti"              // not del_ and 1 to 64 of A-Za-z0-9_-
	BadIat              Reason = "bad_iat"              // no date
	IatInFuture         Reason = "iat_in_future"        // issued later than now
	ExpMissing          Reason = "exp_missing"          // no exp
	BadExp              Reason = "bad_exp"              // no date, or not after iat
	Expired             Reason = "expired"              // over
	BadNbf              Reason = "bad_nbf"              // no date
	NotYetValid         Reason = "not_yet_valid"        // nbf is later than now
	BadCnf              Reason = "bad_cnf"              // no usable session key
	BadStatus           Reason = "bad_status"           // malformed status reference
	BadLimits           Reason = "bad_limits"           // malformed or unknown limits
	BadConstraints      Reason = "bad_constraints"      // malformed, missing or unknown constraint
	ConstraintsMismatch Reason = "constraints_mismatch" // constraints tell other limits than spending_limits
)

// Reasons of the key binding.
const (
	KBBadAlg                    = Reason(sdjwt.KBBadAlg)
	KBBadTyp                    = Reason(sdjwt.KBBadTyp)
	KBHeaderForbidden           = Reason(sdjwt.KBHeaderForbidden)
	KBBadSignature              = Reason(sdjwt.KBBadSignature)
	KBBadIat                    = Reason(sdjwt.KBBadIat)
	KBIatInFuture               = Reason(sdjwt.KBIatInFuture)
	KBStale                     = Reason(sdjwt.KBStale)
	KBBadAud                    = Reason(sdjwt.KBBadAud)
	KBBadNonce                  = Reason(sdjwt.KBBadNonce)
	KBBadSDHash                 = Reason(sdjwt.KBBadSDHash)
	KBBadTransactionData Reason = "kb_bad_transaction_data" // malformed, or missing where it is wanted
)

// Reasons beyond the token itself.
const (
	Revoked           Reason = "revoked"            // by the status list
	KeysUnavailable   Reason = "keys_unavailable"   // the issuer's keys cannot be read now
	StatusUnavailable Reason = "status_unavailable" // the status list cannot be read now
	BadAmount         Reason = "bad_amount"         // of a Payment: not positive
	PayeeNotAllowed   Reason = "payee_not_allowed"  // of a Payment
	RailNotAllowed    Reason = "rail_not_allowed"   // of a Payment
	PerTx             Reason = "per_tx"             // of a Payment: above the per-transaction limit
)
