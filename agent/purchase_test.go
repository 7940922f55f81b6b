package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	apiclient "github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// counted is a service that counts what it is asked.
type counted struct {
	balances, presentations atomic.Int64
	balance                 apiclient.Balance
	err                     error
	params                  apiclient.PresentationParams
}

func (s *counted) Balance(context.Context, string) (apiclient.Balance, error) {
	s.balances.Add(1)
	if s.balance.Status == "" {
		return apiclient.Balance{Status: apiclient.MandateActive, MaxPerTxCents: 100, RemainingMonthlySpendCents: 1000, Rails: []apiclient.Rail{apiclient.ChainRail}}, nil
	}
	return s.balance, nil
}

func (s *counted) CreatePresentation(_ context.Context, _ string, p apiclient.PresentationParams) (apiclient.Presentation, error) {
	s.presentations.Add(1)
	s.params = p
	return apiclient.Presentation{Presentation: "presentation", ExpiresAt: time.Now().Add(5 * time.Minute)}, s.err
}

// everyWay answers 402 with every payment method, all at the same price in base units.
func everyWay(w http.ResponseWriter, r *http.Request, amount string, mandates int) {
	here := "http://" + r.Host + r.URL.Path
	request, err := mpp.EncodeJSON(mpp.ChargeRequest{
		Amount: amount, Currency: usdc, Recipient: payTo, MethodDetails: mpp.MethodDetails{ChainID: 84532, Decimals: 6},
	})
	if err != nil {
		panic(err)
	}
	challenge, err := mpp.Challenge{ID: "id-1", Realm: r.Host, Method: "evm", Intent: "charge", Request: request}.Header()
	if err != nil {
		panic(err)
	}
	two, err := x402.EncodeHeader(x402.PaymentRequired{X402Version: 2, Resource: x402.Resource{URL: here}, Accepts: []x402.Requirements{{
		Scheme: "exact", Network: x402.NetworkBaseSepolia, Amount: amount, Asset: usdc, PayTo: payTo, MaxTimeoutSeconds: 60,
	}}})
	if err != nil {
		panic(err)
	}
	body := x402.PaymentRequiredV1{X402Version: 1, Error: "pay", Accepts: []x402.RequirementsV1{{
		Scheme: "exact", Network: "base-sepolia", MaxAmountRequired: amount, Asset: usdc, PayTo: payTo, Resource: here, MaxTimeoutSeconds: 60,
	}}}
	for range mandates {
		body.PaymentMethods = append(body.PaymentMethods, x402.Method{Type: "mandate", Header: agent.HeaderMandate, Amount: amount, Currency: "usdc"})
	}
	w.Header().Set("PAYMENT-REQUIRED", two)
	w.Header().Set("WWW-Authenticate", challenge)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	_ = json.NewEncoder(w).Encode(body)
}

func TestHostileChallengeCostsOneQuestion(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) { everyWay(w, r, "10000", 500) })
	service := &counted{err: apiclient.ErrMerchantNotAllowed}
	asked := 0
	c := client(t, agent.Config{MaxPriceMicros: 10_000, Service: service, Mandate: "dtok_1", Approve: func(_ ctx, p agent.Purchase) error {
		asked++
		require.LessOrEqual(t, len(p.Offers), 64)
		return nil
	}})
	_, err := get(t, c, s.URL)
	require.ErrorIs(t, err, apiclient.ErrMerchantNotAllowed)
	require.Less(t, len(err.Error()), 4000)
	require.Equal(t, []any{1, int64(1), int64(1)}, []any{asked, service.balances.Load(), service.presentations.Load()})
}

func TestThreeWaysAreTriedAtMost(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) { everyWay(w, r, "10000", 1) })
	cfg := withWallet(t)
	cfg.Service, cfg.Mandate = &counted{}, "dtok_1"
	asked := 0
	cfg.Approve = func(ctx, agent.Purchase) error {
		asked++
		return nil
	}
	resp, err := get(t, client(t, cfg), s.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	require.Len(t, s.credentials(), 3)
	require.Equal(t, 1, asked, "one approval a request")
	for i, header := range []string{"X-Service-Mandate", "PAYMENT-SIGNATURE", "X-PAYMENT"} {
		require.NotEmpty(t, s.credentials()[i].Get(header), header)
	}
}

