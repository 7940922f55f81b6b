package agent_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

// rogue is a seller that does as it likes.
type rogue struct {
	*httptest.Server
	mu   sync.Mutex
	paid []http.Header // requests that carried a credential
	all  atomic.Int64
}

func newRogue(t *testing.T, h func(s *rogue, w http.ResponseWriter, r *http.Request, paid bool)) *rogue {
	t.Helper()
	s := &rogue{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.all.Add(1)
		paid := false
		for _, name := range []string{"X-Service-Mandate", "PAYMENT-SIGNATURE", "X-PAYMENT", "Authorization", "X-Bundle-Token"} {
			paid = paid || r.Header.Get(name) != ""
		}
		if paid {
			s.mu.Lock()
			s.paid = append(s.paid, r.Header.Clone())
			s.mu.Unlock()
		}
		h(s, w, r, paid)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *rogue) credentials() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paid
}

// ask answers 402 with a challenge of version 2; change alters it.
func ask(w http.ResponseWriter, r *http.Request, amount string, change func(*x402.PaymentRequired)) {
	p := x402.PaymentRequired{
		X402Version: 2, Error: "pay", Resource: x402.Resource{URL: "http://" + r.Host + r.URL.Path},
		Accepts: []x402.Requirements{{
			Scheme: "exact", Network: x402.NetworkBaseSepolia, Amount: amount, Asset: usdc, PayTo: payTo, MaxTimeoutSeconds: 60,
			Extra: map[string]any{"name": "USDC", "version": "2"},
		}},
	}
	if change != nil {
		change(&p)
	}
	header, err := x402.EncodeHeader(p)
	if err != nil {
		panic(err)
	}
	w.Header().Set("PAYMENT-REQUIRED", header)
	w.WriteHeader(http.StatusPaymentRequired)
	_, _ = io.WriteString(w, "pay first")
}

func withWallet(t *testing.T) agent.Config {
	t.Helper()
	return agent.Config{MaxPriceMicros: 20_000, Wallet: newWallet(t)}
}

func TestSecond402IsNotPaid(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"the same price": "10000", "another price": "19000", "a cheaper one": "1"} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if paid {
				ask(w, r, second, nil)
			} else {
				ask(w, r, "10000", nil)
			}
		})
		resp, err := get(t, client(t, withWallet(t)), s.URL)
		require.NoError(t, err, name)
		require.Equal(t, []any{http.StatusPaymentRequired, "pay first"}, []any{resp.StatusCode, resp.text}, name)
		_, ok := agent.ReceiptFrom(resp.Response)
		require.False(t, ok, name)
		require.Len(t, s.credentials(), 1, name)
		require.Equal(t, int64(2), s.all.Load(), name)
	}
}

func TestWhatIsSignedIsWhatWasAsked(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if paid {
			_, _ = io.WriteString(w, "served")
			return
		}
		ask(w, r, "10000", func(p *x402.PaymentRequired) {
			p.Accepts[0].MaxTimeoutSeconds = 1 << 40 // a signature for a lifetime
			p.Accepts[0].Extra["name"] = "Another Token"
		})
	})
	began := time.Now()
	_, err := get(t, client(t, withWallet(t)), s.URL)
	require.NoError(t, err)
	p, err := x402.DecodePayload(s.credentials()[0].Get("PAYMENT-SIGNATURE"))
	require.NoError(t, err)
	a := p.Payload.Authorization
	require.Equal(t, []string{payTo, "10000"}, []string{a.To, a.Value})
	require.WithinDuration(t, began, a.ValidBeforeTime(), 10*time.Minute+2*time.Second)
}

