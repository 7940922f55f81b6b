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

// Limits for the publisher's Cache-Control.
const (
	minFresh     = 30 * time.Second
	maxFresh     = 24 * time.Hour
	defaultFresh = 5 * time.Minute
)

// maxMissing limits the negative cache.
const maxMissing = 1024

// RemoteKeySource fetches the issuer's keys from its published key set. Set the fields
// before the first use; afterwards it must not be copied or modified. It is safe for
// concurrent use.
//
// It starts no goroutine: the verification that needs the set fetches it, within its own
// context, one at a time. After four fifths of its max-age the set is fetched again in
// advance, while other verifications continue with the cached keys.
type RemoteKeySource struct {
	// URL is the address of the key set: https, or http on the loopback interface. Required.
	URL string
	// HTTPClient sends the requests. Redirects are not followed. Default: a client with
	// http.DefaultTransport.
	HTTPClient *http.Client
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Timeout limits a request. Default: DefaultKeysTimeout.
	Timeout time.Duration
	// MaxBytes is the maximum size of the response, in bytes. Default: DefaultKeysMaxBytes.
	MaxBytes int64
	// MaxStale is how long a set is used beyond its max-age if the publisher cannot be
	// reached. Default: DefaultKeysMaxStale. Negative: not at all.
	MaxStale time.Duration
	// Retry is the minimum interval between requests after a failure, and between requests
	// for different keys that the set lacks. Default: DefaultKeysRetry.
	Retry time.Duration
	// Missing is how long a key that the set lacks is treated as unknown without another
	// request. Default: DefaultKeysMissing.
	Missing time.Duration

	fetcher fetcher
	mu      sync.RWMutex
	state   keyState
	flight  chan struct{} // closed when the current request has ended; nil if there is none
}

// RemoteKeys returns a source that fetches the key set at url. Use [RemoteKeySource] to
// set more.
func RemoteKeys(url string) *RemoteKeySource { return &RemoteKeySource{URL: url} }

// keyState is the cached set.
type keyState struct {
	keys    staticKeys // nil before the first response
	etag    string
	read    time.Time // when the set was last fetched or found unchanged
	fresh   time.Duration
	tried   time.Time // time of the last request
	err     error     // result of the last request
	missing map[string]time.Time
}

// Key returns the key with that thumbprint. It returns [ErrKeyUnknown] if the set does not
// contain it; any other error means that the set cannot be fetched now.
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
		case <-wait: // check the result again
		case <-ctx.Done():
			return PublicKey{}, fmt.Errorf("wait for issuer keys: %w", ctx.Err())
		}
	}
}

// asking is whether the set must be fetched before a key can be returned.
type asking uint8

const (
	no    asking = iota
	ahead        // the key is known; fetch now so that others need not wait later
	must
)

// answer is the result for a key without fetching the set. It is only valid if ask is not
// must.
type answer struct {
	key PublicKey
	err error
	ask asking
}

// find looks kid up in the cached set.
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

// settled returns the result after a request that was made for kid.
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

// begin makes the caller the one that fetches, or returns a channel to wait on.
func (s *RemoteKeySource) begin() (mine bool, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		return false, s.flight
	}
	s.flight = make(chan struct{})
	return true, nil
}

// end wakes the waiting callers.
func (s *RemoteKeySource) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.flight)
	s.flight = nil
}

// refresh fetches the set and stores the result. A caller whose context is canceled stores
// nothing, so that the next caller fetches again.
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

// forget records that kid is not in the set that was just fetched.
func (s *keyState) forget(kid string, now time.Time, ttl time.Duration) {
	if _, ok := s.keys[kid]; ok {
		delete(s.missing, kid)
		return
	}
	if s.missing == nil || len(s.missing) >= maxMissing { // emptying it costs at most spaced requests
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