func TestNextWayIsTakenOnlyAfterADefiniteRefusal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter)
		sent   int
	}{
		"a signature that is refused": {func(w http.ResponseWriter) { refuseAs(w, "invalid_exact_evm_payload_signature") }, 2},
		"a settlement that is refused": {func(w http.ResponseWriter) {
			w.Header().Set("PAYMENT-RESPONSE", x402.Settlement{ErrorReason: "insufficient_funds", Network: "eip155:84532"}.Header())
			refuseAs(w, "insufficient_funds")
		}, 2},
		"a settlement that is pending":   {func(w http.ResponseWriter) { refuseAs(w, "settlement_pending") }, 1},
		"a settlement that was broken":   {func(w http.ResponseWriter) { refuseAs(w, "unexpected_settle_error") }, 1},
		"a credential that is redeemed":  {func(w http.ResponseWriter) { refuseAs(w, "already_redeemed") }, 1},
		"a settlement that was sent":     {func(w http.ResponseWriter) { settled(w, x402.Settlement{ErrorReason: "reverted", Transaction: "0x1"}) }, 1},
		"a payment that was made":        {func(w http.ResponseWriter) { settled(w, x402.Settlement{Success: true, Transaction: "0x1"}) }, 1},
		"a settlement without reason":    {func(w http.ResponseWriter) { settled(w, x402.Settlement{}) }, 1},
		"another refusal than of a 402":  {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }, 1},
		"a server that is out of order":  {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, 1},
		"a server that is busy just now": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, 1},
	} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			switch {
			case !paid:
				everyWay(w, r, "10000", 0)
			case r.Header.Get("PAYMENT-SIGNATURE") != "":
				tc.answer(w)
			default:
				_, _ = io.WriteString(w, "served")
			}
		})
		_, err := get(t, client(t, withWallet(t)), s.URL)
		if name == "a credential that is redeemed" {
			require.ErrorIs(t, err, agent.ErrAnswerLost)
		} else {
			require.NoError(t, err, name)
		}
		require.Len(t, s.credentials(), tc.sent, name)
	}
}

func settled(w http.ResponseWriter, s x402.Settlement) {
	w.Header().Set("PAYMENT-RESPONSE", s.Header())
	w.WriteHeader(http.StatusPaymentRequired)
}

func TestApprovalComesAfterEveryLimit(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			everyWay(w, r, "10000", 1)
		}
	})
	for name, change := range map[string]func(*agent.Config){
		"velocity": func(c *agent.Config) { c.VelocityLimits = []agent.VelocityLimit{{Window: time.Hour, MaxMicros: 9_999}} },
		"budget":   func(c *agent.Config) { c.BudgetMicros = 9_999 },
		"price":    func(c *agent.Config) { c.MaxPriceMicros = 9_999 },
		"mandate": func(c *agent.Config) {
			c.Wallet = nil
			c.Service = &counted{balance: apiclient.Balance{Status: apiclient.MandateRevoked}}
		},
	} {
		cfg := withWallet(t)
		cfg.Service, cfg.Mandate = &counted{}, "dtok_1"
		cfg.Approve = func(ctx, agent.Purchase) error {
			t.Errorf("%s: asked for nothing", name)
			return nil
		}
		change(&cfg)
		_, err := get(t, client(t, cfg), s.URL)
		require.Error(t, err, name)
	}
	require.Empty(t, s.credentials())
}

func TestRefusedApprovalGivesTheMoneyBack(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(http.ResponseWriter, *http.Request) {})
	cfg := withWallet(t)
	cfg.VelocityLimits = []agent.VelocityLimit{{Window: time.Hour, MaxPayments: 1}}
	cfg.BudgetMicros = 10_000
	answers := []error{errors.New("not now"), errors.New("still not"), nil}
	cfg.Approve = func(ctx, agent.Purchase) (err error) {
		err, answers = answers[0], answers[1:]
		return err
	}
	c := client(t, cfg)
	for range 2 {
		_, err := get(t, c, s.URL)
		require.ErrorIs(t, err, agent.ErrNotApproved)
	}
	_, err := get(t, c, s.URL)
	require.NoError(t, err)
}