func TestChallengesThatAreNotPaid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*x402.PaymentRequired)
		amount string
		want   error
	}{
		"another token":        {func(p *x402.PaymentRequired) { p.Accepts[0].Asset = payTo }, "10000", agent.ErrNoMethod},
		"another chain":        {func(p *x402.PaymentRequired) { p.Accepts[0].Network = "eip155:1" }, "10000", agent.ErrNoMethod},
		"another scheme":       {func(p *x402.PaymentRequired) { p.Accepts[0].Scheme = "upto" }, "10000", agent.ErrNoMethod},
		"a payee that is none": {func(p *x402.PaymentRequired) { p.Accepts[0].PayTo = "0x0\r\nX-Evil: 1" }, "10000", nil},
		"too much":             {nil, "20001", agent.ErrTooExpensive},
		"more than there is":   {nil, strings.Repeat("9", 77), agent.ErrTooExpensive},
	} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) { ask(w, r, tc.amount, tc.change) })
		resp, err := get(t, client(t, withWallet(t)), s.URL)
		if tc.want == nil {
			require.True(t, err != nil || resp.StatusCode == http.StatusPaymentRequired, name)
		} else {
			require.ErrorIs(t, err, tc.want, name)
		}
		require.Empty(t, s.credentials(), name)
		require.Equal(t, int64(1), s.all.Load(), name)
	}
}

func TestHeadersCannotBeInjectedByAChallenge(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if paid {
			return
		}
		ask(w, r, "10000", func(p *x402.PaymentRequired) {
			p.Resource.Description = "fine\r\nX-Evil: 1\x1b[2J"
			p.Accepts[0].Extra["note"] = "\r\nX-Evil: 1"
		})
	})
	cfg := withWallet(t)
	var described string
	cfg.Approve = func(_ ctx, p agent.Purchase) error {
		described = p.Description
		return nil
	}
	_, err := get(t, client(t, cfg), s.URL)
	require.NoError(t, err)
	require.Equal(t, "fineX-Evil: 1[2J", described, "nothing that moves a terminal's cursor")
	require.Len(t, s.credentials(), 1)
	require.Empty(t, s.credentials()[0].Get("X-Evil"))
}

func TestCheapestWayThatIsAllowedIsTaken(t *testing.T) {
	t.Parallel()
	request, err := mpp.EncodeJSON(mpp.ChargeRequest{
		Amount: "7000", Currency: usdc, Recipient: payTo, MethodDetails: mpp.MethodDetails{ChainID: 84532, Decimals: 6},
	})
	require.NoError(t, err)
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		challenge, err := mpp.Challenge{ID: "id-1", Realm: r.Host, Method: "evm", Intent: "charge", Request: request}.Header()
		if err != nil {
			panic(err)
		}
		w.Header().Set("WWW-Authenticate", challenge)
		if !paid {
			ask(w, r, "9000", nil)
		}
	})
	_, err = get(t, client(t, withWallet(t)), s.URL)
	require.NoError(t, err)
	require.NotEmpty(t, s.credentials()[0].Get("Authorization"))
	cfg := withWallet(t)
	cfg.Methods = []agent.Method{agent.X402, agent.X402V1}
	_, err = get(t, client(t, cfg), s.URL)
	require.NoError(t, err)
	require.NotEmpty(t, s.credentials()[1].Get("PAYMENT-SIGNATURE"))
}

func TestRedirectsDropTheCredentialAndAreNotPaidAgain(t *testing.T) {
	t.Parallel()
	other := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) { ask(w, r, "10000", nil) })
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			ask(w, r, "10000", nil)
			return
		}
		http.Redirect(w, r, other.URL+"/again", http.StatusTemporaryRedirect)
	})
	_, err := get(t, client(t, withWallet(t)), s.URL)
	require.ErrorIs(t, err, agent.ErrPaidBefore)
	require.Len(t, s.credentials(), 1)
	require.Equal(t, int64(1), other.all.Load())
	require.Empty(t, other.credentials(), "what was paid for one origin is not shown to another")

	// A credential that the caller sets is for the origin that the caller names.
	open := newRogue(t, func(s *rogue, w http.ResponseWriter, r *http.Request, _ bool) {
		http.Redirect(w, r, other.URL+"/open", http.StatusFound)
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, open.URL, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Service-Mandate", "dtok_of-the-caller")
	cfg := withWallet(t)
	cfg.MaxPriceMicros = 1
	_, err = do(t, client(t, cfg), r)
	require.ErrorIs(t, err, agent.ErrTooExpensive)
	require.Empty(t, other.credentials())
}

func TestRedirectLoopEnds(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if paid {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return
		}
		ask(w, r, "10000", nil)
	})
	_, err := get(t, client(t, withWallet(t)), s.URL+"/loop")
	require.ErrorIs(t, err, agent.ErrPaidBefore)
	require.Len(t, s.credentials(), 1)
}

