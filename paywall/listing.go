package paywall

import (
	"maps"
	"slices"
	"sync"
)

// maxListed is how many routes are described.
const maxListed = 1000

// listing is what gates of one kind sell, for [Gate.OpenAPI].
type listing struct {
	mu     sync.Mutex
	routes []Route
}

func (l *listing) add(r Route) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.routes) < maxListed {
		l.routes = append(l.routes, r)
	}
}

func (l *listing) all() []Route {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.routes)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
