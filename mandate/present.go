package mandate

import (
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// ErrWrongKey reports a key that is not the session key of the mandate.
var ErrWrongKey = errors.New("not the session key of the mandate")

// Binding is what a presentation binds a mandate to. All fields except ExpiresAt are
// required.
type Binding struct {
	// Audience is the origin of the resource.
	Audience string
	// Nonce is the id of the challenge that the presentation answers.
	Nonce string
	// IssuedAt is the current time. Verifiers accept a presentation for 300 s from then on.
	IssuedAt time.Time
	// ExpiresAt is when the presentation expires, if earlier. Default: the verifier decides.
	ExpiresAt time.Time
	// Transaction is the payment.
	Transaction TransactionData
}

// Present binds a mandate to one payment with a key-binding JWT, signed with the mandate's
// session key. The mandate is not verified, and must not have a key binding yet.
//
// It returns an [*Error] if the mandate cannot be read, [ErrWrongKey], the errors of the
// key, or an error about the incomplete binding.
func Present(m Token, key crypto.Signer, b Binding) (Token, error) {
	text, err := present(m, key, b)
	if err != nil {
		return Token{}, fmt.Errorf("present mandate: %w", err)
	}
	return newToken(text), nil
}

func present(m Token, key crypto.Signer, b Binding) (string, error) {
	payload, err := b.payload()
	if err != nil {
		return "", err
	}
	tok, err := split(m.Reveal())
	if err != nil {
		return "", err
	}
	if tok.Binding != nil {
		return "", errors.New("the mandate has a key binding already")
	}
	session, err := sessionKey(tok)
	if err != nil {
		return "", err
	}
	if public, err := publicOf(key); err != nil || !public.Equal(session) {
		return "", ErrWrongKey
	}
	payload.SDHash = sdjwt.Digest(tok.Bound())
	body, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("encode key binding: %w", err)
	}
	jwt, err := sdjwt.Sign([]byte(`{"alg":"ES256","typ":"`+sdjwt.BindingTyp+`"}`), body, key)
	if err != nil {
		return "", err
	}
	if len(Prefix)+len(tok.Bound())+len(jwt) > MaxTokenBytes {
		return "", refuse(TooLarge)
	}
	return tok.Bound() + jwt, nil
}

// sessionKey returns cnf.jwk of a token that is not verified.
func sessionKey(tok *sdjwt.Token) (PublicKey, error) {
	payload, err := tok.Issuer.Claims()
	if err != nil {
		return PublicKey{}, wrap(err)
	}
	f := formOf(payload)
	if err := tok.Disclose(payload, f); err != nil {
		return PublicKey{}, wrap(err)
	}
	c, err := f.claims(payload)
	if err != nil {
		return PublicKey{}, err
	}
	key, ok := readJWK(c.own("cnf").Get("jwk"))
	if !ok {
		return PublicKey{}, refuse(BadCnf)
	}
	return key, nil
}

type bindingPayload struct {
	Iat         int64              `json:"iat"`
	Exp         int64              `json:"exp,omitzero"`
	Aud         string             `json:"aud"`
	Nonce       string             `json:"nonce"`
	SDHash      string             `json:"sd_hash"`
	Transaction payloadTransaction `json:"transaction_data"`
}

type payloadTransaction struct {
	AmountMicros int64  `json:"amount_micros"`
	PayTo        string `json:"pay_to"`
	Network      string `json:"network"`
	Resource     string `json:"resource"`
}

func (b Binding) payload() (bindingPayload, error) {
	t := b.Transaction
	p := bindingPayload{
		Iat: seconds(b.IssuedAt), Exp: seconds(b.ExpiresAt), Aud: b.Audience, Nonce: b.Nonce,
		Transaction: payloadTransaction(t),
	}
	switch {
	case p.Aud == "" || p.Nonce == "":
		return p, errors.New("audience and nonce are required")
	case p.Iat < 1 || p.Iat > sdjwt.MaxDate || (p.Exp != 0 && (p.Exp <= p.Iat || p.Exp > sdjwt.MaxDate)):
		return p, errors.New("times of the binding are missing or out of order")
	case t.AmountMicros < 1 || t.AmountMicros > maxSafe || t.PayTo == "" || t.Network == "" || t.Resource == "":
		return p, errors.New("transaction data is incomplete")
	}
	return p, nil
}
