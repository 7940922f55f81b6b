package paywall_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
)

// shop is an API behind a gate that settles at the real service, all over HTTP.
type shop struct {
	t       *testing.T
	service *servertest.Server
	url     string
	line    *line
	served  atomic.Int64
	status  atomic.Int64 // what the handler answers
}

// line is the connection between gate and service.
type line struct {
	http.RoundTripper
	down  atomic.Bool // no connection is accepted
	lost  atomic.Bool // the next settlement is made and its answer lost
	still atomic.Bool // no response is sent
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	if l.still.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Path == "/v1/paywall/settle" && l.lost.CompareAndSwap(true, false) {
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// open starts service and shop. The shop is the service's own merchant, unless
// to is another wallet.
func open(t *testing.T, price, to string, change func(*paywall.Config)) *shop {
	t.Helper()
	s := &shop{t: t, service: servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: payTo}})}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	s.line = &line{RoundTripper: transport}
	s.status.Store(http.StatusOK)
	api := httptest.NewUnstartedServer(nil)
	s.url = "http://" + api.Listener.Addr().String() + "/report"
	cfg := paywall.Config{
		Price: price, PayTo: to, APIURL: s.service.URL, TestMode: true, Resource: s.url, Secrets: []string{secret},
		HTTPClient: &http.Client{Transport: s.line}, Clock: s.service.Clock.Now,
	}
	if change != nil {
		change(&cfg)
	}
	gate, err := paywall.New(cfg)
	require.NoError(t, err)
	api.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := paywall.PaymentFrom(r.Context())
		w.Header().Set("X-Payer", p.Payer)
		w.WriteHeader(int(s.status.Load()))
		_, _ = io.WriteString(w, "the report")
		if s.status.Load() == http.StatusOK {
			s.served.Add(1)
		}
	}))
	api.Start()
	t.Cleanup(api.Close)
	return s
}

type reply struct {
	status int
	header http.Header
	text   string
	code   string // of a refusal
}

// get asks for the report; headers are pairs of name and value.
func (s *shop) get(headers ...string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url, http.NoBody)
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	var refusal struct{ Code string }
	if resp.StatusCode >= http.StatusBadRequest {
		require.NoError(s.t, json.Unmarshal(data, &refusal), string(data))
	}
	return reply{resp.StatusCode, resp.Header, string(data), refusal.Code}
}

func (s *shop) mandate(allowed ...string) string {
	return s.service.Mandate(s.t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: allowed})
}

// charges is how many charges succeeded, by the service's own books.
func (s *shop) charges() int64 {
	s.t.Helper()
	stats, err := s.service.Client().Stats(s.t.Context())
	require.NoError(s.t, err)
	return stats.TransactionCount
}

func TestRealServiceMandatePaysByCard(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	asked := s.get()
	require.Equal(t, http.StatusPaymentRequired, asked.status)
	require.Equal(t, "payment_required", asked.code)
	m := s.mandate()
	got := s.get("X-Service-Mandate", m)
	require.Equal(t, http.StatusOK, got.status, got.text)
	require.Equal(t, "the report", got.text)
	paid, err := x402.DecodeSettlement(got.header.Get("X-PAYMENT-RESPONSE"))
	require.NoError(t, err)
	require.True(t, paid.Success)
	require.Equal(t, "card", paid.Network)
	require.NotEmpty(t, paid.Transaction)
	require.Equal(t, got.header.Get("X-Payer"), paid.Payer)
	balance, err := s.service.Client().Balance(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, balance.MandateID, paid.Payer)
	require.Equal(t, int64(50), balance.CurrentMonthlySpendCents)

	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m).status, "each bare mandate is a purchase of its own")
	require.Equal(t, int64(2), s.charges())
}

func TestRealServiceCardPaysSmallPricesFromATab(t *testing.T) {
	t.Parallel()
	s := open(t, "0.499999", payTo, nil)
	m := s.mandate()
	for range 2 {
		got := s.get("X-Service-Mandate", m)
		require.Equal(t, http.StatusOK, got.status, got.text)
		paid, err := x402.DecodeSettlement(got.header.Get("X-PAYMENT-RESPONSE"))
		require.NoError(t, err)
		require.Equal(t, "card", paid.Network)
		require.Regexp(t, "^txn_", paid.Transaction)
	}
	require.Zero(t, s.charges(), "captured later, as one sum")
}

