package journal_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// shop sells for a cent and serves each payment once.
type shop struct {
	*httptest.Server

	refusal string         // of a payment that was redeemed
	before  func() error   // is called before a payment is redeemed; an error fails the response
	after   func()         // is called after it, before the response
	paid    map[string]int // payments by credential
	sent    atomic.Int64
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{paid: map[string]int{}, refusal: "already_redeemed", before: func() error { return nil }, after: func() {}}
	asset, _ := x402.USDC(84532)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credential := r.Header.Get(x402.HeaderPaymentSignature)
		body, _ := io.ReadAll(r.Body)
		ask := func(code string) {
			required := x402.PaymentRequired{
				X402Version: 2, Error: code, Resource: x402.Resource{URL: s.URL + r.URL.Path},
				Accepts: []x402.Requirements{{
					Scheme: "exact", Network: "eip155:84532", Amount: "10000", Asset: asset.Address, MaxTimeoutSeconds: 60,
					PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Extra: map[string]any{"name": asset.Name, "version": asset.Version},
				}},
			}
			value, err := x402.EncodeHeader(required)
			if err != nil {
				panic(err)
			}
			w.Header().Set(x402.HeaderPaymentRequired, value)
			w.WriteHeader(http.StatusPaymentRequired)
		}
		if credential == "" {
			ask("payment_required")
			return
		}
		s.sent.Add(1)
		if s.paid[credential]++; s.paid[credential] > 1 {
			ask(s.refusal)
			return
		}
		if err := s.before(); err != nil {
			delete(s.paid, credential)
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		s.after()
		settled, err := x402.EncodeHeader(x402.Settlement{Success: true, Transaction: "0x1", Network: "eip155:84532"})
		if err != nil {
			panic(err)
		}
		w.Header().Set(x402.HeaderPaymentResponse, settled)
		_, _ = io.WriteString(w, "ordered "+string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

// process is an agent that ends and starts again with the same wallet and journal.
type process struct {
	t      *testing.T
	kind   kind
	wallet *evm.Wallet
	change func(*agent.Config)
	http   *http.Client
	agent  *agent.Transport
	end    func()
}

func newProcess(t *testing.T, k kind) *process {
	t.Helper()
	key, err := crypto.GenerateKey()
	require.NoError(t, err)
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)
	p := &process{t: t, kind: k, wallet: wallet, change: func(*agent.Config) {}}
	p.start()
	return p
}

func (p *process) start() {
	p.t.Helper()
	j, end := p.kind.open(p.t)
	cfg := agent.Config{MaxPriceMicros: 10_000, Wallet: p.wallet, Journal: j, Base: &http.Transport{DisableKeepAlives: true}}
	p.change(&cfg)
	transport, err := agent.NewTransport(cfg)
	require.NoError(p.t, err)
	p.agent, p.http, p.end = transport, &http.Client{Transport: transport}, end
}

// restart ends the process without anything that it could still record.
func (p *process) restart() { p.t.Helper(); p.end(); p.start() }

func (p *process) order(ctx context.Context, url, body string) (string, error) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/order", strings.NewReader(body))
	require.NoError(p.t, err)
	resp, err := p.http.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return http.StatusText(resp.StatusCode) + " " + string(text), err
}

func eachKind(t *testing.T, test func(t *testing.T, p *process, s *shop)) {
	t.Helper()
	for name, k := range kinds(t) {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newProcess(t, k), newShop(t)) })
	}
}

func TestPurchaseKeyIsPaidOnce(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		ctx := agent.WithPurchaseKey(t.Context(), "order 1")
		text, err := p.order(ctx, s.URL, "one book")
		require.NoError(t, err)
		require.Equal(t, "OK ordered one book", text)
		for range 2 {
			_, err = p.order(ctx, s.URL, "one book")
			require.ErrorIs(t, err, agent.ErrPurchased)
			var before *agent.PurchasedError
			require.ErrorAs(t, err, &before)
			require.Equal(t, "0x1", before.Receipt.Transaction)
			_, err = p.order(ctx, s.URL, "two books")
			require.Error(t, err)
			p.restart()
		}
		require.Equal(t, int64(1), s.sent.Load())
		_, err = p.order(agent.WithPurchaseKey(t.Context(), "order 2"), s.URL, "one book")
		require.NoError(t, err)
		require.Equal(t, int64(2), s.sent.Load())
		left, err := p.agent.Unfinished(t.Context())
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// TestPaymentThatWasSentIsSentAgainAfterARestart: the response to the first one was lost
// before the seller redeemed it.
func TestPaymentThatWasSentIsSentAgainAfterARestart(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		for _, ctx := range []context.Context{agent.WithPurchaseKey(t.Context(), "order 1"), t.Context()} {
			clear(s.paid)
			s.before = func() error { return io.ErrUnexpectedEOF }
			text, err := p.order(ctx, s.URL, "one book")
			require.NoError(t, err)
			require.Contains(t, text, "Service Unavailable")
			p.restart()
			left, err := p.agent.Unfinished(t.Context())
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Nil(t, left[0].Credential)
			s.before = func() error { return nil }
			text, err = p.order(ctx, s.URL, "one book")
			require.NoError(t, err)
			require.Equal(t, "OK ordered one book", text)
			require.Len(t, s.paid, 1, "one credential")
		}
	})
}

