package sdjwt

import (
	"crypto"
	"crypto/ecdsa"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// JWT is a compact JWS with its parts decoded.
type JWT struct {
	header, payload, signature string
	signed                     string // header.payload as received
}

// ParseJWT takes a JWT apart that stands alone.
// Errors: [*Error] with bad_format or bad_base64url.
func ParseJWT(text string) (JWT, error) {
	parts, ok := dots(text)
	if !ok {
		return JWT{}, refuse(BadFormat)
	}
	return decodeJWT(parts)
}

// dots cuts s into exactly three non-empty parts between dots.
func dots(s string) (parts [3]string, ok bool) {
	i, j := strings.IndexByte(s, '.'), strings.LastIndexByte(s, '.')
	if i <= 0 || j <= i+1 || j == len(s)-1 {
		return parts, false
	}
	parts = [3]string{s[:i], s[i+1 : j], s[j+1:]}
	return parts, strings.IndexByte(parts[1], '.') < 0
}

func decodeJWT(parts [3]string) (JWT, error) {
	var j JWT
	var ok [3]bool
	j.header, ok[0] = decode64(parts[0])
	j.payload, ok[1] = decode64(parts[1])
	j.signature, ok[2] = decode64(parts[2])
	if !ok[0] || !ok[1] || !ok[2] {
		return JWT{}, refuse(BadBase64URL)
	}
	j.signed = parts[0] + "." + parts[1]
	return j, nil
}

// headerReasons are the codes that one kind of JWT gives to its header's faults.
type headerReasons struct{ alg, typ, crit, forbidden Reason }

// Header reads the header (rules 6 to 11) and returns its kid.
// Errors: [*Error] with bad_json, duplicate_key, bad_alg, bad_typ,
// crit_unsupported, header_forbidden or kid_missing.
func (j *JWT) Header(typ string) (kid string, err error) {
	h, err := j.readHeader(typ, headerReasons{BadAlg, BadTyp, CritUnsupported, HeaderForbidden})
	if err != nil {
		return "", err
	}
	kid, _ = h.Get("kid").Str()
	if kid == "" {
		return "", refuse(KidMissing)
	}
	return kid, nil
}

func (j *JWT) readHeader(typ string, reasons headerReasons) (*ijson.Value, error) {
	h, err := parse(j.header, ijson.Object)
	switch {
	case err != nil:
		return nil, err
	case !h.Get("alg").Is("ES256"):
		return nil, refuse(reasons.alg)
	case !h.Get("typ").Is(typ):
		return nil, refuse(reasons.typ)
	case h.Get("crit") != nil:
		return nil, refuse(reasons.crit)
	}
	for m := range h.Children() {
		switch m.Name() {
		case "jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256": // a key never comes with the token
			return nil, refuse(reasons.forbidden)
		}
	}
	return h, nil
}

// Verify checks the signature (rule 13). High s is valid: the text of a token
// is no identity. Errors: [*Error] with bad_signature.
func (j *JWT) Verify(key *ecdsa.PublicKey) error {
	if !verifyES256(key, j.signed, j.signature) {
		return refuse(BadSignature)
	}
	return nil
}

// Claims parses the payload (rule 14). Errors: [*Error] with bad_json or duplicate_key.
func (j *JWT) Claims() (*ijson.Value, error) { return parse(j.payload, ijson.Object) }

// Sign makes a JWT with an ES256 signature of the JSON texts header and payload.
// Errors: those of the signer, or that its signature is none of P-256.
func Sign(header, payload []byte, key crypto.Signer) (string, error) {
	signed := Encode64(header) + "." + Encode64(payload)
	sig, err := signES256(key, signed)
	if err != nil {
		return "", fmt.Errorf("sign JWT: %w", err)
	}
	return signed + "." + Encode64(sig), nil
}
