package bundle

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// maxToken is the longest token that is accepted, in bytes.
const maxToken = 4 << 10

// tokenType is the typ of a token's header. It keeps other JWTs of the keys apart.
const tokenType = "credit-bundle+jwt"

// ErrToken reports a token that is not valid at this shop, or has expired.
var ErrToken = errors.New("bundle: the token is not valid")

type claims struct {
	Tier string `json:"tier"`
	jwt.RegisteredClaims
}

// token returns the token of a bundle. Its claims depend only on the bundle.
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

// read verifies a token and returns the id of its bundle. It returns [ErrToken] for every
// defect, so that a forger learns nothing.
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
			// The token must name the algorithm of the key.
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
