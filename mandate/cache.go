package mandate

import (
	"crypto/sha256"
	"sync"
)

// cache keeps what was verified, for speed only: whoever takes something out
// of it judges time, key and status again. Two generations bound it without
// any order to keep: when the young one is full, the old one is forgotten.
// Only verified mandates get in, so that garbage cannot push them out.
type cache struct {
	mu         sync.RWMutex
	limit      int // of a generation
	young, old map[[sha256.Size]byte]*verified
}

// newCache keeps at most size mandates; nil, which keeps none, where size is not positive.
func newCache(size int) *cache {
	if size <= 0 {
		return nil
	}
	limit := (size + 1) / 2
	return &cache{limit: limit, young: make(map[[sha256.Size]byte]*verified)}
}

// get finds what was put under sum, nil where it is not there.
func (c *cache) get(sum [sha256.Size]byte) *verified {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	v, ok := c.young[sum]
	if !ok {
		v = c.old[sum]
	}
	c.mu.RUnlock()
	if !ok && v != nil {
		c.put(sum, v) // used again: it stays
	}
	return v
}

// put keeps v, which nobody may change from now on.
func (c *cache) put(sum [sha256.Size]byte, v *verified) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= c.limit {
		c.young, c.old = make(map[[sha256.Size]byte]*verified, c.limit), c.young
	}
	c.young[sum] = v
}
