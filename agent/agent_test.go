package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	apiclient "github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server/servertest"
)

func TestMandatePaysOnceAndIsNeverShown(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	cfg := s.config()
	c := client(t, cfg)
	resp, err := get(t, c, s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, resp.text)
	require.Equal(t, "sunny", resp.text)
	r, ok := agent.ReceiptFrom(resp.Response)
	require.True(t, ok)
	require.Equal(t, []any{agent.Mandate, int64(500_000), payTo, "card"}, []any{r.Method, r.AmountMicros, r.PayTo, r.Network})
	require.NotEmpty(t, r.Transaction)
	require.True(t, strings.HasPrefix(r.Payer, "del_"), r.Payer)

	tokens := s.sent("X-Service-Mandate")
	require.Len(t, tokens, 1)
	require.NotEqual(t, cfg.Mandate, tokens[0])
	require.Empty(t, resp.Request.Header.Get("X-Service-Mandate"), "the credential is not in what callers see")
	require.Equal(t, int64(1), s.charges())

	resp, err = get(t, c, s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, int64(2), s.charges(), "a purchase of its own")
}

func TestBareMandateGoesOnlyWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	cfg := s.config()
	cfg.Mandate = s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	at := strings.TrimSuffix(s.url, "/weather")
	cfg.BareMandateTo = map[string]string{at: payTo}
	resp, err := get(t, client(t, cfg), s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, resp.text)
	require.Equal(t, []string{cfg.Mandate}, s.sent("X-Service-Mandate"))
	require.Len(t, s.sent("Idempotency-Key"), 1, "so that a retry is safe")

	cfg.BareMandateTo = map[string]string{at: "0x857b06519E91e3A54538791bDbb0E22373e36b66"}
	resp, err = get(t, client(t, cfg), s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NotEqual(t, cfg.Mandate, s.sent("X-Service-Mandate")[1], "another payee than the one named")
}

func TestLimitsStopAPaymentBeforeItIsMade(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	revoked := s.mandate(500, 5000)
	_, err := s.service.Client().Revoke(t.Context(), revoked)
	require.NoError(t, err)
	refusal := errors.New("not today")
	for name, tc := range map[string]struct {
		change func(*agent.Config)
		want   error
	}{
		"price":    {func(c *agent.Config) { c.MaxPriceMicros = 499_999 }, agent.ErrTooExpensive},
		"per tx":   {func(c *agent.Config) { c.Mandate = s.mandate(49, 5000) }, agent.ErrBudget},
		"month":    {func(c *agent.Config) { c.Mandate = s.mandate(49, 49) }, agent.ErrBudget},
		"revoked":  {func(c *agent.Config) { c.Mandate = revoked }, agent.ErrBudget},
		"approval": {func(c *agent.Config) { c.Approve = func(context.Context, agent.Purchase) error { return refusal } }, refusal},
		"velocity": {func(c *agent.Config) {
			c.VelocityLimits = []agent.VelocityLimit{{Window: time.Hour, MaxMicros: 499_999}}
		}, agent.ErrVelocity},
		"ways":     {func(c *agent.Config) { c.Methods = []agent.Method{agent.X402} }, agent.ErrNoMethod},
		"no means": {func(c *agent.Config) { c.Service, c.Mandate = nil, "" }, agent.ErrNoMethod},
	} {
		cfg := s.config()
		tc.change(&cfg)
		_, err := get(t, client(t, cfg), s.url)
		require.ErrorIs(t, err, tc.want, name)
		var e *agent.PaymentError
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, s.url, e.URL)
		require.NotEmpty(t, e.Offers, name)
	}
	require.Empty(t, s.sent("X-Service-Mandate"))
	require.Zero(t, s.charges())
}

func TestMonthIsCheckedAgainstWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	cfg := s.config()
	cfg.Mandate = s.mandate(60, 99)
	c := client(t, cfg)
	_, err := get(t, c, s.url)
	require.NoError(t, err)
	_, err = get(t, c, s.url)
	require.ErrorIs(t, err, agent.ErrBudget)
	require.Equal(t, int64(1), s.charges())
}

