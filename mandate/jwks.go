package mandate

import (
	"net/http"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// keysMaxAge is how long verifiers may cache the key set.
const keysMaxAge = 300 * time.Second

// jwks returns the published keys as a JWKS: the current one, then the next ones, then
// the retired ones.
func jwks(keys []Key) []byte {
	dst := []byte(`{"keys":[`)
	empty := len(dst)
	for _, state := range []KeyState{KeyCurrent, KeyNext, KeyRetired} {
		for _, k := range keys {
			if k.State != state {
				continue
			}
			if len(dst) > empty {
				dst = append(dst, ',')
			}
			dst = k.appendPublished(dst)
		}
	}
	return append(dst, `]}`...)
}

// appendPublished appends the JWK with kid, use and alg.
func (k PublicKey) appendPublished(dst []byte) []byte {
	dst = k.appendJWK(dst)
	dst = append(dst[:len(dst)-1], `,"kid":"`...)
	dst = append(dst, k.ID()...)
	return append(dst, `","use":"sig","alg":"ES256"}`...)
}

// Handler serves the key set for /.well-known/jwks.json. It answers GET and HEAD, with
// ETag, If-None-Match and Cache-Control: public, max-age=300. It leaves out revoked keys.
func (s *KeySet) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.RLock()
		doc := s.doc
		s.mu.RUnlock()
		doc.ServeHTTP(w, r)
	})
}

// IssuerHandler serves the SD-JWT VC issuer metadata for /.well-known/jwt-vc-issuer: the
// issuer's URL and the address of its keys.
func IssuerHandler(issuer, jwksURI string) http.Handler {
	b := ijson.AppendString([]byte(`{"issuer":`), issuer)
	b = ijson.AppendString(append(b, `,"jwks_uri":`...), jwksURI)
	return newDocument("application/json", keysMaxAge, slices.Clip(append(b, '}')))
}
