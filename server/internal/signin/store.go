package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// record is the content of a session.
type record struct {
	Account

	// Realm names the dashboard of the session.
	Realm string `json:"realm"`
	// Browser is a random text that binds codes to the browser; see [Sessions.Challenge].
	Browser    string    `json:"browser,omitempty"`
	SignedInAt time.Time `json:"signedInAt"`
	SeenAt     time.Time `json:"seenAt"`
	ProvenAt   time.Time `json:"provenAt"`
}

// recordKey is the name of the record among the values of a session.
const recordKey = "record"

// stored is a session as it is stored.
type stored struct {
	record

	Deadline time.Time `json:"deadline"`
}

// codec encodes sessions as JSON.
type codec struct{}

// Encode implements scs.Codec.
func (codec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	rec, _ := values[recordKey].(record)
	return json.Marshal(stored{rec, deadline})
}

// Decode implements scs.Codec.
func (codec) Decode(data []byte) (time.Time, map[string]any, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return time.Time{}, nil, fmt.Errorf("decode session: %w", err)
	}
	return s.Deadline, map[string]any{recordKey: s.record}, nil
}

// sessionStore implements scs.CtxStore.
type sessionStore struct{ store.SignIns }

var errNoContext = errors.New("signin: a session is used outside of a request")

func (sessionStore) Find(string) ([]byte, bool, error)      { return nil, false, errNoContext }
func (sessionStore) Commit(string, []byte, time.Time) error { return errNoContext }
func (sessionStore) Delete(string) error                    { return errNoContext }

// FindCtx implements scs.CtxStore.
func (s sessionStore) FindCtx(ctx context.Context, hash string) ([]byte, bool, error) {
	w, err := s.WebSession(ctx, hash)
	if errors.Is(err, ledger.ErrNotFound) || (err == nil && !time.Now().Before(w.ExpiresAt)) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if l, ok := ctx.Value(loadedKey{}).(*loaded); ok {
		l.hash = hash
	}
	return w.Data, true, nil
}

// CommitCtx implements scs.CtxStore.
func (s sessionStore) CommitCtx(ctx context.Context, hash string, data []byte, expiry time.Time) error {
	var in stored
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode session: %w", err)
	}
	w := store.WebSession{Hash: hash, Kind: string(in.Kind), Subject: in.ID, Data: data, ExpiresAt: expiry}
	if l, ok := ctx.Value(loadedKey{}).(*loaded); ok && l.hash == hash {
		return s.SaveWebSession(ctx, w)
	}
	return s.AddWebSession(ctx, w)
}

// DeleteCtx implements scs.CtxStore.
func (s sessionStore) DeleteCtx(ctx context.Context, hash string) error {
	return s.DeleteWebSession(ctx, hash)
}

// loaded is the session that a request came with. A session that was deleted meanwhile is
// not inserted again.
type (
	loaded    struct{ hash string }
	loadedKey struct{}
)

func withLoaded(ctx context.Context) context.Context {
	return context.WithValue(ctx, loadedKey{}, &loaded{})
}