func TestCardPaysOneCentFromATab(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.01", nil)
	resp, err := get(t, client(t, s.config()), s.url)
	require.NoError(t, err)
	r, ok := agent.ReceiptFrom(resp.Response)
	require.True(t, ok)
	require.Equal(t, []any{agent.Mandate, int64(10_000), "card"}, []any{r.Method, r.AmountMicros, r.Network})
	require.Regexp(t, "^txn_", r.Transaction)
}

func TestApprovalIsAskedAboveAThreshold(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", func(c *paywall.Config) {
		c.Discovery = &paywall.Discovery{Description: "The weather now", Output: paywall.Output{Schema: map[string]any{"type": "object"}}}
	})
	cfg := s.config()
	var asked []agent.Purchase
	cfg.ApproveAboveMicros = 499_999
	cfg.Approve = func(_ context.Context, p agent.Purchase) error {
		asked = append(asked, p)
		return nil
	}
	_, err := get(t, client(t, cfg), s.url+"?q=secret")
	require.NoError(t, err)
	require.Len(t, asked, 1)
	p := asked[0]
	require.Equal(t, []any{agent.Mandate, "0.50", s.url, "GET", "The weather now"}, []any{p.Method, p.Price(), p.URL, p.HTTPMethod, p.Description})
	require.Len(t, p.Offers, 4, "mandate, x402 v2, v1 and MPP")

	cfg.ApproveAboveMicros = 500_000
	_, err = get(t, client(t, cfg), s.url)
	require.NoError(t, err)
	require.Len(t, asked, 1)
}

func TestVelocityHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	cfg := s.config()
	cfg.Clock = s.service.Clock.Now
	cfg.VelocityLimits = []agent.VelocityLimit{{Window: time.Minute, MaxPayments: 3}, {Window: time.Hour, MaxMicros: 2_000_000}}
	c := client(t, cfg)
	var all sync.WaitGroup
	errs := make(chan error, 10)
	for range 10 {
		all.Go(func() {
			_, err := get(t, c, s.url)
			errs <- err
		})
	}
	all.Wait()
	refused := 0
	for range 10 {
		if err := <-errs; err != nil {
			require.ErrorIs(t, err, agent.ErrVelocity)
			refused++
		}
	}
	require.Equal(t, 7, refused)
	s.service.Clock.Advance(2 * time.Minute)
	_, err := get(t, c, s.url)
	require.NoError(t, err)
	_, err = get(t, c, s.url)
	require.ErrorIs(t, err, agent.ErrVelocity, "the hour")
	require.Equal(t, int64(4), s.charges())
}

func TestPaymentsThatWereNotMadeDoNotCount(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	cfg := s.config()
	cfg.Service = down{}
	cfg.Wallet = newWallet(t)
	cfg.Methods = []agent.Method{agent.Mandate}
	cfg.VelocityLimits = []agent.VelocityLimit{{Window: time.Hour, MaxPayments: 1}}
	c := client(t, cfg)
	for range 3 {
		_, err := get(t, c, s.url)
		require.ErrorIs(t, err, apiclient.ErrUnavailable)
	}
}

// down is a service that has balances and makes no presentation.
type down struct{}

func (down) Balance(context.Context, string) (apiclient.Balance, error) {
	return apiclient.Balance{Status: apiclient.MandateActive, MaxPerTxCents: 500, RemainingMonthlySpendCents: 500}, nil
}

func (down) CreatePresentation(context.Context, string, apiclient.PresentationParams) (apiclient.Presentation, error) {
	return apiclient.Presentation{}, apiclient.ErrUnavailable
}

func TestWalletPaysInEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, way := range []agent.Method{agent.X402, agent.X402V1, agent.MPP} {
		url, moved := facilitator(t)
		s := sell(t, "0.01", func(c *paywall.Config) { c.Facilitator, c.ExternalFacilitator, c.Clock = url, url, nil })
		w := newWallet(t)
		c := client(t, agent.Config{MaxPriceMicros: 10_000, Wallet: w, Methods: []agent.Method{way}})
		resp, err := get(t, c, s.url)
		require.NoError(t, err, way)
		require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", way, resp.text)
		r, ok := agent.ReceiptFrom(resp.Response)
		require.True(t, ok, way)
		require.Equal(t, way, r.Method)
		require.Equal(t, fmt.Sprintf("0x%064x", 1), r.Transaction, way)
		require.Equal(t, int64(1), moved.Load(), way)
		if way != agent.MPP {
			require.Equal(t, w.Address(), r.Payer)
		}
	}
}

