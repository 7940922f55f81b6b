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
	young, old map[digest]*verified
}

// digest is the SHA-256 of a text: what is kept holds no text.
type digest = [sha256.Size]byte

// newCache keeps at most size mandates; nil, which keeps none, where size is not positive.
func newCache(size int) *cache {
	if size <= 0 {
		return nil
	}
	limit := (size + 1) / 2
	return &cache{limit: limit, young: make(map[digest]*verified)}
}

// get finds what was put for the text, nil where it is not there, and the
// digest to put it under.
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

// put keeps v, which nobody may change from now on.
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
