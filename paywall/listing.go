package paywall

import "sync"

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
