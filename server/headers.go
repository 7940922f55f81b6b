package server

import (
	"net/http"

	"github.com/paywarrant/paywarrant/internal/text"
)

// protected adds the headers that protect every answer: no content is taken for
// another type than it states, and a browser that came by TLS comes back by TLS.
func protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// readablePath answers paths with bytes that no id has (invalid UTF-8, control
// characters) before they reach a store.
func readablePath(next, missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !text.Clean(r.URL.Path) {
			missing.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
