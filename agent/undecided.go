package agent

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// maxUndecided is how many credentials are kept whose outcome is not known.
const maxUndecided = 1000

// undecided keeps credentials that were sent and not answered for, so that the
// same request repeated sends the same one and pays once.
type undecided struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte][]*credential
	size int
}

// requestKey tells requests apart: method, address and body.
func requestKey(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{r.Method, r.Host, r.URL.String()} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	_, _ = h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// put keeps a credential. With no room for another the oldest of some request
// that is over goes; where none is over, this one is not kept.
func (u *undecided) put(key [sha256.Size]byte, c *credential, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kept == nil {
		u.kept = map[[sha256.Size]byte][]*credential{}
	}
	if u.size >= maxUndecided {
		for k, list := range u.kept {
			if !now.Before(list[len(list)-1].until) {
				u.size -= len(list)
				delete(u.kept, k)
			}
		}
	}
	if u.size < maxUndecided && now.Before(c.until) {
		u.kept[key] = append(u.kept[key], c)
		u.size++
	}
}

// take gives the oldest credential that is still good away, or nil.
func (u *undecided) take(key [sha256.Size]byte, now time.Time) *credential {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := u.kept[key]
	for len(list) > 0 {
		first := list[0]
		list, u.size = list[1:], u.size-1
		if len(list) == 0 {
			delete(u.kept, key)
		} else {
			u.kept[key] = list
		}
		if now.Before(first.until) {
			return first
		}
	}
	return nil
}
