package sdjwt

// Reason is the code of the rule that a token breaks.
type Reason string

// Reasons about the envelope (rules 1 to 5) and about any JSON text.
const (
	TooLarge     Reason = "too_large"
	BadFormat    Reason = "bad_format"
	KBMissing    Reason = "kb_missing"
	BadBase64URL Reason = "bad_base64url"
	BadJSON      Reason = "bad_json"
	DuplicateKey Reason = "duplicate_key"
)

// Reasons about the issuer's header, key and signature (rules 6 to 13).
const (
	BadAlg          Reason = "bad_alg"
	BadTyp          Reason = "bad_typ"
	CritUnsupported Reason = "crit_unsupported"
	HeaderForbidden Reason = "header_forbidden"
	KidMissing      Reason = "kid_missing"
	KidUnknown      Reason = "kid_unknown"
	BadSignature    Reason = "bad_signature"
)

// Reasons about the disclosures (rules 15 to 18).
const (
	BadSDAlg                Reason = "bad_sd_alg"
	BadDisclosure           Reason = "bad_disclosure"
	DisclosureNameForbidden Reason = "disclosure_name_forbidden"
	DisclosureRepeated      Reason = "disclosure_repeated"
	BadSD                   Reason = "bad_sd"
	SDInProtectedClaim      Reason = "sd_in_protected_claim"
	DigestRepeated          Reason = "digest_repeated"
	DisclosureReserved      Reason = "disclosure_reserved"
	DisclosureConflict      Reason = "disclosure_conflict"
	DisclosureUnreferenced  Reason = "disclosure_unreferenced"
)

// Reasons about the key binding (rules 30 to 34).
const (
	KBBadAlg          Reason = "kb_bad_alg"
	KBBadTyp          Reason = "kb_bad_typ"
	KBHeaderForbidden Reason = "kb_header_forbidden"
	KBBadSignature    Reason = "kb_bad_signature"
	KBBadIat          Reason = "kb_bad_iat"
	KBIatInFuture     Reason = "kb_iat_in_future"
	KBStale           Reason = "kb_stale"
	KBBadAud          Reason = "kb_bad_aud"
	KBBadNonce        Reason = "kb_bad_nonce"
	KBBadSDHash       Reason = "kb_bad_sd_hash"
)

// Error is a refusal. It never contains text of the token.
type Error struct{ Reason Reason }

func (e *Error) Error() string { return "sdjwt: " + string(e.Reason) }

func refuse(r Reason) error { return &Error{Reason: r} }
