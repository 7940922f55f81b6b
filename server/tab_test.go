package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

// byCard is a service with a card rail alone, and a merchant whose gate sells /weather.
func byCard(t *testing.T, e engine) (c caller, weather func(price string) *httptest.Server) {
	t.Helper()
	c = setup(t, &servertest.Options{
		Store: e.open, Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: shopWallet},
		Configure: func(cfg *server.Config) { cfg.RequestsPerSecond = 100_000 },
	})
	weather = func(price string) *httptest.Server {
		api := httptest.NewUnstartedServer(nil)
		gate, err := paywall.New(paywall.Config{
			Price: price, PayTo: c.Merchant.PayTo, APIURL: c.URL, TestMode: true, Resource: "http://" + api.Listener.Addr().String() + "/weather", Clock: c.Clock.Now,
		})
		require.NoError(t, err)
		api.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
		api.Start()
		t.Cleanup(api.Close)
		return api
	}
	return c, weather
}

// buy asks a gate for /weather, and pays with the mandate.
func buy(t *testing.T, api *httptest.Server, mandate string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.URL+"/weather", nil)
	require.NoError(t, err)
	req.Header.Set("X-Service-Mandate", mandate)
	resp, err := api.Client().Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// tabs returns all tabs of the merchant, once none of them is closing.
func (c caller) settledTabs(t *testing.T) (all []client.Tab) {
	t.Helper()
	require.Eventually(t, func() bool {
		all = nil
		for tab, err := range c.Client().Tabs(t.Context(), client.ListParams{}) {
			require.NoError(t, err)
			if tab.Status == client.TabClosing || tab.Status == client.TabOpening {
				return false
			}
			all = append(all, tab)
		}
		return true
	}, time.Minute, 20*time.Millisecond)
	return all
}

// TestAThousandOneCentPurchasesByCard: a mandate with a card alone buys at 0.01, 32 at once.
// Every draw is counted once, and the captures add up to the draws.
func TestAThousandOneCentPurchasesByCard(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c, weather := byCard(t, e)
			api, m := weather("0.01"), c.mandate(t, 100, 5000, "card_visa")
			const purchases, callers = 1000, 32
			var left, served atomic.Int64
			left.Store(purchases)
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if status, body := buy(t, api, m); status == http.StatusOK && body == "sunny" {
							served.Add(1)
						} else {
							t.Errorf("%d %s", status, body)
						}
					}
				})
			}
			all.Wait()
			require.EqualValues(t, purchases, served.Load())
			require.EqualValues(t, purchases, c.spentCents(t, m))
			for _, tab := range c.settledTabs(t) {
				_, err := c.Client().CloseTab(t.Context(), tab.ID)
				require.NoError(t, err)
			}
			var drawn, captured, draws int64
			for _, tab := range c.settledTabs(t) {
				require.Contains(t, []client.TabStatus{client.TabClosed, client.TabVoided}, tab.Status)
				drawn, captured, draws = drawn+tab.DrawnMicros, captured+tab.CapturedCents, draws+tab.Draws
			}
			require.Equal(t, []int64{purchases, purchases * 10_000, purchases}, []int64{draws, drawn, captured})
			stats, err := c.Client().Stats(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, purchases, stats.TransactionCount)
			require.EqualValues(t, purchases, stats.TotalVolumeCents)
			report, err := c.CheckLedger(t.Context())
			require.NoError(t, err)
			require.Empty(t, report.Faults)
			require.Equal(t, []any{purchases, ledger.Micros(0)}, []any{report.Succeeded, report.Advanced})
		})
	}
}

