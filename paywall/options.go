package paywall

import (
	"io"
	"net/http"

	"github.com/felixge/httpsnoop"
)

// passOptions lets an OPTIONS request through, since browsers send no credential
// with a preflight, and keeps the body of the answer back: the method alone must
// not open what is sold.
func passOptions(w http.ResponseWriter, r *http.Request, next http.Handler) {
	h := w.Header()
	h[keyVary] = append(h[keyVary], varied)
	drop := func(p []byte) (int, error) { return len(p), nil }
	wrapped := httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				h.Del(keyContentLength)
				write(code)
			}
		},
		Write: func(httpsnoop.WriteFunc) httpsnoop.WriteFunc { return drop },
		ReadFrom: func(httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { return io.Copy(io.Discard, src) }
		},
	})
	next.ServeHTTP(wrapped, r)
	h.Del(keyContentLength)
}
