package mandate

import "github.com/paywarrant/paywarrant/internal/sdjwt"

// Reason is the code of the first rule that a mandate, a presentation or a payment
// breaks. Rules are checked in the order of the constants below.
type Reason string

// Reasons about the envelope and its JSON texts.
const (
	TooLarge     = Reason(sdjwt.TooLarge)     // longer than MaxTokenBytes
	BadFormat    = Reason(sdjwt.BadFormat)    // not issuer JWT, disclosures, optional key binding
	KBMissing    = Reason(sdjwt.KBMissing)    // key binding is required but missing
	BadBase64URL = Reason(sdjwt.BadBase64URL) // a part is not strict base64url
	BadJSON      = Reason(sdjwt.BadJSON)      // not one I-JSON value of the expected kind
	DuplicateKey = Reason(sdjwt.DuplicateKey) // two members with the same name
)

// Reasons about the issuer's header, key and signature.
const (
	BadAlg          = Reason(sdjwt.BadAlg)          // alg is not ES256
	BadTyp          = Reason(sdjwt.BadTyp)          // typ is not dc+sd-jwt
	CritUnsupported = Reason(sdjwt.CritUnsupported) // crit is present
	HeaderForbidden = Reason(sdjwt.HeaderForbidden) // a key or certificate in the header
	KidMissing      = Reason(sdjwt.KidMissing)      // no kid
	KidUnknown      = Reason(sdjwt.KidUnknown)      // no key of the issuer has that thumbprint
	BadSignature    = Reason(sdjwt.BadSignature)    // not signed by that key
)

// Reasons about the disclosures.
const (
	BadSDAlg                = Reason(sdjwt.BadSDAlg)                // _sd_alg is not sha-256, or misplaced
	BadDisclosure           = Reason(sdjwt.BadDisclosure)           // wrong form or wrong place
	DisclosureNameForbidden = Reason(sdjwt.DisclosureNameForbidden) // claim name _sd or ...
	DisclosureRepeated      = Reason(sdjwt.DisclosureRepeated)      // sent twice
	BadSD                   = Reason(sdjwt.BadSD)                   // malformed _sd or ...
	SDInProtectedClaim      = Reason(sdjwt.SDInProtectedClaim)      // a hidden value that would widen the mandate
	DigestRepeated          = Reason(sdjwt.DigestRepeated)          // the same digest twice
	DisclosureReserved      = Reason(sdjwt.DisclosureReserved)      // a claim that must not be hidden
	DisclosureConflict      = Reason(sdjwt.DisclosureConflict)      // the name exists already
	DisclosureUnreferenced  = Reason(sdjwt.DisclosureUnreferenced)  // no digest refers to it
)

// Reasons about the claims.
const (
	BadVct              Reason = "bad_vct"              // not an open payment mandate
	BadIss              Reason = "bad_iss"              // not the trusted issuer
	BadJti              Reason = "bad_jti"              // not del_ and 1 to 64 of A-Za-z0-9_-
	BadIat              Reason = "bad_iat"              // not a date
	IatInFuture         Reason = "iat_in_future"        // issued later than now
	ExpMissing          Reason = "exp_missing"          // exp is missing
	BadExp              Reason = "bad_exp"              // not a date, or not after iat
	Expired             Reason = "expired"              // exp has passed
	BadNbf              Reason = "bad_nbf"              // not a date
	NotYetValid         Reason = "not_yet_valid"        // nbf is later than now
	BadCnf              Reason = "bad_cnf"              // no usable session key
	BadStatus           Reason = "bad_status"           // malformed status reference
	BadLimits           Reason = "bad_limits"           // malformed or unknown limits
	BadConstraints      Reason = "bad_constraints"      // malformed, missing or unknown constraint
	ConstraintsMismatch Reason = "constraints_mismatch" // constraints differ from spending_limits
)

// Reasons about the key binding.
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
	KBBadTransactionData Reason = "kb_bad_transaction_data" // malformed, or missing although required
)

// Reasons beyond the token itself.
const (
	Revoked           Reason = "revoked"            // the status list has it as revoked
	KeysUnavailable   Reason = "keys_unavailable"   // the issuer's keys cannot be fetched now
	StatusUnavailable Reason = "status_unavailable" // the status list cannot be fetched now
	BadAmount         Reason = "bad_amount"         // Payment: the amount is not positive
	PayeeNotAllowed   Reason = "payee_not_allowed"  // Payment: the mandate does not list the payee
	RailNotAllowed    Reason = "rail_not_allowed"   // Payment: the mandate does not have the rail
	PerTx             Reason = "per_tx"             // Payment: above the limit per payment
)
