package paywall

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// maxListed is how many routes are described.
const maxListed = 1000

// listing is what gates sell that are in use, for [Gate.OpenAPI] and [Gate.LLMs].
type listing struct {
	logger *slog.Logger

	mu     sync.Mutex
	routes []Route
	full   bool // the log has said so
}

// add lists a route, in the place of one with the same method and resource. A
// route without a resource of its own has nothing to list.
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

// method is the HTTP method that a route is described with.
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
