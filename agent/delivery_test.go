package agent_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
)

// signatures are the values of PAYMENT-SIGNATURE that a seller was sent.
func (s *rogue) signatures() (all []string) {
	for _, h := range s.credentials() {
		all = append(all, h.Get("PAYMENT-SIGNATURE"))
	}
	return all
}

// paidWith makes a seller that asks for a cent and answers paid requests with h.
func paidWith(t *testing.T, h http.HandlerFunc) *rogue {
	t.Helper()
	return newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if paid {
			h(w, r)
			return
		}
		ask(w, r, "10000", nil)
	})
}

// refuseAs answers 402 again, with a code of our gate.
func refuseAs(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "error": code})
}

func TestBrokenAnswerIsNotPaidForAgain(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) > 2 {
			_, _ = io.WriteString(w, "served")
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "ser")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	c := client(t, withWallet(t))
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		require.NoError(t, err)
		resp, err := c.Do(r)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NoError(t, resp.Body.Close())
	}
	resp, err := get(t, c, s.URL)
	require.NoError(t, err)
	require.Equal(t, "served", resp.text)
	sent := s.signatures()
	require.Equal(t, []string{sent[0], sent[0], sent[0]}, sent)
	_, err = get(t, c, s.URL)
	require.NoError(t, err)
	require.NotEqual(t, sent[0], s.signatures()[3], "what was delivered is bought anew")
}

func TestFailedAnswerIsNotPaidForAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 408, 409, 410, 422, 425, 429, 500, 502, 503, 504} {
		s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		c := client(t, withWallet(t))
		for range 3 {
			resp, err := get(t, c, s.URL)
			require.NoError(t, err)
			require.Equal(t, status, resp.StatusCode)
		}
		sent := s.signatures()
		require.Equal(t, []string{sent[0], sent[0], sent[0]}, sent, status)
	}
}

