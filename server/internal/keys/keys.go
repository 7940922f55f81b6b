// Package keys stores the service's own keys, sealed by the vault: the keys that sign
// mandates, and secrets for the service's use. Instances that share a store share keys.
//
// A signing key passes through the states next, current, retired and revoked, never
// back. Its row, issuer/000001, is written once. A change of state inserts another row,
// issuer/000001/current or issuer/000001/revoked, so concurrent rotations and revocations
// need no transaction and cannot undo each other. The newest key that was made current
// signs; keys made current earlier are retired.
//
// There is always a next key, which is published before it signs. A running service reads
// its keys every [RefreshEvery], and before it reports a key as unknown.
package keys

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

const (
	issuerPrefix = "issuer/"
	secretPrefix = "secret/"
)

// Store is the part of store.Keys that is used here.
type Store interface {
	SealedKeys(ctx context.Context, prefix string) ([]store.SealedKey, error)
	AddSealedKey(ctx context.Context, k store.SealedKey) error
	PutSealedKey(ctx context.Context, k store.SealedKey) error
}

// Config configures [Open] and [New]. Every field is required; Logger only if
// [Keys.Start] is called.
type Config struct {
	Store  Store
	Vault  *vault.Vault
	Clock  func() time.Time
	Logger *slog.Logger
}

// Keys holds the issuer's public keys in Set, and the current private key in memory. It is
// a mandate.KeySource that reads the store before it reports a key as unknown.
type Keys struct {
	Config

	// Set is the published key set.
	Set *mandate.KeySet

	mu     sync.RWMutex
	signer *ecdsa.PrivateKey

	turn  chan struct{} // holds a value while the store is being read
	began time.Time     // start of the last reading; guarded by turn
	last  error         // its error

	stop context.CancelFunc
	loop sync.WaitGroup
}

// New returns Keys that have not read the store. They serve [Keys.List], [Keys.Rotate]
// and [Keys.Revoke], which read it themselves.
func New(cfg Config) *Keys {
	return &Keys{Config: cfg, Set: &mandate.KeySet{}, turn: make(chan struct{}, 1)}
}

// Open reads the issuer's keys, and generates those that are missing.
func Open(ctx context.Context, cfg Config) (*Keys, error) {
	k := New(cfg)
	if err := k.load(ctx); err != nil {
		return nil, fmt.Errorf("open signing keys: %w", err)
	}
	return k, nil
}

// load reads all keys and opens the current one.
func (k *Keys) load(ctx context.Context) error {
	r, err := k.tend(ctx)
	if err != nil {
		return err
	}
	current, _ := r.in(mandate.KeyCurrent)
	signer, err := k.private(ctx, current)
	if err != nil {
		return err
	}
	if err := k.Set.Replace(r.known()...); err != nil { // before the signer changes: verifiers must have its key first
		return fmt.Errorf("read keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.signer = signer
	return nil
}

// read returns the stored ring.
func (k *Keys) read(ctx context.Context) (ring, error) {
	rows, err := k.Store.SealedKeys(ctx, issuerPrefix)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return readRing(rows, k.Clock())
}

// tend reads the ring and adds what it lacks: a current key and a next key.
func (k *Keys) tend(ctx context.Context) (ring, error) {
	for range 8 { // each pass adds one thing; another instance may do so too
		r, err := k.read(ctx)
		if err != nil {
			return nil, err
		}
		_, signs := r.in(mandate.KeyCurrent)
		next, waits := r.in(mandate.KeyNext)
		switch {
		case !waits:
			err = k.add(ctx, r.number()+1)
		case !signs:
			err = k.mark(ctx, next, mandate.KeyCurrent)
		default:
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("signing keys change faster than they can be read")
}

func label(name string) vault.Label { return vault.Label{Purpose: "service-key", Owner: name} }

func (k *Keys) private(ctx context.Context, s Key) (*ecdsa.PrivateKey, error) {
	der, err := k.Vault.Open(ctx, label(s.name), s.row.Sealed)
	if err != nil {
		return nil, err
	}
	defer clear(der)
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("parse key %s: %w", s.name, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("key %s is no ECDSA key", s.name)
	}
	return key, nil
}

// add stores the nth key in the state next. If another instance stored it first, that key
// counts.
func (k *Keys) add(ctx context.Context, n int) error {
	key, public, err := generate()
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	defer clear(der)
	text, err := public.MarshalJSON()
	if err != nil {
		return err
	}
	return k.store(ctx, fmt.Sprintf("%s%06d", issuerPrefix, n), string(mandate.KeyNext), text, der)
}

// generate returns a key whose id does not begin with a dash, so that commands accept it
// as an argument.
func generate() (*ecdsa.PrivateKey, mandate.PublicKey, error) {
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, mandate.PublicKey{}, fmt.Errorf("make key: %w", err)
		}
		public, err := mandate.NewPublicKey(&key.PublicKey)
		if err != nil || !strings.HasPrefix(public.ID(), "-") {
			return key, public, err
		}
	}
}

// mark moves a key to a later state.
func (k *Keys) mark(ctx context.Context, key Key, state mandate.KeyState) error {
	now := k.Clock()
	err := k.Store.AddSealedKey(ctx, store.SealedKey{
		Name: key.name + "/" + string(state), State: string(state), Public: []byte{}, Sealed: []byte{}, CreatedAt: now, ChangedAt: now,
	})
	if err != nil && !errors.Is(err, ledger.ErrConflict) {
		return fmt.Errorf("make key %s %s: %w", key.ID(), state, err)
	}
	return nil
}

func (k *Keys) store(ctx context.Context, name, state string, public, secret []byte) error {
	sealed, err := k.Vault.Seal(ctx, label(name), secret)
	if err != nil {
		return err
	}
	now := k.Clock()
	err = k.Store.AddSealedKey(ctx, store.SealedKey{
		Name: name, State: state, Public: public, Sealed: sealed, CreatedAt: now, ChangedAt: now,
	})
	if err != nil && !errors.Is(err, ledger.ErrConflict) {
		return fmt.Errorf("keep key %s: %w", name, err)
	}
	return nil
}

// Signer returns the current private key. It is a mandate.SignerFunc.
func (k *Keys) Signer(context.Context) (crypto.Signer, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.signer == nil {
		return nil, errors.New("no signing key is current")
	}
	return k.signer, nil
}
