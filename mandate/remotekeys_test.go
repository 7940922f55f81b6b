package mandate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// publisher is a key set's server that can be taken down, and counts.
type publisher struct {
	*httptest.Server
	set                *mandate.KeySet
	requests, modified atomic.Int64
	handler            atomic.Value // http.HandlerFunc instead of the set's
}

func publish(t testing.TB, keys ...mandate.PublicKey) *publisher {
	t.Helper()
	p := &publisher{}
	list := make([]mandate.Key, 0, len(keys))
	for _, k := range keys {
		list = append(list, mandate.Key{PublicKey: k, State: mandate.KeyRetired})
	}
	var err error
	p.set, err = mandate.NewKeySet(list...)
	require.NoError(t, err)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		if h, ok := p.handler.Load().(http.HandlerFunc); ok && h != nil {
			h(w, r)
			return
		}
		rec := httptest.NewRecorder()
		p.set.Handler().ServeHTTP(rec, r)
		if rec.Code == http.StatusOK {
			p.modified.Add(1)
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) down() {
	p.handler.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
}
func (p *publisher) up() { p.handler.Store(http.HandlerFunc(nil)) }

// clock can be moved.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_800_000_000, c.nanos.Load()) }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

func (p *publisher) source(c *clock) *mandate.RemoteKeySource {
	return &mandate.RemoteKeySource{URL: p.URL, HTTPClient: p.Client(), Clock: c.now}
}

func TestRemoteKeysAreKeptForTheirMaxAge(t *testing.T) {
	t.Parallel()
	k, c := public(t, newKey(t)), &clock{}
	p := publish(t, k)
	s := p.source(c)
	ask := func() {
		got, err := s.Key(t.Context(), k.ID())
		require.NoError(t, err)
		require.True(t, got.Equal(k))
	}
	for range 5 {
		ask()
	}
	require.EqualValues(t, 1, p.requests.Load())
	c.advance(239 * time.Second)
	ask()
	require.EqualValues(t, 1, p.requests.Load())
	c.advance(time.Second) // four fifths of 300 s
	ask()
	ask()
	require.EqualValues(t, 2, p.requests.Load(), "read ahead of need, once")
	require.EqualValues(t, 1, p.modified.Load(), "with its ETag: the body was sent once only")
}

func TestRemoteKeysHearOfARevokedKey(t *testing.T) {
	t.Parallel()
	k, c := public(t, newKey(t)), &clock{}
	p := publish(t, k)
	s := p.source(c)
	_, err := s.Key(t.Context(), k.ID())
	require.NoError(t, err)
	require.NoError(t, p.set.Revoke(k.ID()))
	c.advance(5 * time.Minute)
	_, err = s.Key(t.Context(), k.ID())
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
}

func TestRemoteKeysHearOfANewKeyAtOnce(t *testing.T) {
	t.Parallel()
	a, b, c := public(t, newKey(t)), public(t, newKey(t)), &clock{}
	p := publish(t, a)
	s := p.source(c)
	_, err := s.Key(t.Context(), a.ID())
	require.NoError(t, err)
	require.NoError(t, p.set.Add(b))
	c.advance(mandate.DefaultKeysRetry)
	got, err := s.Key(t.Context(), b.ID())
	require.NoError(t, err)
	require.True(t, got.Equal(b))
	require.EqualValues(t, 2, p.requests.Load())
}

func TestUnknownKeysAreNotAskedForAgainAndAgain(t *testing.T) {
	t.Parallel()
	k, c := public(t, newKey(t)), &clock{}
	p := publish(t, k)
	s := p.source(c)
	for i := range 1000 {
		_, err := s.Key(t.Context(), fmt.Sprintf("kid-%d", i%500))
		require.ErrorIs(t, err, mandate.ErrKeyUnknown)
	}
	require.EqualValues(t, 1, p.requests.Load(), "another kid has to wait for Retry")
	for range 10 {
		c.advance(mandate.DefaultKeysRetry)
		_, err := s.Key(t.Context(), "kid-0")
		require.ErrorIs(t, err, mandate.ErrKeyUnknown)
	}
	require.EqualValues(t, 1, p.requests.Load(), "the same one for Missing")
	_, err := s.Key(t.Context(), "kid-new")
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
	require.EqualValues(t, 2, p.requests.Load())
}

func TestRemoteKeysOutliveAnOutageForAWhile(t *testing.T) {
	t.Parallel()
	k, c := public(t, newKey(t)), &clock{}
	p := publish(t, k)
	s := p.source(c)
	ask := func() error {
		_, err := s.Key(t.Context(), k.ID())
		return err
	}
	require.NoError(t, ask())
	p.down()
	c.advance(5*time.Minute + mandate.DefaultKeysMaxStale - time.Second)
	for range 3 {
		require.NoError(t, ask())
	}
	require.EqualValues(t, 2, p.requests.Load(), "a failure is not repeated at once")
	_, err := s.Key(t.Context(), "other")
	require.ErrorContains(t, err, "status 502")
	require.NotErrorIs(t, err, mandate.ErrKeyUnknown, "it may be in the set that cannot be read")
	c.advance(time.Second)
	require.ErrorContains(t, ask(), "status 502")
	p.up()
	require.Error(t, ask(), "until Retry is over")
	c.advance(mandate.DefaultKeysRetry)
	require.NoError(t, ask())
	s = p.source(c)
	s.MaxStale = -1
	require.NoError(t, ask())
	p.down()
	c.advance(5 * time.Minute)
	require.Error(t, ask())
}

func TestRemoteKeysAreReadByOneAtATime(t *testing.T) {
	t.Parallel()
	k, c := public(t, newKey(t)), &clock{}
	p := publish(t, k)
	asked, release := make(chan struct{}, 100), make(chan struct{})
	p.handler.Store(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		p.set.Handler().ServeHTTP(w, r)
	}))
	s := p.source(c)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := s.Key(context.Background(), k.ID()); err != nil {
				t.Error(err)
			}
		})
	}
	<-asked
	close(release)
	wg.Wait()
	require.EqualValues(t, 1, p.requests.Load())
}

