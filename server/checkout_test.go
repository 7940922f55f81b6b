package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
)

func (c caller) checkout(t *testing.T, cents int64, key string) client.Checkout {
	t.Helper()
	made, err := c.Client().CreateCheckout(t.Context(), client.CheckoutParams{
		AmountCents: cents, Description: "1,000 requests", ReturnURL: "https://shop.example/back?order=1", IdempotencyKey: key,
	})
	require.NoError(t, err)
	return made
}

// form sends the form of a page as a browser does, and follows to the next page.
func (c caller) form(t *testing.T, page string, values url.Values) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(values.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	if resp.StatusCode == http.StatusSeeOther {
		a := c.do(t, "GET", strings.TrimPrefix(resp.Header.Get("Location"), c.URL), "")
		return a.Status, a.Text
	}
	a := c.do(t, "GET", strings.TrimPrefix(page, c.URL), "")
	return resp.StatusCode, a.Text
}

func TestCheckoutIsPaidByCard(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			made := c.checkout(t, 500, "order 1")
			require.Regexp(t, "^chk_[0-9A-Z]{26}$", made.ID)
			require.Equal(t, client.CheckoutOpen, made.Status)
			require.Equal(t, made, c.checkout(t, 500, "order 1"), "the same key is the same checkout")
			require.NotEqual(t, made.ID, c.checkout(t, 500, "order 2").ID)
			body := `{"amountCents":501,"description":"1,000 requests","idempotencyKey":"order 1"}`
			c.do(t, "POST", "/v1/checkouts", body).refused(t, 422, "idempotency_mismatch")

			page := c.do(t, "GET", strings.TrimPrefix(made.URL, c.URL), "")
			require.Equal(t, 200, page.Status)
			for _, shown := range []string{"Pay Acme", "$5", "1,000 requests", "A spending mandate"} {
				require.Contains(t, page.Text, shown)
			}
			for range 3 { // sent again and again
				_, text := c.form(t, made.URL, url.Values{"method": {"card_visa"}})
				require.Contains(t, text, "You paid Acme")
				require.Contains(t, text, "https://shop.example/back?order=1")
			}
			paid, err := c.Client().Checkout(t.Context(), made.ID)
			require.NoError(t, err)
			require.Equal(t, client.CheckoutPaid, paid.Status)
			require.Equal(t, paid, c.checkout(t, 500, "order 1"))
			receipt, err := c.Client().Receipt(t.Context(), paid.TransactionID)
			require.NoError(t, err)
			require.EqualValues(t, 500, receipt.AmountCents)
			c.sound(t, 1)
		})
	}
}

// TestCheckoutLeavesNoMandateBehind: the one that was made for it is revoked, and
// allows nothing that its merchant could take.
func TestCheckoutLeavesNoMandateBehind(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	made := c.checkout(t, 500, "k")
	c.form(t, made.URL, url.Values{"method": {"card_visa"}})
	list := c.do(t, "GET", "/v1/merchants/transactions", "").ok(t).Body["data"].([]any)
	require.Len(t, list, 1)
	mandate := list[0].(map[string]any)["delegateId"].(string)
	require.Equal(t, "revoked", c.do(t, "GET", "/v1/mandates/"+mandate+"/balance", "").ok(t).str("status"))
}

func TestCheckoutIsPaidByMandate(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	made := c.checkout(t, 500, "k")
	pay := func(mandate string) string {
		t.Helper()
		status, text := c.form(t, made.URL, url.Values{"method": {"mandate"}, "mandate": {mandate}})
		require.Contains(t, []int{200, 422}, status)
		return text
	}
	for _, refused := range []string{"", "dtok_x", c.mandate(t, 499, 1000)} {
		require.Contains(t, pay(refused), "A spending mandate", "it is open as before")
	}
	m := c.mandate(t, 500, 1000)
	require.Contains(t, pay(m), "You paid Acme")
	require.Contains(t, pay(m), "You paid Acme")
	require.Equal(t, 500, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
	c.sound(t, 1)
}

// TestCheckoutStaysOpenWhenALimitRefusesAMandate: whichever limit is used up, the page says so,
// and another way of paying works.
func TestCheckoutStaysOpenWhenALimitRefusesAMandate(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	for code, limits := range map[string]client.FurtherLimits{
		"monthly": {}, "daily": {MaxDailySpendCents: 100}, "total": {MaxTotalSpendCents: 100}, "velocity": {MaxPaymentsPerDay: 1},
		"payee_limit": {MaxMonthlyPerPayeeCents: 100},
	} {
		m := c.Mandate(t, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 150, FurtherLimits: limits})
		c.charge(t, m, 100, code).ok(t)
		made := c.checkout(t, 100, code)
		status, _ := c.form(t, made.URL, url.Values{"method": {"mandate"}, "mandate": {m}})
		require.Equal(t, http.StatusUnprocessableEntity, status, code)
		require.Equal(t, client.CheckoutOpen, c.checkout(t, 100, code).Status, code)
		_, text := c.form(t, made.URL, url.Values{"method": {"mandate"}, "mandate": {c.mandate(t, 100, 100)}})
		require.Contains(t, text, "You paid Acme", code)
	}
}

