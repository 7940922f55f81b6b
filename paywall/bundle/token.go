package bundle

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// maxToken is the longest token that is read, in bytes.
const maxToken = 4 << 10

// tokenType is the typ of a token's header: no other JWT of these keys is one.
const tokenType = "credit-bundle+jwt"

// ErrToken tells that a token is not one of this shop, or has expired.
var ErrToken = errors.New("bundle: the token is not valid")

type claims struct {
	Tier string `json:"tier"`
	jwt.RegisteredClaims
}

// token writes the token of a bundle. The same bundle makes the same claims.
func (s *Shop) token(b Bundle) (string, error) {
	key := s.cfg.Keys[0]
	t := jwt.NewWithClaims(key.method, claims{Tier: b.Tier, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: s.cfg.Issuer, Audience: jwt.ClaimStrings{s.cfg.Issuer}, Subject: b.TenantID, ID: b.ID,
		IssuedAt: jwt.NewNumericDate(b.CreatedAt), ExpiresAt: jwt.NewNumericDate(b.ExpiresAt),
	}})
	t.Header["kid"], t.Header["typ"] = key.id, tokenType
	text, err := t.SignedString(key.sign)
	if err != nil {
		return "", fmt.Errorf("bundle: sign token: %w", err)
	}
	return text, nil
}

// read verifies a token and returns the id of its bundle. [ErrToken] where it is
// not good, whatever is wrong with it: who made it up learns nothing.
func (s *Shop) read(token string) (id string, err error) {
	if len(token) > maxToken {
		return "", ErrToken
	}
	var c claims
	t, err := s.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != tokenType {
			return nil, ErrToken
		}
		for _, key := range s.cfg.Keys {
			// The algorithm is the key's: what the token says must be that.
			if t.Header["kid"] == key.id && t.Method.Alg() == key.method.Alg() {
				return key.verify, nil
			}
		}
		return nil, ErrToken
	})
	if err != nil || !t.Valid || c.ID == "" {
		return "", ErrToken
	}
	return c.ID, nil
}

func newParser(c Config) *jwt.Parser {
	return jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg(), jwt.SigningMethodES256.Alg()}),
		jwt.WithIssuer(c.Issuer), jwt.WithAudience(c.Issuer), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithStrictDecoding(), jwt.WithTimeFunc(c.Clock), jwt.WithLeeway(time.Minute),
	)
}