func TestWalletStandsInWhereTheMandateCannotPay(t *testing.T) {
	t.Parallel()
	url, moved := facilitator(t)
	s := sell(t, "0.02", func(c *paywall.Config) { c.Facilitator, c.ExternalFacilitator, c.Clock = url, url, nil })
	cfg := s.config()
	cfg.Wallet, cfg.Mandate = newWallet(t), s.mandate(1, 5000)
	resp, err := get(t, client(t, cfg), s.url)
	require.NoError(t, err)
	r, ok := agent.ReceiptFrom(resp.Response)
	require.True(t, ok)
	require.Equal(t, agent.X402, r.Method)
	require.Equal(t, int64(1), moved.Load())
}

func TestMPPStandsAsideWhereTheApplicationNeedsAuthorization(t *testing.T) {
	t.Parallel()
	url, _ := facilitator(t)
	s := sell(t, "0.01", func(c *paywall.Config) { c.Facilitator, c.Clock = url, nil })
	c := client(t, agent.Config{MaxPriceMicros: 10_000, Wallet: newWallet(t), Methods: []agent.Method{agent.MPP}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer mine")
	resp, err := do(t, c, r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, resp.text)
	require.Equal(t, []string{"Bearer mine", "Bearer mine"}, s.sent("Authorization"))
	require.Len(t, s.sent("Payment-Authorization"), 1)
}

func TestBundleIsUsedFirst(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", func(c *paywall.Config) {
		c.CreditBundle = &paywall.CreditBundle{
			PurchaseURL: "https://api.example.com/bundles", BalanceURL: "https://api.example.com/bundles/balance",
			Tiers: []paywall.Tier{{Name: "small", USDCents: 500, Requests: 10}},
			ValidateAndDeduct: func(_ context.Context, token string) (paywall.BundleResult, error) {
				return paywall.BundleResult{Valid: token == "bundle-1", CreditsRemaining: 9}, nil
			},
		}
	})
	cfg := s.config()
	cfg.BundleTokens = map[string]string{strings.TrimSuffix(s.url, "/weather"): "bundle-1"}
	asked := 0
	cfg.Approve = func(context.Context, agent.Purchase) error {
		asked++
		return nil
	}
	resp, err := get(t, client(t, cfg), s.url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, resp.text)
	r, ok := agent.ReceiptFrom(resp.Response)
	require.True(t, ok)
	require.Equal(t, []any{agent.Bundle, int64(9), int64(0)}, []any{r.Method, r.CreditsRemaining, r.AmountMicros})
	require.Equal(t, 1, asked)
	require.Empty(t, s.sent("X-Service-Mandate"))
	require.Zero(t, s.charges())
}

func TestBodiesAreSentAgain(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	c := client(t, s.config())
	post := func(body io.Reader) (reply, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, body)
		require.NoError(t, err)
		return do(t, c, r)
	}
	resp, err := post(strings.NewReader(" in Oslo"))
	require.NoError(t, err)
	require.Equal(t, "sunny in Oslo", resp.text)
	resp, err = post(io.MultiReader(strings.NewReader(" in Rome"))) // no GetBody
	require.NoError(t, err)
	require.Equal(t, "sunny in Rome", resp.text)
	gate := s.api.Config.Handler
	s.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // unread, it could cut off the answer
		gate.ServeHTTP(w, r)
	})
	_, err = post(io.MultiReader(bytes.NewReader(make([]byte, agent.MaxBody+1))))
	require.ErrorIs(t, err, agent.ErrBodyTooLarge)
	require.Equal(t, int64(2), s.charges())
	resp, err = post(bytes.NewReader(make([]byte, 2*agent.MaxBody)))
	require.NoError(t, err, "GetBody gives it again, whatever its size")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