func TestApprovalCoversNoOtherPayeeAndNoMore(t *testing.T) {
	t.Parallel()
	const other = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	for _, second := range []x402.RequirementsV1{{MaxAmountRequired: "10001", PayTo: payTo}, {MaxAmountRequired: "10000", PayTo: other}} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if paid {
				refuseAs(w, "invalid_payload")
				return
			}
			ask(discardBody{w}, r, "10000", nil)
			second.Scheme, second.Network, second.Asset, second.MaxTimeoutSeconds = "exact", "base-sepolia", usdc, 60
			_ = json.NewEncoder(w).Encode(x402.PaymentRequiredV1{X402Version: 1, Accepts: []x402.RequirementsV1{second}})
		})
		cfg := withWallet(t)
		cfg.Approve = func(_ ctx, p agent.Purchase) error {
			require.Equal(t, agent.X402, p.Method)
			return nil
		}
		_, err := get(t, client(t, cfg), s.URL)
		require.NoError(t, err)
		require.Len(t, s.credentials(), 1)
		cfg.Approve = nil
		_, err = get(t, client(t, cfg), s.URL)
		require.NoError(t, err)
		require.Len(t, s.credentials(), 3, "without approval both ways are tried")
	}
}

// discardBody takes headers and status, and no body.
type discardBody struct{ http.ResponseWriter }

func (discardBody) Write(p []byte) (int, error) { return len(p), nil }

func TestBudgetBoundsAllPaymentsTogether(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(http.ResponseWriter, *http.Request) {})
	cfg := withWallet(t)
	cfg.BudgetMicros = 29_999
	c := client(t, cfg)
	for range 2 {
		_, err := get(t, c, s.URL)
		require.NoError(t, err)
	}
	_, err := get(t, c, s.URL)
	require.ErrorIs(t, err, agent.ErrBudget)
	require.ErrorContains(t, err, "0.009999 of the agent's 0.029999 USD are left")
	require.Equal(t, 1, strings.Count(err.Error(), "USD are left"), "the reason is named once: %v", err)
	require.Contains(t, err.Error(), "x402 on eip155:", "with the offer that it is about")
	require.Len(t, s.credentials(), 2)
}

func TestWithMaxPriceLowersTheLimitOfOneRequest(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(http.ResponseWriter, *http.Request) {})
	c := client(t, withWallet(t))
	for limit, paid := range map[int64]bool{0: false, 9_999: false, 10_000: true, 1 << 40: true} {
		r, err := http.NewRequestWithContext(agent.WithMaxPrice(t.Context(), limit), http.MethodGet, s.URL, http.NoBody)
		require.NoError(t, err)
		_, err = do(t, c, r)
		require.Equal(t, paid, err == nil, limit)
	}
	s = newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) { ask(w, r, "20001", nil) })
	r, err := http.NewRequestWithContext(agent.WithMaxPrice(agent.WithMaxPrice(t.Context(), 1), 1<<40), http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	_, err = do(t, c, r)
	require.ErrorContains(t, err, "allowed 0.000001", "it never raises a limit")
}

func TestPriceIsRoundedUpToCentsAgainstTheMandate(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			everyWay(w, r, "505000", 1)
		}
	})
	for limit, paid := range map[int64]bool{50: false, 51: true} {
		for _, balance := range []apiclient.Balance{{MaxPerTxCents: limit, RemainingMonthlySpendCents: 1000}, {MaxPerTxCents: 1000, RemainingMonthlySpendCents: limit}} {
			balance.Status = apiclient.MandateActive
			service := &counted{balance: balance}
			_, err := get(t, client(t, agent.Config{MaxPriceMicros: 1_000_000, Service: service, Mandate: "dtok_1"}), s.URL)
			require.Equal(t, paid, err == nil, limit)
			require.Equal(t, !paid, errors.Is(err, agent.ErrBudget), limit)
		}
	}
}