func TestHugeChallengeIsNotRead(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) {
		w.WriteHeader(http.StatusPaymentRequired)
		chunk := []byte(strings.Repeat("{", 1<<16))
		for range 1 << 12 {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil || r.Context().Err() != nil {
				return
			}
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := client(t, withWallet(t)).Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
	require.Less(t, sent.Load(), int64(64<<20))
}

// line carries requests and loses answers to those that are paid.
type line struct {
	http.RoundTripper
	lose atomic.Int64
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusPaymentRequired && l.lose.Add(-1) >= 0 {
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

func TestRetryAfterALostAnswerSendsTheSameCredential(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			ask(w, r, "10000", nil)
			return
		}
		_, _ = io.WriteString(w, "served")
	})
	cfg := withWallet(t)
	l := &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
	cfg.Base = l
	c := client(t, cfg)
	l.lose.Store(1)
	resp, err := get(t, c, s.URL)
	require.NoError(t, err)
	require.Equal(t, "served", resp.text)
	sent := s.credentials()
	require.Len(t, sent, 2)
	require.Equal(t, sent[0].Get("PAYMENT-SIGNATURE"), sent[1].Get("PAYMENT-SIGNATURE"))

	l.lose.Store(2) // once more, and twice in a row
	_, err = get(t, c, s.URL)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	resp, err = get(t, c, s.URL)
	require.NoError(t, err)
	require.Equal(t, "served", resp.text)
	sent = s.credentials()
	require.Len(t, sent, 5)
	require.Equal(t, sent[2].Get("PAYMENT-SIGNATURE"), sent[3].Get("PAYMENT-SIGNATURE"))
	require.Equal(t, sent[2].Get("PAYMENT-SIGNATURE"), sent[4].Get("PAYMENT-SIGNATURE"), "across calls")
	require.NotEqual(t, sent[0].Get("PAYMENT-SIGNATURE"), sent[2].Get("PAYMENT-SIGNATURE"))

	_, err = get(t, c, s.URL)
	require.NoError(t, err)
	require.NotEqual(t, sent[2].Get("PAYMENT-SIGNATURE"), s.credentials()[5].Get("PAYMENT-SIGNATURE"), "then a purchase of its own")
}

func TestRepeatedRequestOpensWhatAFailedHandlerLeft(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	c := client(t, s.config())
	s.status.Store(http.StatusInternalServerError)
	resp, err := get(t, c, s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	s.status.Store(http.StatusOK)
	resp, err = get(t, c, s.url+"?other=1")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, int64(2), s.charges(), "another request is another purchase")
	resp, err = get(t, c, s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, int64(2), s.charges())
	tokens := s.sent("X-Service-Mandate")
	require.Equal(t, tokens[0], tokens[2])
}

func TestRetryAfterIsObeyedOnce(t *testing.T) {
	t.Parallel()
	for wait, tries := range map[string]int{"0": 2, "3600": 1, "soon": 1} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if !paid {
				ask(w, r, "10000", nil)
				return
			}
			w.Header().Set("Retry-After", wait)
			w.WriteHeader(http.StatusBadGateway)
		})
		resp, err := get(t, client(t, withWallet(t)), s.URL)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadGateway, resp.StatusCode)
		require.Len(t, s.credentials(), tries, wait)
	}
}

func TestNothingIsPaidOverPlainHTTP(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) { ask(w, r, "10000", nil) })
	cfg := withWallet(t)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	cfg.Base = through{at}
	_, err = get(t, client(t, cfg), "http://api.example.com/door")
	require.ErrorIs(t, err, agent.ErrInsecure)
	require.Empty(t, s.credentials())
}

// through sends every request to one address, whatever it names.
type through struct{ to *url.URL }