func TestCredentialThatTheSellerTookBeforeIsBoughtAnew(t *testing.T) {
	t.Parallel()
	var used sync.Map
	s := paidWith(t, func(w http.ResponseWriter, r *http.Request) {
		if _, again := used.LoadOrStore(r.Header.Get("PAYMENT-SIGNATURE"), true); again {
			refuseAs(w, "already_redeemed")
			return
		}
		_, _ = io.WriteString(w, `{"sky":"clear"}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // chunked, and its end comes later
	})
	c := client(t, withWallet(t))
	for range 3 { // a decoder that stops before the end, as most programs do
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		require.NoError(t, err)
		resp, err := c.Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		var answer struct{ Sky string }
		require.NoError(t, json.NewDecoder(io.LimitReader(resp.Body, 15)).Decode(&answer))
		require.NoError(t, resp.Body.Close())
	}
	sent := s.signatures()
	require.Len(t, sent, 5)
	require.Equal(t, []string{sent[0], sent[2]}, []string{sent[1], sent[3]}, "the old one is tried first")
}

func TestExpiredCredentialIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for receipt, same := range map[string]bool{"": false, "eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MSIsIm5ldHdvcmsiOiJiYXNlIn0=": true} {
		s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
			if receipt != "" {
				w.Header().Set("PAYMENT-RESPONSE", receipt)
			}
			w.WriteHeader(http.StatusInternalServerError)
		})
		now := &movable{now: time.Now()}
		cfg := withWallet(t)
		cfg.Clock = now.Now
		c := client(t, cfg)
		_, err := get(t, c, s.URL)
		require.NoError(t, err)
		now.advance(59 * time.Second)
		_, err = get(t, c, s.URL)
		require.NoError(t, err)
		now.advance(2 * time.Second)
		_, err = get(t, c, s.URL)
		require.NoError(t, err)
		sent := s.signatures()
		require.Equal(t, sent[0], sent[1])
		require.Equal(t, same, sent[0] == sent[2], "a confirmed payment outlives its window")
		now.advance(25 * time.Hour)
		_, err = get(t, c, s.URL)
		require.NoError(t, err)
		require.NotEqual(t, sent[0], s.signatures()[3])
	}
}

// TestPaymentWhoseAnswerWasLostIsNotMadeAgain: sellers honor it for a day, though
// its own window ends after a minute.
func TestPaymentWhoseAnswerWasLostIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lost   int64 // answers
		status int   // of the others
	}{
		"no answer":                    {2, 0},
		"bad gateway":                  {0, http.StatusBadGateway},
		"gateway timeout":              {0, http.StatusGatewayTimeout},
		"pending":                      {0, http.StatusPaymentRequired},
		"no answer, and then an error": {1, http.StatusInternalServerError},
	} {
		var late, expired atomic.Bool
		s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
			switch {
			case expired.CompareAndSwap(true, false):
				refuseAs(w, "invalid_exact_evm_payload_authorization_valid_before")
			case late.Load():
				_, _ = io.WriteString(w, "served")
			case tc.status == http.StatusPaymentRequired:
				refuseAs(w, "settlement_pending")
			case tc.status != 0:
				w.WriteHeader(tc.status)
			}
		})
		now, lossy := &movable{now: time.Now()}, &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
		lossy.lose.Store(tc.lost)
		cfg := withWallet(t)
		cfg.Clock, cfg.Base = now.Now, lossy
		c := client(t, cfg)
		_, err := get(t, c, s.URL)
		var undecided *agent.UndecidedError
		if errors.As(err, &undecided) {
			require.Equal(t, now.Now().Add(24*time.Hour), undecided.Until, name)
		}
		now.advance(23 * time.Hour)
		late.Store(true)
		resp, err := get(t, c, s.URL)
		require.NoError(t, err, name)
		require.Equal(t, "served", resp.text, name)
		for _, signature := range s.signatures() {
			require.Equal(t, s.signatures()[0], signature, name)
		}

		late.Store(false)
		lossy.lose.Store(tc.lost)
		_, _ = get(t, c, s.URL) // lost as before
		sent := s.signatures()
		now.advance(23 * time.Hour)
		late.Store(true)
		expired.Store(true)
		resp, err = get(t, c, s.URL)
		require.NoError(t, err, name)
		require.Equal(t, "served", resp.text, name)
		require.Len(t, s.signatures(), len(sent)+2, name)
		require.NotEqual(t, sent[len(sent)-1], s.signatures()[len(sent)+1], "a seller that refuses the old one is paid anew: "+name)
	}
}

// movable is a clock that stands until it is moved.
type movable struct {
	mu  sync.Mutex
	now time.Time
}

func (c *movable) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *movable) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestRequestsAtOnceDoNotShareACredential(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 5)
	proceed := make(chan struct{})
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-proceed
		w.WriteHeader(http.StatusTooManyRequests)
	})
	c := client(t, withWallet(t))
	for round := range 2 { // the second sends the five that the first left
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { _, _ = get(t, c, s.URL) })
		}
		for range 5 {
			<-arrived
		}
		different := map[string]bool{}
		for _, signature := range s.signatures()[round*5:] {
			different[signature] = true
		}
		require.Len(t, different, 5)
		for range 5 {
			proceed <- struct{}{}
		}
		all.Wait()
	}
	different := map[string]bool{}
	for _, signature := range s.signatures() {
		different[signature] = true
	}
	require.Len(t, different, 5)
}

func TestPaidPostIsNotSentAgainByItself(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method, key string
		sent        int
	}{
		"POST":                         {http.MethodPost, "", 1},
		"PATCH":                        {http.MethodPatch, "", 1},
		"POST with an idempotency key": {http.MethodPost, "order-1", 2},
		"PUT":                          {http.MethodPut, "", 2},
	} {
		s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ordered") })
		cfg := withWallet(t)
		lossy := &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
		lossy.lose.Store(int64(tc.sent))
		cfg.Base = lossy
		c := client(t, cfg)
		order := func() (reply, error) { // a body that can be read once
			r, err := http.NewRequestWithContext(t.Context(), tc.method, s.URL, io.MultiReader(strings.NewReader("one book")))
			require.NoError(t, err)
			if tc.key != "" {
				r.Header.Set("Idempotency-Key", tc.key)
			}
			return do(t, c, r)
		}
		_, err := order()
		var undecided *agent.UndecidedError
		require.ErrorAs(t, err, &undecided, name)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
		require.Equal(t, []any{agent.X402, int64(10_000), s.URL}, []any{undecided.Method, undecided.AmountMicros, undecided.URL}, name)
		require.Len(t, s.signatures(), tc.sent, name)

		resp, err := order() // the caller's decision
		require.NoError(t, err, name)
		require.Equal(t, "ordered", resp.text, name)
		sent := s.signatures()
		require.Len(t, sent, tc.sent+1, name)
		require.Equal(t, sent[0], sent[tc.sent], name)
	}
}