// TestSmallPaymentsAreCapturedWhenTheDayIsOver: and each has its events, its receipt and its
// place in the lists.
func TestSmallPaymentsAreCapturedWhenTheDayIsOver(t *testing.T) {
	t.Parallel()
	c, weather := byCard(t, onSQLite)
	hook := c.Webhook(t, webhook.PaymentAuthorized, webhook.PaymentSucceeded, webhook.PaymentWrittenOff)
	m := c.mandate(t, 100, 5000, "card_visa")
	for range 2 {
		status, body := buy(t, weather("0.254"), m)
		require.Equal(t, http.StatusOK, status, body)
	}
	page, err := c.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Len(t, page.Data, 2)
	draw := page.Data[0]
	require.Equal(t, client.Authorized, draw.Status)
	require.NotEmpty(t, draw.TabID)
	_, err = c.Client().Refund(t.Context(), draw.ID, client.RefundParams{AmountCents: 10})
	require.ErrorIs(t, err, client.ErrNotRefundable)
	_, err = c.Client().Void(t.Context(), draw.ID)
	require.ErrorIs(t, err, client.ErrAuthorizationEnded)
	require.Empty(t, c.settledTabs(t)[0].CloseReason)

	c.Clock.Advance(25 * time.Hour)
	require.Eventually(t, func() bool { return c.settledTabs(t)[0].Status == client.TabClosed }, time.Minute, 20*time.Millisecond)
	tab := c.settledTabs(t)[0]
	require.Equal(t, []any{"expired", int64(50), int64(508_000)}, []any{tab.CloseReason, tab.CapturedCents, tab.DrawnMicros})
	require.NotEmpty(t, tab.ProcessorPaymentID)
	receipt, err := c.Client().Receipt(t.Context(), draw.ID)
	require.NoError(t, err)
	require.Equal(t, []any{client.Succeeded, draw.TabID}, []any{receipt.Status, receipt.TabID})
	for _, want := range []webhook.Type{webhook.PaymentAuthorized, webhook.PaymentAuthorized, webhook.PaymentSucceeded, webhook.PaymentSucceeded} {
		require.Equal(t, want, hook.Next(t).Type)
	}
	refund, err := c.Client().Refund(t.Context(), draw.ID, client.RefundParams{AmountCents: 10})
	require.NoError(t, err)
	require.Equal(t, client.RefundSucceeded, refund.Status, refund.FailureReason)
	require.EqualValues(t, 41, c.spentCents(t, m), "rounded up")
}

// TestRevocationClosesTheTab: what was drawn is captured, and nothing more is drawn.
func TestRevocationClosesTheTab(t *testing.T) {
	t.Parallel()
	c, weather := byCard(t, onSQLite)
	api, m := weather("0.49"), c.mandate(t, 100, 5000, "card_visa")
	for range 2 {
		status, body := buy(t, api, m)
		require.Equal(t, http.StatusOK, status, body)
	}
	_, err := c.Client().Revoke(t.Context(), m)
	require.NoError(t, err)
	status, _ := buy(t, api, m)
	require.Equal(t, http.StatusPaymentRequired, status)
	require.Eventually(t, func() bool { return c.settledTabs(t)[0].Status == client.TabClosed }, time.Minute, 20*time.Millisecond)
	tab := c.settledTabs(t)[0]
	require.Equal(t, []any{"revoked", int64(98)}, []any{tab.CloseReason, tab.CapturedCents})
}

// TestCardThatRefusesIsNotServedFromATab: neither when it refuses the block, nor again after
// it refused the capture; the draws of that tab fail, and give their amounts back.
func TestCardThatRefusesIsNotServedFromATab(t *testing.T) {
	t.Parallel()
	c, weather := byCard(t, onSQLite)
	hook := c.Webhook(t, webhook.PaymentFailed)
	api := weather("0.30")
	status, body := buy(t, api, c.mandate(t, 100, 5000, "card_decline_after_setup"))
	require.Equal(t, http.StatusPaymentRequired, status)
	require.Contains(t, body, "card_declined")
	require.Equal(t, webhook.PaymentFailed, hook.Next(t).Type)

	m := c.mandate(t, 100, 5000, "card_capture_refused")
	for range 2 {
		status, body := buy(t, api, m)
		require.Equal(t, http.StatusOK, status, body)
	}
	require.EqualValues(t, 60, c.spentCents(t, m))
	_, err := c.Client().CloseTab(t.Context(), c.settledTabs(t)[0].ID)
	require.NoError(t, err)
	tab := c.settledTabs(t)[0]
	require.Equal(t, []any{client.TabFailed, client.FailureReason("card_declined"), int64(0)}, []any{tab.Status, tab.FailureReason, tab.CapturedCents})
	require.Zero(t, c.spentCents(t, m))
	for range 2 {
		require.Equal(t, webhook.PaymentFailed, hook.Next(t).Type)
	}
}

