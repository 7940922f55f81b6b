package paywall

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// maxListed is the largest number of routes that are described.
const maxListed = 1000

// listing holds the routes whose gates are in use, for [Gate.OpenAPI] and [Gate.LLMs].
type listing struct {
	logger *slog.Logger

	mu     sync.Mutex
	routes []Route
	full   bool // has been logged
}

// add lists a route. It replaces a route with the same method and resource, and ignores a
// route without a resource.
func (l *listing) add(r Route) {
	if r.Resource == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	same := func(o Route) bool { return o.Resource == r.Resource && o.method() == r.method() }
	if i := slices.IndexFunc(l.routes, same); i >= 0 {
		l.routes[i] = r
		return
	}
	if len(l.routes) < maxListed {
		l.routes = append(l.routes, r)
		return
	}
	if !l.full {
		l.full = true
		l.logger.Warn("paywall: too many routes: openapi.json and llms.txt leave out the rest", slog.Int("listed", maxListed), slog.String("first_left_out", r.Resource))
	}
}

func (l *listing) all() []Route {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.routes)
}

// method returns the HTTP method with which a route is described.
func (r Route) method() string {
	switch d := r.Discovery; {
	case d == nil || (d.Method == "" && d.BodyType == ""):
		return http.MethodGet
	case d.Method != "":
		return d.Method
	}
	return http.MethodPost
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
