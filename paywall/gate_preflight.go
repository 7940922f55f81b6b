package paywall

import (
	"io"
	"net/http"

	"github.com/felixge/httpsnoop"
)

// options answers an OPTIONS request. The handler answers CORS preflights, which have no
// credential, and the body is dropped so that OPTIONS does not return what is sold. Other
// OPTIONS requests do not run the handler.
func (g *Gate) options(w http.ResponseWriter, r *http.Request, next http.Handler) {
	addVary(w.Header())
	if len(r.Header["Origin"]) == 0 || len(r.Header["Access-Control-Request-Method"]) == 0 {
		w.Header().Set("Allow", g.route.allowed())
		w.WriteHeader(http.StatusNoContent)
		return
	}
	passPreflight(w, withoutCredentials(r.Context(), r), next)
}

// passPreflight runs the handler and drops the body of its response.
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

// allowed returns the Allow header of a route: the described method, or all methods.
func (r Route) allowed() string {
	if r.Discovery == nil {
		return "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	}
	if m := r.method(); m != http.MethodGet {
		return m + ", OPTIONS"
	}
	return "GET, HEAD, OPTIONS"
}