// TestTabsOfOthersAreNotFound: in lists and by id.
func TestTabsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	c, weather := byCard(t, onSQLite)
	status, body := buy(t, weather("0.05"), c.mandate(t, 100, 5000, "card_visa"))
	require.Equal(t, http.StatusOK, status, body)
	tab := c.settledTabs(t)[0]
	other := caller{Server: c.Server}
	var err error
	other.merchant, err = c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, other.do(t, "POST", fmt.Sprintf("/v1/tabs/%s/close", tab.ID), "{}").Status)
	require.Equal(t, http.StatusBadRequest, other.do(t, "GET", "/v1/tabs?starting_after="+tab.ID, "").Status)
	require.Equal(t, []any{}, other.do(t, "GET", "/v1/tabs", "").ok(t).Body["data"])
}

// TestPrivatePageHasOneLineForEachTab: with the draws behind it.
func TestPrivatePageHasOneLineForEachTab(t *testing.T) {
	t.Parallel()
	c, _ := byCard(t, onSQLite)
	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, nil)
	draw := func(cents int64) client.Charge {
		ch, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m.mandate, AmountCents: cents, Currency: client.USD, Description: "One lookup", Tab: true})
		require.NoError(t, err)
		require.Equal(t, client.Authorized, ch.Status, ch.FailureReason)
		return ch
	}
	c.charge(t, m.mandate, 250, "plain").ok(t)
	first, last := draw(40), draw(30)
	page := c.page(t, m.link).ok(t).Text
	for _, text := range []string{"2 small payments", "$0.70", "To be charged as one sum by", "One lookup", "$0.40", "October report"} {
		require.Contains(t, page, text)
	}
	require.Equal(t, 1, strings.Count(page, "<details"))
	receipt, err := c.Client().Receipt(t.Context(), last.TransactionID)
	require.NoError(t, err)
	shown := c.page(t, receipt.ReceiptURL).ok(t).Text
	require.Contains(t, shown, "$0.30")
	require.Contains(t, shown, "With other small payments, as one sum")
	require.NotContains(t, shown, "may charge up to")
	_, err = c.Client().CloseTab(t.Context(), first.TabID)
	require.NoError(t, err)
	require.Equal(t, client.TabClosed, c.settledTabs(t)[0].Status)
	page = c.page(t, m.link).ok(t).Text
	require.Contains(t, page, "2 small payments")
	require.NotContains(t, page, "To be charged")
	require.Contains(t, page, "$3.20 paid in all")
	_, err = c.Client().CloseTab(t.Context(), draw(20).TabID)
	require.NoError(t, err)
	c.settledTabs(t)
	page = c.page(t, m.link).ok(t).Text
	require.Contains(t, page, "1 small payment of $0.20<")
	require.Contains(t, page, "Charged with the next small payments")
}

// advances is a service with a bound of what it advances to a merchant.
type advances struct {
	caller

	most int64 // cents
}

func withAdvances(t *testing.T, cents int) advances {
	t.Helper()
	return advances{setup(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.MaxTabAdvanceCents = cents }}), int64(cents)}
}

func (c advances) tryDraw(t *testing.T, mandate string, cents int64) (client.Charge, error) {
	t.Helper()
	return c.Client().Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: cents, Currency: client.USD, Description: "small", Tab: true})
}

func (c advances) draw(t *testing.T, mandate string, cents int64) client.Charge {
	t.Helper()
	ch, err := c.tryDraw(t, mandate, cents)
	require.NoError(t, err)
	require.Equal(t, client.Authorized, ch.Status, ch.FailureReason)
	return ch
}

// refusesDraw draws from a mandate, and has the bound as the reason of the refusal. Nothing of it
// is in a list.
func (c advances) refusesDraw(t *testing.T, mandate string, cents int64) {
	t.Helper()
	before := c.do(t, http.MethodGet, "/v1/tabs", "").ok(t).Text
	_, err := c.tryDraw(t, mandate, cents)
	require.ErrorIs(t, err, client.ErrMerchantLimit)
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, &c.most, e.LimitCents)
	now := c.Clock.Now().UTC()
	require.Equal(t, time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC), e.RenewsAt)
	require.Contains(t, e.Message, "advances at most $")
	require.Equal(t, before, c.do(t, http.MethodGet, "/v1/tabs", "").ok(t).Text)
}

