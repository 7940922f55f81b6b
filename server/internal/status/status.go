// Package status publishes revoked mandates as signed Token Status Lists
// (draft-ietf-oauth-status-list), one list per month.
//
// A mandate's index in its list is part of its id, so indexes need not be assigned or
// stored: [Lists.NewID] draws a random index and derives the id. Two mandates with the
// same index would have the same id, which the store refuses; the caller then tries
// another id. docs/design/decisions explains why.
//
// An id is del_ and a ULID: its time is the beginning of the month, its first 25 random
// bits are the index, and the other 55 bits are a MAC of both, so ids cannot be guessed
// from one another.
package status

import (
	"context"
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
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// DefaultSize is the number of indexes per month. It should be at least twice the
	// number of mandates, or random indexes often collide.
	DefaultSize = 1 << 22
	// maxSize is the number of indexes that an id can encode.
	maxSize = 1 << 25
	macBits = 55
	// monthsKept is the number of months for which a list is published after its own:
	// longer than the longest mandate, which is two years.
	monthsKept = 25
)

// Store is the part of store.Keys that is used here. A revoked index is a key without
// a secret.
type Store interface {
	SealedKeys(ctx context.Context, prefix string) ([]store.SealedKey, error)
	AddSealedKey(ctx context.Context, k store.SealedKey) error
}

// Config configures [New]. Every field except Size is required.
type Config struct {
	Store   Store
	Signer  mandate.SignerFunc
	BaseURL string
	Clock   func() time.Time
	// Secret keys the MAC in ids, so that they cannot be guessed.
	Secret []byte
	// Size is the number of indexes in a list. Default: DefaultSize.
	Size int64
}

// Lists holds the status lists of a service.
type Lists struct {
	Config

	published cache
}

// New returns Lists. A list is read when it is first requested.
func New(cfg Config) *Lists {
	if cfg.Size == 0 {
		cfg.Size = DefaultSize
	}
	cfg.Size = min(cfg.Size, maxSize)
	return &Lists{Config: cfg}
}

// place is a mandate's list and index.
type place struct {
	month time.Time // its first millisecond, UTC
	index int64
}

func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// NewID returns an id with a random index in this month's list. The index may be in use;
// the store then has a mandate with this id.
func (l *Lists) NewID() string {
	n, err := rand.Int(rand.Reader, big.NewInt(l.Size))
	if err != nil {
		panic("status: crypto/rand never fails: " + err.Error())
	}
	return l.id(place{monthOf(l.Clock()), n.Int64()})
}

// id encodes a place as a ULID: 48 bits of time, 25 of index, 55 of MAC.
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
	// The 80 bits after the time: 16 and 64.
	binary.BigEndian.PutUint16(u[6:], uint16(p.index>>9))
	binary.BigEndian.PutUint64(u[8:], uint64(p.index)<<macBits|tag)
	return id.Mandate + u.String()
}

// placeOf decodes the place of an id. It reports false for ids of other services.
func (l *Lists) placeOf(mandateID string) (place, bool) {
	u, err := ulid.ParseStrict(strings.TrimPrefix(mandateID, id.Mandate))
	if err != nil {
		return place{}, false
	}
	index := int64(binary.BigEndian.Uint16(u[6:]))<<9 | int64(binary.BigEndian.Uint64(u[8:])>>macBits)
	p := place{monthOf(ulid.Time(u.Time())), index}
	return p, hmac.Equal([]byte(l.id(p)), []byte(mandateID))
}

// Ref returns the status list and index of a mandate, or nil if it has none.
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
