package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// publishedFor is how long a retired key stays published: longer than the longest
// mandate, which is two years.
const publishedFor = (2*366 + 31) * 24 * time.Hour

// Key is a signing key, and when it came into its states; zero where it has not.
type Key struct {
	mandate.Key

	CreatedAt, CurrentAt, RetiredAt, RevokedAt time.Time
	// Published tells whether verifiers can find it.
	Published bool

	name string // of its row
	row  ledger.SealedKey
}

// ring is all signing keys, the oldest first.
type ring []Key

// readRing makes a ring of its rows: a key's own, and one for each change of state.
func readRing(rows []ledger.SealedKey, now time.Time) (ring, error) {
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
		if row.State == string(mandate.KeyCurrent) { // a first key that was made so
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

// judge derives states: from the newest key to the oldest, the first that was
// made current is the one that signs, unless it is revoked.
func (r ring) judge(now time.Time) {
	var since time.Time // when a newer key became current
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

// in is the oldest key in a state, and whether there is one.
func (r ring) in(s mandate.KeyState) (Key, bool) {
	i := slices.IndexFunc(r, func(k Key) bool { return k.State == s })
	if i < 0 {
		return Key{}, false
	}
	return r[i], true
}

// number is that of the newest key, 0 where there is none.
func (r ring) number() int {
	if len(r) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(r[len(r)-1].name, issuerPrefix)) // as this package wrote it
	return n
}

// known are the keys that are published.
func (r ring) known() []mandate.Key {
	var known []mandate.Key
	for _, k := range r {
		if k.Published {
			known = append(known, k.Key)
		}
	}
	return known
}