func (p through) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Host = p.to.Host
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

func TestFetchHasLimits(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		switch {
		case r.URL.Path == "/huge":
			_, _ = w.Write(make([]byte, agent.MaxFetch+1))
		case r.URL.Path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case r.URL.Path == "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case paid:
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprintf(w, "%s %s", r.Method, body)
		default:
			ask(w, r, "10000", nil)
		}
	})
	cfg := withWallet(t)
	cfg.Base, cfg.AllowPrivate = &http.Transport{DisableKeepAlives: true}, true
	c, err := agent.New(cfg)
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	f, err := c.Fetch(t.Context(), agent.FetchParams{URL: s.URL, Body: []byte(`{"q":1}`)})
	require.NoError(t, err)
	require.Equal(t, []any{200, "text/plain", `POST {"q":1}`}, []any{f.Status, f.ContentType, string(f.Content)})
	require.NotNil(t, f.Receipt)
	require.Equal(t, int64(10_000), f.Receipt.AmountMicros)

	_, err = c.Fetch(t.Context(), agent.FetchParams{URL: s.URL, MaxPriceMicros: 9_999})
	require.ErrorIs(t, err, agent.ErrTooExpensive)
	_, err = c.Fetch(t.Context(), agent.FetchParams{URL: s.URL + "/huge"})
	require.ErrorIs(t, err, agent.ErrTooLarge)
	before := s.all.Load()
	_, err = c.Fetch(t.Context(), agent.FetchParams{URL: s.URL + "/loop"})
	require.ErrorContains(t, err, "redirects")
	require.LessOrEqual(t, s.all.Load()-before, int64(agent.MaxRedirects+2))
	for _, bad := range []string{"file:///etc/passwd", "ftp://a.example", "https://user:pass@a.example", "://", s.URL + "/file"} {
		_, err = c.Fetch(t.Context(), agent.FetchParams{URL: bad})
		require.Error(t, err, bad)
	}
	_, err = c.Fetch(t.Context(), agent.FetchParams{URL: s.URL, Method: "GET\r\n"})
	require.Error(t, err)
}

func TestDialContextSeesEveryConnection(t *testing.T) {
	t.Parallel()
	refused := errors.New("not a public address")
	c, err := agent.New(agent.Config{MaxPriceMicros: 1, AllowPrivate: true, DialContext: func(_ ctx, _, _ string) (conn, error) { return nil, refused }})
	require.NoError(t, err)
	_, err = c.Fetch(t.Context(), agent.FetchParams{URL: "http://169.254.169.254/latest/meta-data"})
	require.ErrorIs(t, err, refused)
}

func TestNewReachesPublicAddressesOnlyUnlessAllowed(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, _ http.ResponseWriter, _ *http.Request, _ bool) {})
	c, err := agent.New(agent.Config{MaxPriceMicros: 1})
	require.NoError(t, err)
	for _, inside := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), "http://169.254.169.254/", "http://[::1]:1/", "http://10.0.0.1/"} {
		_, err = c.Fetch(t.Context(), agent.FetchParams{URL: inside})
		require.ErrorIs(t, err, ssrf.ErrForbidden, inside)
		require.ErrorContains(t, err, "AllowPrivate", "the remedy")
	}
	require.Zero(t, s.all.Load())
	_, err = agent.New(agent.Config{MaxPriceMicros: 1, Base: &http.Transport{}})
	require.ErrorContains(t, err, "agent: Base:")
	_, err = agent.New(agent.Config{MaxPriceMicros: 1, DialContext: new(net.Dialer).DialContext})
	require.ErrorContains(t, err, "agent: DialContext:")

	var traced atomic.Int64
	c, err = agent.New(agent.Config{MaxPriceMicros: 1, AllowPrivate: true, WrapTransport: func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			traced.Add(1)
			return base.RoundTrip(r)
		})
	}})
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	f, err := c.Fetch(t.Context(), agent.FetchParams{URL: s.URL})
	require.NoError(t, err)
	require.Equal(t, []any{200, int64(1)}, []any{f.Status, traced.Load()})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
