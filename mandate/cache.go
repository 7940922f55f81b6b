package mandate

import (
	"crypto/sha256"
	"sync"
)

// cache holds verified mandates, for speed only: the caller checks time, key and status
// again. It is bounded by two generations: when the young one is full, it replaces the
// old one. Only verified mandates are added, so that garbage cannot evict them.
type cache struct {
	mu         sync.RWMutex
	limit      int // of a generation
	young, old map[digest]*verified
}

// digest is the SHA-256 of a text. The cache does not hold the text itself.
type digest = [sha256.Size]byte

// newCache returns a cache of at most size mandates, or nil, which holds none, if size is
// not positive.
func newCache(size int) *cache {
	if size <= 0 {
		return nil
	}
	limit := (size + 1) / 2
	return &cache{limit: limit, young: make(map[digest]*verified)}
}

// get returns the mandate stored for the text, or nil, and the digest to store it under.
func (c *cache) get(text string) (digest, *verified) {
	if c == nil {
		return digest{}, nil
	}
	sum := sha256.Sum256([]byte(text))
	c.mu.RLock()
	v, ok := c.young[sum]
	if !ok {
		v = c.old[sum]
	}
	c.mu.RUnlock()
	if !ok && v != nil {
		c.put(sum, v) // used again: it stays
	}
	return sum, v
}

// put stores v, which must not be modified afterwards.
func (c *cache) put(sum digest, v *verified) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= c.limit {
		c.young, c.old = make(map[digest]*verified, c.limit), c.young
	}
	c.young[sum] = v
}