func TestRealServiceCardCannotHoldLessThanFiftyCents(t *testing.T) {
	t.Parallel()
	s := open(t, "0.01", payTo, nil)
	got := s.get("X-Service-Mandate", s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 10, MaxMonthlySpendCents: 49}))
	require.Equal(t, http.StatusPaymentRequired, got.status)
	require.Equal(t, "monthly", got.code)
	require.Contains(t, got.text, "For small payments a card holds $0.50 or more, and the mandate's limit of $0.49 a month leaves $0.49.")
	require.NotContains(t, got.text, "renewsAt", "it never leaves enough")
	require.NotEmpty(t, got.header.Get("PAYMENT-REQUIRED"), "with a fresh challenge")
	require.NotEmpty(t, got.header.Get("WWW-Authenticate"))
	require.Zero(t, s.charges())
}

func TestRealServiceRefusesBareWildcardAtAStrangers(t *testing.T) {
	t.Parallel()
	const stranger = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	s := open(t, "0.50", stranger, nil)
	anyone := s.mandate("*")
	got := s.get("X-Service-Mandate", anyone)
	require.Equal(t, []any{http.StatusPaymentRequired, "merchant_not_allowed"}, []any{got.status, got.code}, "a wallet that is no merchant's")

	_, err := s.service.CreateMerchant(t.Context(), server.MerchantParams{Name: "Stranger", PayTo: stranger})
	require.NoError(t, err)
	got = s.get("X-Service-Mandate", anyone)
	require.Equal(t, []any{http.StatusPaymentRequired, "merchant_not_allowed"}, []any{got.status, got.code}, "a merchant that it does not name")
	got = s.get("X-Service-Mandate", s.mandate())
	require.Equal(t, []any{http.StatusPaymentRequired, "merchant_not_allowed"}, []any{got.status, got.code}, "a mandate for somebody else")
	require.Zero(t, s.served.Load())
}

func TestRealServiceRefusalsCarryTheirCode(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	ctx, c := t.Context(), s.service.Client()
	refused := func(code, mandate string) {
		t.Helper()
		got := s.get("X-Service-Mandate", mandate)
		require.Equal(t, []any{http.StatusPaymentRequired, code}, []any{got.status, got.code}, got.text)
		require.NotEmpty(t, got.header.Get("PAYMENT-REQUIRED"))
	}
	revoked := s.mandate()
	_, err := c.Revoke(ctx, revoked)
	require.NoError(t, err)
	refused("mandate_revoked", revoked)
	refused("per_tx", s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 49, MaxMonthlySpendCents: 5000}))
	month := s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 60, MaxMonthlySpendCents: 99})
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", month).status)
	refused("monthly", month)
	for code, limits := range map[string]client.FurtherLimits{
		"daily": {MaxDailySpendCents: 99}, "total": {MaxTotalSpendCents: 99}, "velocity": {MaxPaymentsPerDay: 1}, "payee_limit": {MaxMonthlyPerPayeeCents: 99},
	} {
		further := s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 60, MaxMonthlySpendCents: 5000, FurtherLimits: limits})
		require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", further).status)
		refused(code, further)
		got := s.get("X-Service-Mandate", further)
		require.Equal(t, code != "velocity", strings.Contains(got.text, `"limitCents":99,"remainingCents":49`), got.text)
		require.Equal(t, code == "velocity", strings.Contains(got.text, `"limitPayments":1`), got.text)
		require.Equal(t, code != "total", strings.Contains(got.text, `"renewsAt":"20`), got.text)
	}
	refused("card_declined", s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 60, MaxMonthlySpendCents: 99, PaymentMethods: []string{"card_decline_after_setup"}}))
	short := s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, ExpiresAt: s.service.Clock.Now().Add(2 * time.Hour)})
	s.service.Clock.Advance(3 * time.Hour)
	refused("mandate_expired", short)
	require.Equal(t, int64(5), s.charges())
	require.Equal(t, int64(5), s.served.Load())
}

func TestRealServiceDownLetsNobodyThrough(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, func(c *paywall.Config) { c.CallTimeout = shortTimeout })
	m := s.mandate()
	keyed := []string{"X-Service-Mandate", m, "Idempotency-Key", "first"}
	unpaid := func(status int) reply {
		t.Helper()
		got := s.get(keyed...)
		require.Equal(t, status, got.status, got.text)
		require.NotContains(t, got.text, "the report")
		wait, err := strconv.Atoi(got.header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, wait)
		require.Empty(t, got.header.Get("PAYMENT-REQUIRED"), "no invitation to pay anew")
		return got
	}
	s.line.down.Store(true)
	first := unpaid(http.StatusBadGateway) // the keys of the service are not even known
	wait, err := time.ParseDuration(first.header.Get("Retry-After") + "s")
	require.NoError(t, err)
	s.line.down.Store(false)
	s.service.Clock.Advance(wait)
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m).status)

	s.line.down.Store(true)
	require.Equal(t, "first", unpaid(http.StatusBadGateway).header.Get("Idempotency-Key"))
	s.line.down.Store(false)
	s.line.still.Store(true)
	unpaid(http.StatusGatewayTimeout)
	s.line.still.Store(false)
	s.line.lost.Store(true)
	unpaid(http.StatusBadGateway)
	require.Equal(t, int64(2), s.charges(), "the last one was made, and its answer lost")

	got := s.get(keyed...)
	require.Equal(t, http.StatusOK, got.status, got.text)
	require.Equal(t, "the report", got.text)
	require.Equal(t, int64(2), s.charges(), "found, not paid again")
	require.Equal(t, int64(2), s.served.Load())
}

