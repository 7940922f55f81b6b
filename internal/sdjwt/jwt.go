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

// ParseJWT parses a JWT that is not part of an SD-JWT. It returns an [*Error] with
// bad_format or bad_base64url.
func ParseJWT(text string) (JWT, error) {
	c, ok := dots(text)
	if !ok {
		return JWT{}, refuse(BadFormat)
	}
	j, ok := c.decode(make([]byte, 0, len(text)))
	if !ok {
		return JWT{}, refuse(BadBase64URL)
	}
	return j, nil
}

// compact is a JWT: three non-empty parts separated by dots, not decoded.
type compact struct {
	text          string
	first, second int // positions of the dots
}

func dots(s string) (compact, bool) {
	c := compact{text: s, first: strings.IndexByte(s, '.'), second: strings.LastIndexByte(s, '.')}
	ok := c.first > 0 && c.second > c.first+1 && c.second < len(s)-1 &&
		strings.IndexByte(s[c.first+1:c.second], '.') < 0
	return c, ok
}

// decode decodes the three parts. Buf is a buffer for them.
func (c compact) decode(buf []byte) (JWT, bool) {
	buf, okHeader := appendDecoded(buf, c.text[:c.first])
	header := len(buf)
	buf, okPayload := appendDecoded(buf, c.text[c.first+1:c.second])
	payload := len(buf)
	buf, okSignature := appendDecoded(buf, c.text[c.second+1:])
	all := string(buf)
	return JWT{
		header: all[:header], payload: all[header:payload], signature: all[payload:],
		signed: c.text[:c.second],
	}, okHeader && okPayload && okSignature
}

// headerReasons are the reasons for header errors of one kind of JWT.
type headerReasons struct{ alg, typ, crit, forbidden Reason }

// Header checks the header (rules 6 to 11) and returns its kid. It returns an [*Error] with
// bad_json, duplicate_key, bad_alg, bad_typ, crit_unsupported, header_forbidden or
// kid_missing.
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
		case "jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256": // a token must not bring its own key
			return nil, refuse(reasons.forbidden)
		}
	}
	return h, nil
}

// Verify verifies the signature (rule 13). High s is valid, so a token's text does not
// identify it. It returns an [*Error] with bad_signature.
func (j *JWT) Verify(key *ecdsa.PublicKey) error {
	if !verifyES256(key, j.signed, j.signature) {
		return refuse(BadSignature)
	}
	return nil
}

// Claims parses the payload (rule 14). It returns an [*Error] with bad_json or duplicate_key.
func (j *JWT) Claims() (*ijson.Value, error) { return parse(j.payload, ijson.Object) }

// Sign returns a JWT with an ES256 signature of the JSON texts header and payload. It
// returns the errors of the signer, or an error if its signature is not of P-256.
func Sign(header, payload []byte, key crypto.Signer) (string, error) {
	signed := Encode64(header) + "." + Encode64(payload)
	sig, err := signES256(key, signed)
	if err != nil {
		return "", fmt.Errorf("sign JWT: %w", err)
	}
	return signed + "." + Encode64(sig), nil
}