func TestFreeAnswersPassThrough(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	s.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/402" {
			w.WriteHeader(http.StatusPaymentRequired)
			_, _ = io.WriteString(w, "call our sales department")
			return
		}
		_, _ = fmt.Fprintf(w, "%d bytes", len(body))
	})
	c := client(t, s.config())
	resp, err := get(t, c, s.api.URL+"/402")
	require.NoError(t, err)
	require.Equal(t, []any{http.StatusPaymentRequired, "call our sales department"}, []any{resp.StatusCode, resp.text})
	_, ok := agent.ReceiptFrom(resp.Response)
	require.False(t, ok)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api.URL, bytes.NewReader(make([]byte, 3<<20)))
	require.NoError(t, err)
	resp, err = do(t, c, r)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d bytes", 3<<20), resp.text, "a large body is sent, once")
	_, ok = agent.ReceiptFrom(nil)
	require.False(t, ok)
}

func TestAnswersStream(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	goOn := make(chan struct{})
	s.handler = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = io.WriteString(w, "data: 2\n\n")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	require.NoError(t, err)
	resp, err := client(t, s.config()).Do(r)
	require.NoError(t, err)
	first := make([]byte, 9)
	_, err = io.ReadFull(resp.Body, first)
	require.NoError(t, err)
	require.Equal(t, "data: 1\n\n", string(first))
	close(goOn)
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "data: 2\n\n", string(rest))
	require.NoError(t, resp.Body.Close())
}

func TestNoSecretIsPrintedOrLogged(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	var log bytes.Buffer
	cfg := s.config()
	cfg.BundleTokens = map[string]string{"https://api.example.com": "canary-bundle"}
	cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, err := get(t, client(t, cfg), s.url+"?token=canary-query")
	require.NoError(t, err)
	cfg.MaxPriceMicros = 1
	_, err = get(t, client(t, cfg), s.url)
	require.Error(t, err)
	cfg.Logger.Info("config", slog.Any("config", cfg))
	for _, text := range []string{log.String(), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg), err.Error()} {
		require.NotEmpty(t, text)
		require.NotContains(t, text, "dtok_")
		require.NotContains(t, text, "canary")
	}
	require.Contains(t, log.String(), "agent: paid")
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	good := agent.Config{MaxPriceMicros: 1}
	_, err := agent.New(good)
	require.NoError(t, err)
	for field, change := range map[string]func(*agent.Config){
		"MaxPriceMicros":    func(c *agent.Config) { c.MaxPriceMicros = 0 },
		"Token, Mandate":    func(c *agent.Config) { c.Mandate = "dtok_x" },
		"ServiceURL, Token": func(c *agent.Config) { c.Mandate, c.Token = "dtok_x", "token_x" },
		"Token: cannot": func(c *agent.Config) {
			c.Mandate, c.Token, c.ServiceURL, c.Service = "dtok_x", "token_x", "https://pay.example", down{}
		},
		"Mandate":            func(c *agent.Config) { c.Mandate, c.Service = "dtok_\r\nX: y", down{} },
		"Methods":            func(c *agent.Config) { c.Methods = []agent.Method{"cash"} },
		"VelocityLimits[0]":  func(c *agent.Config) { c.VelocityLimits = []agent.VelocityLimit{{MaxMicros: 1}} },
		"BundleTokens":       func(c *agent.Config) { c.BundleTokens = map[string]string{"https://a.example/path": "x"} },
		"BareMandateTo":      func(c *agent.Config) { c.BareMandateTo = map[string]string{"https://a.example": payTo} },
		"BudgetMicros":       func(c *agent.Config) { c.BudgetMicros = -1 },
		"ApproveAboveMicros": func(c *agent.Config) { c.ApproveAboveMicros = -1 },
	} {
		c := good
		change(&c)
		_, err := agent.New(c)
		require.ErrorContains(t, err, "agent: "+field)
		_, err = agent.NewTransport(c)
		require.ErrorContains(t, err, "agent: "+field)
	}
}
