package mandate

import (
	"net/http"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// keysMaxAge is how long verifiers may keep the key set before they ask again.
const keysMaxAge = 300 * time.Second

// jwks writes the keys that are published: the current one, the next ones, the
// retired ones.
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

// appendPublished writes the JWK with kid, use and alg.
func (k PublicKey) appendPublished(dst []byte) []byte {
	dst = k.appendJWK(dst)
	dst = append(dst[:len(dst)-1], `,"kid":"`...)
	dst = append(dst, k.ID()...)
	return append(dst, `","use":"sig","alg":"ES256"}`...)
}

// Handler serves the key set for /.well-known/jwks.json: GET and HEAD, with
// ETag, If-None-Match and Cache-Control: public, max-age=300. Revoked keys are
// not in it.
func (s *KeySet) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.RLock()
		doc := s.doc
		s.mu.RUnlock()
		doc.ServeHTTP(w, r)
	})
}

// IssuerHandler serves the SD-JWT VC issuer's metadata for
// /.well-known/jwt-vc-issuer: who the issuer is and where its keys are.
func IssuerHandler(issuer, jwksURI string) http.Handler {
	b := ijson.AppendString([]byte(`{"issuer":`), issuer)
	b = ijson.AppendString(append(b, `,"jwks_uri":`...), jwksURI)
	return newDocument("application/json", keysMaxAge, slices.Clip(append(b, '}')))
}
