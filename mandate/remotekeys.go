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
	// Clock returns the current time. Default: time.Now.
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
		a := s.state.find(kid, now, s.maxStale(), s.retry())
		s.mu.RUnlock()
		if a.ask == no {
			return a.key, a.err
		}
		mine, wait := s.begin()
		switch {
		case mine:
			err := s.refresh(ctx, kid)
			if a.ask == must && err != nil && ctx.Err() != nil {
				return PublicKey{}, fmt.Errorf("read issuer keys: %w", err)
			}
			return s.settled(kid)
		case a.ask == ahead:
			return a.key, nil
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

// answer is what can be said about a key without reading the set; it does not
// count where ask is must.
type answer struct {
	key PublicKey
	err error
	ask asking
}

// find looks kid up in what is known.
func (s *keyState) find(kid string, now time.Time, maxStale, retry time.Duration) answer {
	age, since := now.Sub(s.read), now.Sub(s.tried)
	tooSoon := since >= 0 && since < retry
	if s.keys == nil || age < 0 || age >= s.fresh+maxStale {
		if tooSoon && s.err != nil {
			return answer{err: fmt.Errorf("read issuer keys: %w", s.err)}
		}
		return answer{ask: must}
	}
	key, ok := s.keys[kid]
	switch {
	case ok && age >= s.fresh*4/5 && !tooSoon:
		return answer{key: key, ask: ahead}
	case ok:
		return answer{key: key}
	case tooSoon && s.err != nil: // the key may be in the set that could not be read
		return answer{err: fmt.Errorf("read issuer keys: %w", s.err)}
	case tooSoon, age < s.fresh && now.Before(s.missing[kid]):
		return answer{err: ErrKeyUnknown}
	default:
		return answer{ask: must}
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
	key, ok := s.state.keys[kid]
	switch {
	case ok:
		return key, nil
	case s.state.err != nil: // the key may be in the set that could not be read
		return PublicKey{}, fmt.Errorf("read issuer keys: %w", s.state.err)
	}
	return PublicKey{}, ErrKeyUnknown
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

// end lets those who waited go on.
func (s *RemoteKeySource) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.flight)
	s.flight = nil
}

// refresh asks for the set and takes over the answer. A caller that gave up
// leaves no trace, so that the next one asks anew.
func (s *RemoteKeySource) refresh(ctx context.Context, kid string) error {
	defer s.end()
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
	if errors.Is(ctx.Err(), context.Canceled) {
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
