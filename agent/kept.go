package agent

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"
)

// maxKept is the maximum number of credentials that are kept.
const maxKept = 1000

// unfulfilledLife is how long a credential is kept if its payment was, or may have been,
// made without delivery: sellers accept such a credential for a day, even after its own
// validity window.
const unfulfilledLife = 24 * time.Hour

// target identifies a request except for its body.
type target struct{ method, host, url string }

func targetOf(r *http.Request) target { return target{r.Method, r.Host, r.URL.String()} }

// requestKey identifies a request by method, address and body.
type requestKey [sha256.Size]byte

// requestKey returns the key of the request. The body must be complete.
func (v *visit) requestKey() (key requestKey, err error) {
	h := sha256.New()
	to := targetOf(v.request)
	for _, part := range []string{to.method, to.host, to.url} {
		_, _ = h.Write(append([]byte(part), 0)) // a hash never fails
	}
	if err := v.body.hash(h); err != nil {
		return key, err
	}
	return requestKey(h.Sum(nil)), nil
}

// kept holds every credential until its content was delivered or it has expired, so that
// a repeated request sends the same one. A credential that a request is using is busy:
// a concurrent request buys its own.
type kept struct {
	mu   sync.Mutex
	all  map[requestKey][]*credential
	free map[target]int // credentials that are not busy
	size int
}

func newKept() *kept {
	return &kept{all: map[requestKey][]*credential{}, free: map[target]int{}}
}

// add keeps a busy credential. If the limit is reached even without expired credentials,
// the credential is not kept.
func (k *kept) add(c *credential, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size >= maxKept {
		for _, list := range k.all {
			for _, old := range slices.Clone(list) {
				if !now.Before(old.until) {
					k.remove(old)
				}
			}
		}
	}
	if k.size < maxKept {
		c.busy, c.held = true, true
		k.all[c.key] = append(k.all[c.key], c)
		k.size++
	}
}

// any reports whether a credential for a target is available.
func (k *kept) any(to target) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.free[to] > 0
}

// take returns the oldest credential for a request that is neither busy nor expired, and
// marks it busy. It returns nil if there is none.
func (k *kept) take(key requestKey, now time.Time) *credential {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range slices.Clone(k.all[key]) {
		switch {
		case c.busy:
		case !now.Before(c.until):
			k.remove(c)
		default:
			c.busy = true
			k.addFree(c.target, -1)
			return c
		}
	}
	return nil
}

// release ends the use of a credential that is still valid, and returns when it expires.
// The expiry is moved to until if that is later.
func (k *kept) release(c *credential, until time.Time) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if until.After(c.until) {
		c.until = until
	}
	if c.held && c.busy {
		c.busy = false
		k.addFree(c.target, 1)
	}
	return c.until
}

// drop removes a credential that is used up or refused.
func (k *kept) drop(c *credential) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.held {
		k.remove(c)
	}
}

func (k *kept) remove(c *credential) {
	if !c.busy {
		k.addFree(c.target, -1)
	}
	c.held = false
	k.size--
	list := slices.DeleteFunc(k.all[c.key], func(other *credential) bool { return other == c })
	if len(list) == 0 {
		delete(k.all, c.key)
	} else {
		k.all[c.key] = list
	}
}

func (k *kept) addFree(to target, n int) {
	if k.free[to] += n; k.free[to] == 0 {
		delete(k.free, to)
	}
}