// stalled answers when its request's context is done.
type stalled struct{ asked chan struct{} }

func (s stalled) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestRemoteKeysWaitNoLongerThanTheirCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &mandate.RemoteKeySource{URL: "https://pay.example/jwks", HTTPClient: &http.Client{Transport: stalled{make(chan struct{}, 9)}}}
		first, giveUp := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { _, err := s.Key(first, "k"); errs <- err }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Key(short, "k")
		require.ErrorIs(t, err, context.DeadlineExceeded, "one who waits for another's request")
		go func() { _, err := s.Key(t.Context(), "k"); errs <- err }()
		synctest.Wait()
		giveUp()
		require.ErrorIs(t, <-errs, context.Canceled)
		start := time.Now()
		require.ErrorIs(t, <-errs, context.DeadlineExceeded, "the next one asks itself, until Timeout")
		require.Equal(t, mandate.DefaultKeysTimeout, time.Since(start))
		_, err = s.Key(t.Context(), "k")
		require.Error(t, err, "and a failure counts for Retry")
		require.Equal(t, mandate.DefaultKeysTimeout, time.Since(start))
	})
}

func TestRemoteKeysRefuse(t *testing.T) {
	t.Parallel()
	k := public(t, newKey(t))
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no set":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"error":"x"}`)) },
		"names twice": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[],"keys":[]}`))
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[]` + strings.Repeat(" ", mandate.DefaultKeysMaxBytes) + `}`))
		},
		"too many": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[` + strings.Repeat("{},", mandate.MaxJWKSKeys) + `{}]}`))
		},
		"unchanged without a set": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"not found":               http.NotFound,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := publish(t, k)
			p.handler.Store(h)
			_, err := p.source(&clock{}).Key(t.Context(), k.ID())
			require.Error(t, err)
			require.NotErrorIs(t, err, mandate.ErrKeyUnknown, "no verdict")
			require.EqualValues(t, 1, p.requests.Load())
		})
	}
	for _, url := range []string{"http://pay.example/jwks", "ftp://127.0.0.1/", "", "/jwks", "https://u:p@pay.example/"} {
		_, err := mandate.RemoteKeys(url).Key(t.Context(), "k")
		require.ErrorContains(t, err, "neither an https URL", url)
	}
}

func TestFreshnessHasBounds(t *testing.T) {
	t.Parallel()
	k := public(t, newKey(t))
	for header, kept := range map[string]time.Duration{
		"max-age=100":                           100 * time.Second,
		"public, MAX-AGE=\"100\"":               100 * time.Second,
		"max-age=0":                             30 * time.Second,
		"no-store":                              30 * time.Second,
		"no-cache, max-age=1000":                30 * time.Second,
		"max-age=x":                             30 * time.Second,
		"max-age=-5":                            30 * time.Second,
		"":                                      5 * time.Minute,
		"max-age=99999999999999999999999999999": 24 * time.Hour,
		"max-age=200;age=150":                   50 * time.Second,
	} {
		c, p := &clock{}, publish(t, k)
		control, age, _ := strings.Cut(header, ";age=")
		body := get(t, p.set.Handler(), http.MethodGet).Body.Bytes()
		p.handler.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if control != "" {
				w.Header().Set("Cache-Control", control)
			}
			if age != "" {
				w.Header().Set("Age", age)
			}
			_, _ = w.Write(body)
		}))
		s := p.source(c)
		ask := func() {
			_, err := s.Key(t.Context(), k.ID())
			require.NoError(t, err)
		}
		ask()
		c.advance(kept*4/5 - time.Second)
		ask()
		require.EqualValues(t, 1, p.requests.Load(), header)
		c.advance(time.Second)
		ask()
		require.EqualValues(t, 2, p.requests.Load(), header)
	}
}

func TestVerifierAsksRemoteKeys(t *testing.T) {
	t.Parallel()
	f := setup(t)
	p := publish(t, public(t, f.issuerKey))
	v := f.verifier()
	v.Keys = mandate.RemoteKeys(p.URL)
	_, err := v.Verify(t.Context(), f.issue(t).Reveal())
	require.NoError(t, err)
	p.Close()
	v = f.verifier()
	v.Keys = mandate.RemoteKeys(p.URL)
	_, err = v.Verify(t.Context(), f.issue(t).Reveal())
	require.ErrorIs(t, err, mandate.ErrUnavailable)
	require.Equal(t, mandate.KeysUnavailable, reasonOf(t, err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v = f.verifier()
	v.Keys = mandate.RemoteKeys(p.URL)
	_, err = v.Verify(ctx, f.issue(t).Reveal())
	require.True(t, errors.Is(err, context.Canceled) && errors.Is(err, mandate.ErrUnavailable))
}
