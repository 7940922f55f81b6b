// Package status publishes which mandates are revoked, as signed Token Status
// Lists (draft-ietf-oauth-status-list): one list for the mandates of each month.
//
// A mandate's place in a list is part of its id, so that nothing has to hand out
// or remember indexes: [Lists.NewID] draws a random place and makes the id of it.
// Two mandates with one place would have one id, which the store refuses: whoever
// makes a mandate tries another one then. docs/decisions tells why.
//
// An id is del_ and a ULID: its time is the beginning of the month, its first 25
// random bits are the index, and the other 55 are a MAC of both, so that ids
// cannot be guessed from one another.
package status

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// DefaultSize is how many mandates of one month have room. It should stay twice
	// what is used, or random places are often taken.
	DefaultSize = 1 << 22
	// maxSize is what the id has room for.
	maxSize = 1 << 25
	macBits = 55
	// monthsKept is for how long after its month a list is published: longer than
	// the longest mandate, which is two years.
	monthsKept = 25
)

// Config configures [New]. Every field is required, but Size.
type Config struct {
	Store   ledger.Accounts
	Signer  mandate.SignerFunc
	BaseURL string
	Clock   ledger.Clock
	// Secret makes ids unguessable.
	Secret []byte
	// Size is how many places a list has. Default: DefaultSize.
	Size int64
}

// Lists are the status lists of a service.
type Lists struct {
	Config

	published cache
}

// New returns the lists; they are read when they are asked for.
func New(cfg Config) *Lists {
	if cfg.Size == 0 {
		cfg.Size = DefaultSize
	}
	cfg.Size = min(cfg.Size, maxSize)
	return &Lists{Config: cfg}
}

// place is where a mandate stands.
type place struct {
	month time.Time // its first millisecond, UTC
	index int64
}

func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// NewID is an id with a random place in this month's list. The place may be
// taken: then the store has a mandate of this id already.
func (l *Lists) NewID() string {
	n, err := rand.Int(rand.Reader, big.NewInt(l.Size))
	if err != nil {
		panic("status: crypto/rand never fails: " + err.Error())
	}
	return l.id(place{monthOf(l.Clock.Now()), n.Int64()})
}

// id writes the place into a ULID: 48 bits of time, 25 of index, 55 of MAC.
func (l *Lists) id(p place) string {
	var u ulid.ULID
	if err := u.SetTime(ulid.Timestamp(p.month)); err != nil {
		panic("status: a month of this era fits a ULID: " + err.Error())
	}
	mac := hmac.New(sha256.New, l.Secret)
	mac.Write([]byte("mandate id"))
	mac.Write(u[:6])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(p.index)))
	tag := binary.BigEndian.Uint64(mac.Sum(nil)) >> (64 - macBits)
	// The 80 bits behind the time: 16 and 64.
	binary.BigEndian.PutUint16(u[6:], uint16(p.index>>9))
	binary.BigEndian.PutUint64(u[8:], uint64(p.index)<<macBits|tag)
	return id.Mandate + u.String()
}

// placeOf reads the place from an id; false for an id that was made elsewhere.
func (l *Lists) placeOf(mandateID string) (place, bool) {
	u, err := ulid.ParseStrict(strings.TrimPrefix(mandateID, id.Mandate))
	if err != nil {
		return place{}, false
	}
	index := int64(binary.BigEndian.Uint16(u[6:]))<<9 | int64(binary.BigEndian.Uint64(u[8:])>>macBits)
	p := place{monthOf(ulid.Time(u.Time())), index}
	return p, hmac.Equal([]byte(l.id(p)), []byte(mandateID))
}

// Ref is where a mandate's revocation will be told; nil where nowhere.
func (l *Lists) Ref(mandateID string) *mandate.StatusRef {
	p, ok := l.placeOf(mandateID)
	if !ok {
		return nil
	}
	return &mandate.StatusRef{Index: p.index, URI: l.uri(p.month)}
}

const monthForm = "2006-01"

func (l *Lists) uri(month time.Time) string {
	return l.BaseURL + "/status-lists/" + month.Format(monthForm)
}
