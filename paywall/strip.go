package paywall

import (
	"context"
	"maps"
	"net/http"

	"github.com/paywarrant/paywarrant/mpp"
)

// withoutCredentials returns the request as the handler gets it, and a proxy
// behind it: without payment credentials, which somebody else could use.
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
