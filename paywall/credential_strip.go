package paywall

import (
	"context"
	"maps"
	"net/http"

	"github.com/paywarrant/paywarrant/mpp"
)

// withoutCredentials returns the request for the handler, without payment credentials, which
// the handler or a proxy behind it could misuse.
func withoutCredentials(ctx context.Context, r *http.Request) *http.Request {
	out := r.WithContext(ctx)
	h := r.Header
	found := len(h[mpp.HeaderCredential]) > 0 || len(h[mpp.HeaderCredentialAside]) > 0
	for _, known := range headers {
		found = found || len(h[known.key]) > 0
	}
	if !found {
		return out
	}
	out.Header = maps.Clone(h)
	for _, known := range headers {
		delete(out.Header, known.key)
	}
	mpp.RemoveCredential(out.Header)
	return out
}
