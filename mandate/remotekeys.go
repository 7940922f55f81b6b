package mandate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Defaults of [RemoteKeySource].
const (
	DefaultKeysMaxBytes = 128 << 10
	DefaultKeysTimeout  = 5 * time.Second
	DefaultKeysMaxStale = 15 * time.Minute
	DefaultKeysRetry    = 10 * time.Second
	DefaultKeysMissing  = 5 * time.Minute
)

// Bounds of what the publisher's Cache-Control may ask for.
const (
	minFresh     = 30 * time.Second
	maxFresh     = 24 * time.Hour
	defaultFresh = 5 * time.Minute
)

// maxMissing bounds the negative cache.
const maxMissing = 1024

// RemoteKeySource reads the issuer's keys from its published key set. Set the
// fields and use it, from as many goroutines as you like; it must not be copied
// or changed after its first use.
//
// It starts no goroutine: reading the set is done by the verification that
// needs it, within that one's context, by one at a time. From four fifths of
// its max-age on the set is read again ahead of need, while other verifications
// go on with the keys that are known.
type RemoteKeySource struct {
	// URL is the key set's: https, or http on the loopback interface. Required.
	URL string
	// HTTPClient does the requests. Redirects are not followed. Default: a
	// client with http.DefaultTransport.
	HTTPClient *http.Client
	// Clock tells the time. Default: time.Now.
	Clock func() time.Time
	// Timeout ends a request. Default: DefaultKeysTimeout.
	Timeout time.Duration
	// MaxBytes is the longest body that is read. Default: DefaultKeysMaxBytes.
	MaxBytes int64
	// MaxStale is for how long after its max-age a set is used on while the
	// publisher does not answer. Default: DefaultKeysMaxStale; negative: not at all.
	MaxStale time.Duration
	// Retry is how soon the set is asked for again after a failure, or for
	// another key that is not in it. Default: DefaultKeysRetry.
	Retry time.Duration
	// Missing is for how long a key that was not in the set is taken to be
	// unknown without asking. Default: DefaultKeysMissing.
	Missing time.Duration

	fetcher fetcher
	mu      sync.RWMutex
	state   keyState
	flight  chan struct{} // closed when the request under way has ended; nil without one
}

// RemoteKeys is a source that reads the key set at url. [RemoteKeySource] has
// more to set.
func RemoteKeys(url string) *RemoteKeySource { return &RemoteKeySource{URL: url} }

// keyState is what is known of the set.
type keyState struct {
	keys    staticKeys // nil before the first answer
	etag    string
	read    time.Time // when the set was last read in full or found unchanged
	fresh   time.Duration
	tried   time.Time // when it was last asked for
	err     error     // of that
	missing map[string]time.Time
}

// Key is the key with that thumbprint. Errors: [ErrKeyUnknown] where the set
// does not have it; any other says that the set cannot be read now.
func (s *RemoteKeySource) Key(ctx context.Context, kid string) (PublicKey, error) {
	for {
		now := s.now()
		s.mu.RLock()
		key, err, ask := s.state.find(kid, now, s.maxStale(), s.retry())
		s.mu.RUnlock()
		if ask == no || (ask == ahead && s.busy()) {
			return key, err
		}
		mine, wait := s.begin()
		if mine {
			err := s.refresh(ctx, kid)
			if ask == ahead {
				return key, nil
			}
			if err != nil && ctx.Err() != nil {
				return PublicKey{}, fmt.Errorf("read issuer keys: %w", err)
			}
			return s.settled(kid)
		}
		select {
		case <-wait: // what it found is judged anew
		case <-ctx.Done():
			return PublicKey{}, fmt.Errorf("wait for issuer keys: %w", ctx.Err())
		}
	}
}

// asking says whether the set must be read before a key can be told.
type asking uint8

const (
	no    asking = iota
	ahead        // the answer is there; reading now saves others from waiting later
	must
)

