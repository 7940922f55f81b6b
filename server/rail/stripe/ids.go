package stripe

import (
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// remembered is the number of references whose Stripe id is cached.
const remembered = 20_000

// ids caches the Stripe ids of references. An id never changes, so the cache is never
// wrong; what it lacks is looked up.
type ids struct {
	mu sync.Mutex
	of map[string]string
}

func (c *ids) get(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.of[key]
	return id, ok
}

func (c *ids) put(key, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= remembered {
		c.of = map[string]string{}
	}
	c.of[key] = id
}

const (
	// keyLifetime is how long a key is trusted: Stripe keeps it for 24 hours at least.
	keyLifetime = 20 * time.Hour
	// clockSkew is how far the clock that made a reference may be ahead.
	clockSkew = 5 * time.Minute
)

// fresh reports whether Stripe still has the keys of a reference, however long ago it was
// first used. It is false if the reference does not carry its age.
func (r *Rail) fresh(reference string) bool {
	at, ok := madeAt(reference)
	age := r.clock().Sub(at)
	return ok && age > -clockSkew && age < keyLifetime
}

// madeAt returns the time in the ULID of a reference such as "txn_01….fiatrail".
func madeAt(reference string) (time.Time, bool) {
	_, rest, ok := strings.Cut(reference, "_")
	if !ok {
		return time.Time{}, false
	}
	text, _, _ := strings.Cut(rest, ".")
	u, err := ulid.ParseStrict(text)
	if err != nil {
		return time.Time{}, false
	}
	return ulid.Time(u.Time()), true
}