func TestPriceIsCheckedAgainstEachLimitOfTheMandate(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			everyWay(w, r, "505000", 1)
		}
	})
	for name, limit := range map[string]func(n int64) apiclient.Limit{
		"daily": func(n int64) apiclient.Limit {
			return apiclient.Limit{LimitCents: new(int64(1000)), RemainingCents: new(50 + n)}
		},
		"velocity": func(n int64) apiclient.Limit {
			return apiclient.Limit{LimitPayments: new(int64(9)), RemainingPayments: new(n)}
		},
		"payee_limit": func(n int64) apiclient.Limit { return apiclient.Limit{LimitCents: new(50 + n)} },
	} {
		for n, allowed := range map[int64]bool{0: false, 1: true} {
			l := limit(n)
			l.Kind = apiclient.Code(name)
			service := &counted{balance: apiclient.Balance{
				Status: apiclient.MandateActive, MaxPerTxCents: 1000, RemainingMonthlySpendCents: 1000, Limits: []apiclient.Limit{l},
			}}
			_, err := get(t, client(t, agent.Config{MaxPriceMicros: 1_000_000, Service: service, Mandate: "dtok_1"}), s.URL)
			require.Equal(t, allowed, err == nil, "%s %d: %v", name, n, err)
			require.Equal(t, !allowed, errors.Is(err, agent.ErrBudget), "%s %d: %v", name, n, err)
			require.Equal(t, allowed, service.presentations.Load() == 1, name)
			require.Equal(t, limit(n).RemainingCents, l.RemainingCents, "the service's own balance is left alone")
		}
	}
}

func TestPaymentsOfAMandateCountAgainstItsLimitsAtOnce(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]apiclient.Limit{
		"daily":    {LimitCents: new(int64(1000)), RemainingCents: new(int64(101))},
		"velocity": {LimitPayments: new(int64(2)), RemainingPayments: new(int64(2))},
	} {
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
			if !paid {
				everyWay(w, r, "500000", 1)
			}
		})
		service := &counted{balance: apiclient.Balance{
			Status: apiclient.MandateActive, MaxPerTxCents: 1000, RemainingMonthlySpendCents: 1000, Limits: []apiclient.Limit{l},
		}}
		now := &movable{now: time.Now()} // stands still, so the balance is read once
		c := client(t, agent.Config{MaxPriceMicros: 1_000_000, Service: service, Mandate: "dtok_1", Clock: now.Now})
		for i, allowed := range []bool{true, true, false} {
			_, err := get(t, c, s.URL+"/"+strconv.Itoa(i))
			require.Equal(t, allowed, err == nil, "%s %d: %v", name, i, err)
		}
		require.Equal(t, int64(1), service.balances.Load(), name)
	}
}

func TestVelocityWindowEndsOnTime(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(http.ResponseWriter, *http.Request) {})
	now := &movable{now: time.Now()}
	cfg := withWallet(t)
	cfg.Clock = now.Now
	cfg.VelocityLimits = []agent.VelocityLimit{{Window: time.Minute, MaxPayments: 1}, {Window: time.Hour, MaxPayments: 2}}
	c := client(t, cfg)
	_, err := get(t, c, s.URL)
	require.NoError(t, err)
	now.advance(time.Minute - 1)
	_, err = get(t, c, s.URL)
	require.ErrorIs(t, err, agent.ErrVelocity)
	now.advance(1)
	_, err = get(t, c, s.URL)
	require.NoError(t, err, "a payment counts for the window and no longer")
	now.advance(time.Hour - time.Minute - 1)
	_, err = get(t, c, s.URL)
	require.ErrorIs(t, err, agent.ErrVelocity)
	now.advance(1)
	_, err = get(t, c, s.URL)
	require.NoError(t, err)
}

func TestBalanceIsNotReadForEachPayment(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			everyWay(w, r, "1000000", 1)
		}
	})
	service := &counted{}
	now := &movable{now: time.Now()}
	c := client(t, agent.Config{MaxPriceMicros: 1_000_000, Service: service, Mandate: "dtok_1", Clock: now.Now})
	for range 10 {
		_, err := get(t, c, s.URL)
		require.NoError(t, err)
	}
	require.Equal(t, []int64{1, 10}, []int64{service.balances.Load(), service.presentations.Load()})
	_, err := get(t, c, s.URL)
	require.ErrorIs(t, err, agent.ErrBudget, "what was presented is counted in between")
	require.Equal(t, int64(1), service.balances.Load())
	now.advance(time.Second)
	_, err = get(t, c, s.URL)
	require.NoError(t, err, "a refusal is checked against a fresh balance")
	require.Equal(t, int64(2), service.balances.Load())
	now.advance(30 * time.Second)
	_, err = get(t, c, s.URL)
	require.NoError(t, err)
	require.Equal(t, int64(3), service.balances.Load())
}
