package paywall

import (
	"io"
	"net/http"

	"github.com/felixge/httpsnoop"
)

// options answers an OPTIONS request. Browsers send no credential with a
// preflight, so that goes to the handler, without a body in the answer: the method
// alone must not open what is sold. Any other runs nothing.
func (g *Gate) options(w http.ResponseWriter, r *http.Request, next http.Handler) {
	addVary(w.Header())
	if len(r.Header["Origin"]) == 0 || len(r.Header["Access-Control-Request-Method"]) == 0 {
		w.Header().Set("Allow", g.route.allowed())
		w.WriteHeader(http.StatusNoContent)
		return
	}
	passPreflight(w, withoutCredentials(r.Context(), r), next)
}

// passPreflight runs the handler and drops the body of its answer.
func passPreflight(w http.ResponseWriter, r *http.Request, next http.Handler) {
	h := w.Header()
	wrapped := httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				h.Del(keyContentLength)
				addVary(h)
				write(code)
			}
		},
		Write: func(httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(p []byte) (int, error) { return len(p), nil }
		},
		ReadFrom: func(httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { return io.Copy(io.Discard, src) }
		},
	})
	next.ServeHTTP(wrapped, r)
	h.Del(keyContentLength)
	addVary(h)
}

// allowed lists the methods of a route: the one that is described, or all.
func (r Route) allowed() string {
	if r.Discovery == nil {
		return "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	}
	if m := r.method(); m != http.MethodGet {
		return m + ", OPTIONS"
	}
	return "GET, HEAD, OPTIONS"
}