// find looks kid up in what is known. Without ask == must, the answer counts.
func (s *keyState) find(kid string, now time.Time, maxStale, retry time.Duration) (key PublicKey, err error, ask asking) { //nolint:revive // the error is the answer's, ask tells whether it counts
	age := now.Sub(s.read)
	tooSoon := !s.tried.IsZero() && now.Sub(s.tried) < retry && now.Sub(s.tried) >= 0
	switch {
	case s.keys == nil || age >= s.fresh+maxStale:
		if tooSoon && s.err != nil {
			return PublicKey{}, fmt.Errorf("read issuer keys: %w", s.err), no
		}
		return PublicKey{}, nil, must
	case age >= s.fresh && !(tooSoon && s.err != nil):
		return PublicKey{}, nil, must
	}
	key, err = s.keys.Key(context.Background(), kid)
	switch {
	case err == nil && age >= s.fresh*4/5 && !tooSoon:
		return key, nil, ahead
	case err == nil, tooSoon, now.Before(s.missing[kid]):
		return key, err, no
	default:
		return PublicKey{}, nil, must
	}
}

// settled answers after a request that was made for kid: whatever is known now counts.
func (s *RemoteKeySource) settled(kid string) (PublicKey, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state.keys == nil || s.now().Sub(s.state.read) >= s.state.fresh+s.maxStale() {
		err := s.state.err
		if err == nil {
			err = errors.New("key set is stale")
		}
		return PublicKey{}, fmt.Errorf("read issuer keys: %w", err)
	}
	key, err := s.state.keys.Key(context.Background(), kid)
	if err != nil && s.state.err != nil { // not known, and the set could not be asked
		return PublicKey{}, fmt.Errorf("read issuer keys: %w", s.state.err)
	}
	return key, err
}

func (s *RemoteKeySource) busy() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.flight != nil
}

// begin makes the caller the one who asks, or gives it what to wait for.
func (s *RemoteKeySource) begin() (mine bool, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		return false, s.flight
	}
	s.flight = make(chan struct{})
	return true, nil
}

// refresh asks for the set and takes over the answer. A caller that gave up
// leaves no trace, so that the next one asks anew.
func (s *RemoteKeySource) refresh(ctx context.Context, kid string) error {
	s.mu.RLock()
	etag := s.state.etag
	s.mu.RUnlock()
	got, err := s.fetch(ctx, etag)
	var keys []PublicKey
	if err == nil && !got.unchanged {
		keys, err = ParseJWKS(got.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { close(s.flight); s.flight = nil }()
	if err != nil && ctx.Err() != nil {
		return err
	}
	now := s.now()
	s.state.tried, s.state.err = now, err
	if err != nil {
		return err
	}
	s.state.read, s.state.fresh = now, got.fresh
	if !got.unchanged {
		known, _ := StaticKeys(keys...).(staticKeys)
		s.state.keys, s.state.etag = known, got.etag
	}
	s.state.forget(kid, now, s.missing())
	return nil
}

// forget notes that kid is not in the set that was just read.
func (s *keyState) forget(kid string, now time.Time, ttl time.Duration) {
	if _, ok := s.keys[kid]; ok {
		delete(s.missing, kid)
		return
	}
	if s.missing == nil || len(s.missing) >= maxMissing { // forgetting costs a request at worst, and those are spaced
		s.missing = make(map[string]time.Time)
	}
	s.missing[kid] = now.Add(ttl)
}

func (s *RemoteKeySource) fetch(ctx context.Context, etag string) (fetched, error) {
	timeout, limit := s.Timeout, s.MaxBytes
	if timeout <= 0 {
		timeout = DefaultKeysTimeout
	}
	if limit <= 0 {
		limit = DefaultKeysMaxBytes
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.fetcher.get(ctx, s.HTTPClient, request{url: s.URL, accept: "application/jwk-set+json, application/json", etag: etag, limit: limit})
}

func (s *RemoteKeySource) now() time.Time {
	if s.Clock != nil {
		return s.Clock()
	}
	return time.Now()
}

func (s *RemoteKeySource) maxStale() time.Duration {
	if s.MaxStale == 0 {
		return DefaultKeysMaxStale
	}
	return max(s.MaxStale, 0)
}

func (s *RemoteKeySource) retry() time.Duration {
	if s.Retry <= 0 {
		return DefaultKeysRetry
	}
	return s.Retry
}

func (s *RemoteKeySource) missing() time.Duration {
	if s.Missing <= 0 {
		return DefaultKeysMissing
	}
	return s.Missing
}
