package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/store"
)

// publishedFor is the time for which a retired key stays published: longer than the
// longest mandate, which is two years.
const publishedFor = (2*366 + 31) * 24 * time.Hour

// Key is a signing key with the times at which it entered its states; zero if it has not.
type Key struct {
	mandate.Key

	CreatedAt, CurrentAt, RetiredAt, RevokedAt time.Time
	// Published reports whether the key is in the published key set.
	Published bool

	name string // name of its row
	row  store.SealedKey
}

// ring holds all signing keys, oldest first.
type ring []Key

// readRing builds a ring from the rows of its keys and their changes of state.
func readRing(rows []store.SealedKey, now time.Time) (ring, error) {
	var r ring
	marks := map[string]time.Time{}
	for _, row := range rows {
		if strings.Count(row.Name, "/") > 1 {
			marks[row.Name] = row.CreatedAt
			continue
		}
		k := Key{name: row.Name, row: row, CreatedAt: row.CreatedAt}
		if err := k.UnmarshalJSON(row.Public); err != nil {
			return nil, fmt.Errorf("read public key %s: %w", row.Name, err)
		}
		if row.State == string(mandate.KeyCurrent) { // a first key that was stored as current
			k.CurrentAt = row.CreatedAt
		}
		r = append(r, k)
	}
	slices.SortFunc(r, func(a, b Key) int { return cmp.Compare(a.name, b.name) })
	for i := range r {
		if at, ok := marks[r[i].name+"/"+string(mandate.KeyCurrent)]; ok {
			r[i].CurrentAt = at
		}
		r[i].RevokedAt = marks[r[i].name+"/"+string(mandate.KeyRevoked)]
	}
	r.judge(now)
	return r, nil
}

// judge derives the states from the newest key to the oldest: the first key that was made
// current and is not revoked signs.
func (r ring) judge(now time.Time) {
	var since time.Time // the time at which a newer key became current
	for i, k := range slices.Backward(r) {
		switch {
		case !since.IsZero():
			k.State, k.RetiredAt = mandate.KeyRetired, since
		case !k.CurrentAt.IsZero():
			k.State = mandate.KeyCurrent
		default:
			k.State = mandate.KeyNext
		}
		if !k.CurrentAt.IsZero() {
			since = k.CurrentAt
		}
		if !k.RevokedAt.IsZero() {
			k.State = mandate.KeyRevoked
		}
		k.Published = k.State != mandate.KeyRevoked && (k.RetiredAt.IsZero() || now.Before(k.RetiredAt.Add(publishedFor)))
		r[i] = k
	}
}

// in returns the oldest key in a state, and reports whether there is one.
func (r ring) in(s mandate.KeyState) (Key, bool) {
	i := slices.IndexFunc(r, func(k Key) bool { return k.State == s })
	if i < 0 {
		return Key{}, false
	}
	return r[i], true
}

// number returns the number of the newest key, or 0 if there is none.
func (r ring) number() int {
	if len(r) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(r[len(r)-1].name, issuerPrefix)) // written by this package
	return n
}

// known returns the published keys.
func (r ring) known() []mandate.Key {
	var known []mandate.Key
	for _, k := range r {
		if k.Published {
			known = append(known, k.Key)
		}
	}
	return known
}
