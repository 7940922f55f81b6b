package status

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// destroyedPrefix begins the name of the row that replaces a mandate's own key when
	// the mandate is revoked. The status lists are built from these rows.
	destroyedPrefix = "session-key/destroyed/"
	// freshFor is the time for which a list is served without reading the store.
	// Revocations by other instances appear after at most this time, those by this
	// instance at once.
	freshFor = 2 * time.Second
	// timeCharacters is the number of characters of a ULID that encode its time.
	timeCharacters = 10
)

// cache holds the lists that were requested, at most one per month.
type cache struct {
	mu    sync.Mutex
	lists map[string]*list
}

// list is one list and its inputs.
type list struct {
	mu        sync.Mutex
	publisher mandate.StatusPublisher
	read      time.Time // of the last reading; zero: read the store
	revoked   int
	kid       string // of the key that signed it
	ready     bool
}

// Revoke publishes a revocation. Repeating it is not an error.
func (l *Lists) Revoke(ctx context.Context, mandateID string) error {
	p, ok := l.placeOf(mandateID)
	if !ok {
		return nil
	}
	now := l.Clock()
	err := l.Store.AddSealedKey(ctx, store.SealedKey{
		Name: destroyedPrefix + mandateID, State: "destroyed", Public: []byte{}, Sealed: []byte{}, CreatedAt: now, ChangedAt: now,
	})
	if err != nil && !errors.Is(err, ledger.ErrConflict) {
		return fmt.Errorf("publish revocation of %s: %w", mandateID, err)
	}
	one := l.list(p.month)
	one.mu.Lock()
	defer one.mu.Unlock()
	one.read = time.Time{}
	return nil
}

// ServeHTTP serves the list of the month in the path: {list}.
func (l *Lists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	month, err := time.Parse(monthForm, r.PathValue("list"))
	now := l.Clock()
	if err != nil || month.After(now) || now.AddDate(0, -monthsKept, 0).After(month.AddDate(0, 1, 0)) {
		http.Error(w, "no such status list", http.StatusNotFound)
		return
	}
	one := l.list(month)
	if err := l.refresh(r.Context(), one, month); err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "status list cannot be read now", http.StatusServiceUnavailable)
		return
	}
	one.publisher.ServeHTTP(w, r)
}

func (l *Lists) list(month time.Time) *list {
	l.published.mu.Lock()
	defer l.published.mu.Unlock()
	uri := l.uri(month)
	one, ok := l.published.lists[uri]
	if !ok {
		if l.published.lists == nil || len(l.published.lists) > 2*monthsKept { // the clock jumped
			l.published.lists = map[string]*list{}
		}
		one = &list{publisher: mandate.StatusPublisher{URI: uri, Signer: l.Signer, Clock: l.Clock}}
		l.published.lists[uri] = one
	}
	return one
}

// refresh signs the list again if the store has more revocations, or if the current key
// has changed: the previous one may be revoked.
func (l *Lists) refresh(ctx context.Context, one *list, month time.Time) error {
	one.mu.Lock()
	defer one.mu.Unlock()
	kid, err := l.kid(ctx)
	if err != nil {
		return err
	}
	since := time.Since(one.read)
	if one.ready && kid == one.kid && since >= 0 && since < freshFor {
		return nil
	}
	began := time.Now()
	var u ulid.ULID
	if err := u.SetTime(ulid.Timestamp(month)); err != nil {
		return fmt.Errorf("read revocations of %s: %w", month.Format(monthForm), err)
	}
	rows, err := l.Store.SealedKeys(ctx, destroyedPrefix+id.Mandate+u.String()[:timeCharacters])
	if err != nil {
		return fmt.Errorf("read revocations of %s: %w", month.Format(monthForm), err)
	}
	if !one.ready || kid != one.kid || len(rows) != one.revoked {
		if err := l.publish(one, rows); err != nil {
			return err
		}
	}
	one.ready, one.read, one.revoked, one.kid = true, began, len(rows), kid
	return nil
}

func (l *Lists) publish(one *list, rows []store.SealedKey) error {
	bits, err := mandate.NewStatusList(l.Size)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if p, ok := l.placeOf(row.Name[len(destroyedPrefix):]); ok {
			if err := bits.Revoke(p.index); err != nil {
				return err
			}
		}
	}
	return one.publisher.Publish(bits)
}

// kid returns the id of the current key.
func (l *Lists) kid(ctx context.Context) (string, error) {
	signer, err := l.Signer(ctx)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	key, _ := signer.Public().(*ecdsa.PublicKey)
	public, err := mandate.NewPublicKey(key)
	return public.ID(), err
}