func TestRealServiceLostAnswerOfAKeylessMandateIsTakenUp(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	m := s.mandate()
	s.line.lost.Store(true)
	require.Equal(t, http.StatusBadGateway, s.get("X-Service-Mandate", m).status)
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m).status)
	require.Equal(t, int64(1), s.charges())
}

func TestRealServiceIdempotencyKeyIsServedOnce(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	m := s.mandate()
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m, "Idempotency-Key", "a").status)
	again := s.get("X-Service-Mandate", m, "Idempotency-Key", "a")
	require.Equal(t, "already_redeemed", again.code)
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m, "Idempotency-Key", "b").status)
	other := s.get("X-Service-Mandate", s.mandate(), "Idempotency-Key", "a")
	require.Equal(t, http.StatusOK, other.status, "keys of two mandates are two")
	require.Equal(t, int64(3), s.charges())
	require.Equal(t, int64(3), s.served.Load())
}

// A gate that forgot everything, restarted or another instance, asks the service,
// which says that this was settled before.
func TestRealServiceKnowsWhatTheGateForgot(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, func(c *paywall.Config) { c.Redemptions = forgetful{} })
	m := s.mandate()
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m, "Idempotency-Key", "a").status)
	require.Equal(t, "already_redeemed", s.get("X-Service-Mandate", m, "Idempotency-Key", "a").code)
	require.Equal(t, int64(1), s.charges())
}

// forgetful remembers nothing.
type forgetful struct{}

func (forgetful) Peek(context.Context, paywall.Claim) (paywall.Claimed, error) {
	return paywall.Claimed{State: paywall.ClaimFresh}, nil
}

func (forgetful) Claim(context.Context, paywall.Claim) (paywall.Claimed, error) {
	return paywall.Claimed{State: paywall.ClaimFresh}, nil
}
func (forgetful) Settled(context.Context, string, paywall.Payment) error { return nil }
func (forgetful) Finish(context.Context, string, paywall.End) error      { return nil }
func (forgetful) Unfinished(context.Context, string) (string, error)     { return "", nil }

func TestRealServiceFailedHandlerIsOpenedOnceMore(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	m := s.mandate()
	s.status.Store(http.StatusInternalServerError)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Service-Mandate", m)
	r.Header.Set("Idempotency-Key", "a")
	for range 2 {
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	s.status.Store(http.StatusOK)
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", m, "Idempotency-Key", "a").status)
	require.Equal(t, "already_redeemed", s.get("X-Service-Mandate", m, "Idempotency-Key", "a").code)
	require.Equal(t, int64(1), s.charges())
	require.Equal(t, int64(1), s.served.Load())
}

func TestRealServiceHundredAtOnceAreOneCharge(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	m := s.mandate()
	start := make(chan struct{})
	codes := make(chan reply, 100)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			<-start
			codes <- s.get("X-Service-Mandate", m, "Idempotency-Key", "one")
		})
	}
	close(start)
	all.Wait()
	close(codes)
	seen := map[int]int{}
	for r := range codes {
		seen[r.status]++
		if r.status != http.StatusOK {
			require.Contains(t, []string{"credential_in_use", "already_redeemed"}, r.code)
		}
	}
	require.Equal(t, 1, seen[http.StatusOK], "%v", seen)
	require.Equal(t, int64(1), s.served.Load())
	require.Equal(t, int64(1), s.charges())
}

// The processor moved the money and said nothing: the gate serves nothing until
// the service has found out, and then without a second charge.
func TestRealServicePendingSettlementIsServedOnceItIsKnown(t *testing.T) {
	t.Parallel()
	s := open(t, "0.50", payTo, nil)
	m := s.service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, PaymentMethods: []string{"card_lost_answer"}})
	keyed := []string{"X-Service-Mandate", m, "Idempotency-Key", "a"}
	got := s.get(keyed...)
	require.Equal(t, []any{http.StatusGatewayTimeout, "settlement_pending"}, []any{got.status, got.code}, got.text)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.Zero(t, s.served.Load())
	require.Eventually(t, func() bool {
		s.service.Clock.Advance(time.Minute)
		got = s.get(keyed...)
		return got.status != http.StatusGatewayTimeout
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, http.StatusOK, got.status, got.text)
	require.Equal(t, int64(1), s.charges())
}