// TestCheckoutIsPaidOnceHoweverManyPay: by card and by mandate, all at once.
func TestCheckoutIsPaidOnceHoweverManyPay(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 5000)
	made := c.checkout(t, 500, "k")
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			values := url.Values{"method": {"card_visa"}}
			if i%2 == 0 {
				values = url.Values{"method": {"mandate"}, "mandate": {m}}
			}
			c.form(t, made.URL, values)
			_, err := c.Client().Checkout(t.Context(), made.ID)
			require.NoError(t, err)
		})
	}
	all.Wait()
	paid, err := c.Client().Checkout(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, client.CheckoutPaid, paid.Status)
	stats, err := c.Client().Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.TransactionCount)
	c.sound(t, 1)
}

func TestCheckoutsThatAreNotPaid(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	refused := c.checkout(t, 500, "refused at once")
	_, text := c.form(t, refused.URL, url.Values{"method": {"card_declined"}})
	require.Contains(t, text, "Pay Acme", "another card may do")
	later := c.checkout(t, 500, "declined later")
	_, text = c.form(t, later.URL, url.Values{"method": {"card_decline_after_setup"}})
	require.Contains(t, text, "card declined")
	failed, err := c.Client().Checkout(t.Context(), later.ID)
	require.NoError(t, err)
	require.Equal(t, []any{client.CheckoutFailed, "card_declined"}, []any{failed.Status, failed.FailureReason})

	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	_, err = c.ClientOf(t, other).Checkout(t.Context(), later.ID)
	require.ErrorIs(t, err, client.ErrNotFound)
	for _, path := range []string{later.ID, "chk_x", "txn_" + later.ID[4:], "chk_" + strings.Repeat("0", 26)} {
		require.Equal(t, path == later.ID, c.do(t, "GET", "/v1/checkouts/"+path, "").Status == 200, path)
	}
	require.Equal(t, 404, c.do(t, "GET", "/checkout/"+later.ID+"/AAAAAAAAAAAAAAAAAAAAAA", "").Status, "the id alone opens no page")
	for param, body := range map[string]string{
		"amountCents": `{"amountCents":0,"description":"d","idempotencyKey":"x"}`, "description": `{"amountCents":1,"description":"","idempotencyKey":"x"}`,
		"returnUrl":      `{"amountCents":1,"description":"d","returnUrl":"javascript:alert(1)","idempotencyKey":"x"}`,
		"idempotencyKey": `{"amountCents":1,"description":"d"}`,
	} {
		require.Equal(t, param, c.do(t, "POST", "/v1/checkouts", body).refused(t, 400, "validation_error").str("param"))
	}
	open := c.checkout(t, 500, "too late")
	c.Clock.Advance(25 * time.Hour)
	_, text = c.form(t, open.URL, url.Values{"method": {"card_visa"}})
	require.Contains(t, text, "older than a day")
	expired, err := c.Client().Checkout(t.Context(), open.ID)
	require.NoError(t, err)
	require.Equal(t, client.CheckoutExpired, expired.Status)
	c.sound(t, 0)
}

// TestCheckoutIsPaidByItsOwnChargeAlone: a charge of the merchant's under a key that
// looks like the checkout's is another one.
func TestCheckoutIsPaidByItsOwnChargeAlone(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 5000)
	made := c.checkout(t, 500, "k")
	for _, key := range []string{"checkout:" + made.ID, made.ID} {
		require.Equal(t, "completed", c.charge(t, m, 1, key).ok(t).str("status"))
		open, err := c.Client().Checkout(t.Context(), made.ID)
		require.NoError(t, err)
		require.Equal(t, client.CheckoutOpen, open.Status)
		require.Empty(t, open.TransactionID)
	}
	_, text := c.form(t, made.URL, url.Values{"method": {"mandate"}, "mandate": {m}})
	require.Contains(t, text, "You paid Acme")
	c.sound(t, 3)
}

// TestPaidCheckoutStaysPaid: also after what is remembered of requests has expired.
func TestPaidCheckoutStaysPaid(t *testing.T) {
	t.Parallel()
	var store store.Store
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) { store = cfg.Store }})
	made := c.checkout(t, 500, "k")
	c.form(t, made.URL, url.Values{"method": {"card_visa"}})
	paid, err := c.Client().Checkout(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, client.CheckoutPaid, paid.Status)
	c.Clock.Advance(31 * 24 * time.Hour)
	for n := 1; n > 0; {
		n, err = store.Expire(t.Context(), c.Clock.Now().Add(-ledger.Keep), 500)
		require.NoError(t, err)
	}
	again, err := c.Client().Checkout(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, paid, again)
	require.Equal(t, paid, c.checkout(t, 500, "k"), "the same request is the same checkout")
	c.sound(t, 1)
}
