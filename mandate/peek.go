package mandate

import (
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// Peeked is the content of a token that is not verified. Use it to show the token to a
// person or to find out whose keys to fetch, never for a decision.
type Peeked struct {
	// Presentation contains the mandate, and the claims of the key binding if there is
	// one. Mandate.Bound is always false.
	Presentation
	// HasBinding reports whether the token has a key binding.
	HasBinding bool
	// Disclosures are the token's disclosures, as JSON.
	Disclosures []string
}

// Peek reads a token without verifying signatures, issuer or times. It returns an
// [*Error] if the token cannot be read as a mandate.
func Peek(token string) (*Peeked, error) {
	tok, err := split(token)
	if err != nil {
		return nil, err
	}
	kid, err := tok.Issuer.Header(typ)
	if err != nil {
		return nil, wrap(err)
	}
	payload, err := tok.Issuer.Claims()
	if err != nil {
		return nil, wrap(err)
	}
	f := formOf(payload)
	if err := tok.Disclose(payload, f); err != nil {
		return nil, wrap(err)
	}
	c, err := f.claims(payload)
	if err != nil {
		return nil, err
	}
	iss, _ := c.either("iss").Str()
	trusted, err := parseIssuer(iss)
	if err != nil {
		return nil, refuse(BadIss)
	}
	m, err := readClaims(c, trusted, window{ignore: true})
	if err != nil {
		return nil, err
	}
	m.KeyID = kid
	p := &Peeked{Presentation: Presentation{Mandate: m.clone()}, HasBinding: tok.Binding != nil}
	for _, d := range tok.Disclosures {
		p.Disclosures = append(p.Disclosures, d.JSON())
	}
	p.peekBinding(tok)
	return p, nil
}

// peekBinding reads the claims of the key binding that are readable.
func (p *Peeked) peekBinding(tok *sdjwt.Token) {
	if tok.Binding == nil {
		return
	}
	claims, err := tok.Binding.Claims()
	if err != nil {
		return
	}
	p.Audience, _ = claims.Get("aud").Str()
	p.Nonce, _ = claims.Get("nonce").Str()
	if iat, ok := date(claims.Get("iat")); ok {
		p.IssuedAt = time.Unix(iat, 0).UTC()
	}
	if exp, ok := date(claims.Get("exp")); ok {
		p.ExpiresAt = time.Unix(exp, 0).UTC()
	}
	if t, ok := readTransaction(claims.Get("transaction_data")); ok {
		p.Transaction = t
	}
}
