package paywall

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxUnfinished     = 10_000
	maxUnfinishedSlot = 16
)

// mandateKeys remembers the idempotency keys of bare mandates whose payment is undecided or
// was not served, for clients that send no key. [Redemptions] is what prevents double
// service.
type mandateKeys struct {
	clock func() time.Time
	mu    sync.Mutex
	slots map[string][]leftover
}

type leftover struct {
	key   string
	until time.Time
}

func newMandateKeys(c func() time.Time) *mandateKeys {
	return &mandateKeys{clock: c, slots: map[string][]leftover{}}
}

// put keeps a key for the next request of the slot. If there are too many it drops the key,
// which the response has named.
func (u *mandateKeys) put(slot, key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.clock()
	if len(u.slots) >= maxUnfinished {
		for s, list := range u.slots {
			if now.After(list[len(list)-1].until) {
				delete(u.slots, s)
			}
		}
	}
	if list := u.slots[slot]; len(u.slots) < maxUnfinished && len(list) < maxUnfinishedSlot {
		u.slots[slot] = append(list, leftover{key: key, until: now.Add(longestMemory)})
	}
}

// take removes and returns the oldest key of the slot, or "".
func (u *mandateKeys) take(slot string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	list, now := u.slots[slot], u.clock()
	for len(list) > 0 {
		first := list[0]
		if list = list[1:]; len(list) == 0 {
			delete(u.slots, slot)
		} else {
			u.slots[slot] = list
		}
		if now.Before(first.until) {
			return first.key
		}
	}
	return ""
}

// remove removes a key of the slot, because it was served.
func (u *mandateKeys) remove(slot, key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := slices.DeleteFunc(u.slots[slot], func(l leftover) bool { return l.key == key })
	if len(list) == 0 {
		delete(u.slots, slot)
	} else {
		u.slots[slot] = list
	}
}

// redactText returns the text of an error without a secret.
func redactText(err error, secret string) string {
	return strings.ReplaceAll(err.Error(), secret, "[redacted]")
}