// killed fails every later request and record, as a killed process does.
type killed struct {
	agent.Journal
	http.RoundTripper

	dead atomic.Bool
}

func (k *killed) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := k.RoundTripper.RoundTrip(r)
	if k.dead.Load() && err == nil {
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

func (k *killed) Record(ctx context.Context, e agent.JournalEntry, release bool) error {
	if k.dead.Load() {
		return io.ErrClosedPipe
	}
	return k.Journal.Record(ctx, e, release)
}

func TestServedPaymentIsKnownAsPaidAfterARestart(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"already_redeemed", "insufficient_funds"} {
		t.Run(refusal, func(t *testing.T) {
			t.Parallel()
			eachKind(t, func(t *testing.T, p *process, s *shop) {
				s.refusal = refusal
				k := &killed{}
				p.change = func(c *agent.Config) { k.Journal, k.RoundTripper, c.Journal, c.Base = c.Journal, c.Base, k, k }
				p.restart()
				s.after = func() { k.dead.Store(true) }
				ctx := agent.WithPurchaseKey(t.Context(), "order 1")
				_, err := p.order(ctx, s.URL, "one book")
				require.Error(t, err)
				p.change = func(*agent.Config) {}
				for range 2 {
					p.restart()
					text, err := p.order(ctx, s.URL, "one book")
					if refusal == "already_redeemed" {
						require.ErrorIs(t, err, agent.ErrAnswerLost)
						var lost *agent.UndecidedError
						require.ErrorAs(t, err, &lost)
						require.Equal(t, int64(10_000), lost.Receipt.AmountMicros)
					} else { // which does not prove that the first sending moved nothing
						require.NoError(t, err)
						require.Contains(t, text, "Payment Required")
					}
				}
				require.Len(t, s.paid, 1, "one credential")
				left, err := p.agent.Unfinished(t.Context())
				require.NoError(t, err)
				require.Len(t, left, 1)

				if refusal == "already_redeemed" {
					s.after = func() {}
					text, err := p.order(agent.WithNewPurchase(ctx), s.URL, "one book")
					require.NoError(t, err)
					require.Equal(t, "OK ordered one book", text)
				}
			})
		})
	}
}

func TestPaymentThatIsTooOldIsNotReplaced(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		s.before = func() error { return io.ErrUnexpectedEOF }
		ctx := agent.WithPurchaseKey(t.Context(), "order 1")
		_, err := p.order(ctx, s.URL, "one book")
		require.NoError(t, err)
		p.change = func(c *agent.Config) { c.Clock = func() time.Time { return time.Now().Add(25 * time.Hour) } }
		p.restart()
		_, err = p.order(ctx, s.URL, "one book")
		require.ErrorIs(t, err, agent.ErrOutcomeUnknown)
		require.ErrorContains(t, err, "the same request is refused")
		require.Equal(t, int64(1), s.sent.Load())
		s.before = func() error { return nil }
		_, err = p.order(agent.WithNewPurchase(ctx), s.URL, "one book")
		require.NoError(t, err)
	})
}

func TestBudgetOfAJournalSurvivesARestart(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		p.change = func(c *agent.Config) { c.BudgetMicros = 20_000 }
		for range 2 {
			p.restart()
			_, err := p.order(t.Context(), s.URL, "one book")
			require.NoError(t, err)
		}
		p.restart()
		_, err := p.order(t.Context(), s.URL, "one book")
		require.ErrorIs(t, err, agent.ErrBudget)
		require.Equal(t, int64(2), s.sent.Load())
	})
}

func TestNothingIsSentThatTheJournalDidNotRecord(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		k := &killed{}
		k.dead.Store(true)
		p.change = func(c *agent.Config) { k.Journal, c.Journal, c.BudgetMicros = c.Journal, k, 10_000 }
		p.restart()
		_, err := p.order(t.Context(), s.URL, "one book")
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.Zero(t, s.sent.Load())
		k.dead.Store(false)
		_, err = p.order(t.Context(), s.URL, "one book")
		require.NoError(t, err, "the budget was given back")
	})
}

func TestPurchaseKeyNeedsAJournal(t *testing.T) {
	t.Parallel()
	transport, err := agent.NewTransport(agent.Config{MaxPriceMicros: 1})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(agent.WithPurchaseKey(t.Context(), "order 1"), http.MethodGet, "https://shop.example", http.NoBody)
	require.NoError(t, err)
	resp, err := transport.RoundTrip(r)
	if resp != nil {
		defer resp.Body.Close()
	}
	require.ErrorContains(t, err, "needs Config.Journal")
}