// TestMerchantCannotLiveOnAdvances: a merchant whose small payments no card pays gets no more
// of them in this month, until earlier ones were captured.
func TestMerchantCannotLiveOnAdvances(t *testing.T) {
	t.Parallel()
	c := withAdvances(t, 100)
	first := c.mandate(t, 100, 5000, "card_visa")
	for _, m := range []string{first, c.mandate(t, 100, 5000, "card_visa")} {
		_, err := c.Client().CloseTab(t.Context(), c.draw(t, m, 45).TabID)
		require.NoError(t, err)
		c.settledTabs(t)
	}
	c.refusesDraw(t, c.mandate(t, 100, 5000, "card_visa"), 45)
	_, err := c.Client().CloseTab(t.Context(), c.draw(t, first, 45).TabID) // it takes the advance over
	require.NoError(t, err)
	require.EqualValues(t, 90, c.settledTabs(t)[0].CapturedCents)
	c.draw(t, c.mandate(t, 100, 5000, "card_visa"), 45)
}

// TestOpenTabsCountTowardTheAdvances: tabs that were opened with a cent each could otherwise
// all reach 49 cents.
func TestOpenTabsCountTowardTheAdvances(t *testing.T) {
	t.Parallel()
	c := withAdvances(t, 100)
	for range 2 {
		c.draw(t, c.mandate(t, 100, 5000, "card_visa"), 1)
	}
	c.refusesDraw(t, c.mandate(t, 100, 5000, "card_visa"), 1)
}

// TestSmallAdvanceDoesNotPassTheBound: a tab that takes over a few cents can be written off too.
func TestSmallAdvanceDoesNotPassTheBound(t *testing.T) {
	t.Parallel()
	c := withAdvances(t, 100)
	first := c.mandate(t, 100, 5000, "card_visa")
	_, err := c.Client().CloseTab(t.Context(), c.draw(t, first, 1).TabID)
	require.NoError(t, err)
	c.settledTabs(t)
	second := c.mandate(t, 100, 5000, "card_visa")
	_, err = c.Client().CloseTab(t.Context(), c.draw(t, second, 49).TabID)
	require.NoError(t, err)
	c.settledTabs(t)
	c.draw(t, c.mandate(t, 100, 5000, "card_visa"), 1)
	c.refusesDraw(t, first, 1) // it owes a cent
}

// TestAdvancesOfEarlierMonthsLockNobodyOut: mandates that have ended never pay theirs back.
func TestAdvancesOfEarlierMonthsLockNobodyOut(t *testing.T) {
	t.Parallel()
	c := withAdvances(t, 60)
	ended := c.mandate(t, 100, 5000, "card_visa")
	c.draw(t, ended, 49)
	_, err := c.Client().Revoke(t.Context(), ended)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.settledTabs(t)[0].Status == client.TabVoided }, time.Minute, 20*time.Millisecond)
	c.refusesDraw(t, c.mandate(t, 100, 5000, "card_visa"), 5)
	c.Clock.Advance(32 * 24 * time.Hour)
	c.draw(t, c.mandate(t, 100, 5000, "card_visa"), 5)
}

// TestClosingTabIsOwedAtOnce: a payee that closes each tab before it reaches 50 cents, and draws
// again while the card is asked, is advanced no more than one sum below 50 cents.
func TestClosingTabIsOwedAtOnce(t *testing.T) {
	t.Parallel()
	c := withAdvances(t, 10_000)
	m := c.mandate(t, 100, 5000, "card_visa")
	for range 6 {
		_, err := c.Client().CloseTab(t.Context(), c.draw(t, m, 45).TabID)
		require.NoError(t, err)
	}
	c.settledTabs(t)
	report, err := c.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Empty(t, report.Faults)
	require.Zero(t, report.Advanced, "each second tab was captured with the one before it")
}
