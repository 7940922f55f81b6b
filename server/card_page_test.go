package server_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/stripe"
	"github.com/paywarrant/paywarrant/server/rail/stripe/stripetest"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// withStripe is a service whose cards are those of an account at Stripe.
func withStripe(t *testing.T) (caller, *stripetest.Server) {
	t.Helper()
	account := stripetest.Start(t)
	cards, err := stripe.New(stripe.Config{Key: stripetest.Key, BaseURL: account.URL, WebhookSecrets: []stripe.Key{stripetest.Secret}})
	require.NoError(t, err)
	return setup(t, &servertest.Options{Configure: func(c *server.Config) { c.Rails = []rail.Rail{cards} }}), account
}

// browser is a browser with cookies, which follows no redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar, Transport: http.DefaultTransport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// open opens a page, or sends a form to it, and returns status and text.
func (c caller) open(t *testing.T, b *http.Client, address string, form url.Values) (int, string) {
	t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(text)
}

// cardForm is the setup form of a person who lowers a limit.
func cardForm(c caller) url.Values {
	return url.Values{
		"maxPerTx": {"4"}, "maxMonthly": {"50"}, "expires": {c.Clock.Now().AddDate(0, 6, 0).Format("2006-01-02")}, "email": {"ada@example.com"},
		"action": {"card"},
	}
}

// session creates a setup session for cards.
func (c caller) session(t *testing.T) client.Session {
	t.Helper()
	s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	return s
}

var nextPage = regexp.MustCompile(`id="next" href="([^"]+)"`)

// leave sends the form of a browser that leaves for the processor's page, and returns its address.
func (c caller) leave(t *testing.T, b *http.Client, setupURL string) string {
	t.Helper()
	status, text := c.open(t, b, setupURL, cardForm(c))
	require.Equal(t, http.StatusOK, status, text)
	found := nextPage.FindStringSubmatch(text)
	require.NotNil(t, found, text)
	return found[1]
}

func TestPersonEntersACardAtTheProcessorAndConfirms(t *testing.T) {
	t.Parallel()
	c, account := withStripe(t)
	s, b := c.session(t), browser(t)
	_, text := c.open(t, b, s.SetupURL, nil)
	require.Contains(t, text, "Enter a card")
	require.Less(t, strings.Index(text, `value="confirm"`), strings.Index(text, `value="card"`), "the Enter key confirms")
	page := c.leave(t, b, s.SetupURL)
	require.Equal(t, "Continue only if you came here from "+strings.TrimPrefix(c.URL, "http://")+" yourself. If somebody sent you this page, close it. "+
		"AI agents will pay Acme with this card without asking you again: at most $5.00 for one payment and $50.00 a month, until "+
		c.Clock.Now().UTC().AddDate(1, 0, 0).Format("2 January 2006")+".", account.Notice(page))
	back := account.Complete(page, "pm_card_visa", "owner@example.com")
	require.NotContains(t, back, "ada@example.com")
	status, text := c.open(t, b, back, nil)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `name="maxPerTx" type="text" inputmode="decimal" autocomplete="off" required value="4"`, "what was entered is still there")
	form := cardForm(c)
	form.Set("action", "confirm")
	form.Set("method", regexp.MustCompile(`value="(cs_[^"]+)" checked`).FindStringSubmatch(text)[1])
	form.Set("connected", regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1])
	c.prove(t, s.SetupURL, form)
	status, text = c.open(t, b, s.SetupURL, form)
	require.Equal(t, http.StatusSeeOther, status, text)
	done, err := c.Client().Session(t.Context(), s.SessionToken)
	require.NoError(t, err)
	c.charge(t, done.Mandate, 250, "k").ok(t)
	require.EqualValues(t, 250, account.Moved())
	c.charge(t, done.Mandate, 450, "k2").refused(t, http.StatusPaymentRequired, "per_tx")

	// The owner of the card may be another person than the one who confirmed.
	require.Eventually(t, func() bool { return len(c.letters()) == 2 }, time.Minute, 10*time.Millisecond)
	sent := map[string]string{}
	for _, m := range c.letters() {
		sent[m.To] = m.Text
	}
	require.Equal(t, sent["ada@example.com"], sent["owner@example.com"])
	require.Contains(t, sent["owner@example.com"], "If you did not allow this")
}

// TestNobodyCompletesAnothersSetup: the address of the return without the browser, the
// browser without the address, another session, and a method without proof.
func TestNobodyCompletesAnothersSetup(t *testing.T) {
	t.Parallel()
	c, account := withStripe(t)
	s, b := c.session(t), browser(t)
	page := c.leave(t, b, s.SetupURL)
	back := account.Complete(page, "pm_card_visa", "owner@example.com")
	status, text := c.open(t, browser(t), back, nil)
	require.Equal(t, http.StatusForbidden, status, "the victim's browser, which was led to the attacker's page: %s", text)
	method := page[strings.LastIndex(page, "/")+1:]
	status, text = c.open(t, b, back, nil)
	require.Equal(t, http.StatusOK, status, text)
	form := cardForm(c)
	form.Set("action", "confirm")
	form.Del("email")
	form.Set("method", method)
	form.Set("connected", regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1])
	status, text = c.open(t, b, s.SetupURL, form)
	require.Equal(t, http.StatusUnprocessableEntity, status, "the attacker, who has cookie, state and method of the victim's card")
	require.Contains(t, text, "refused")
	require.False(t, account.Attached(), "the victim's card")

	back = account.Complete(c.leave(t, b, s.SetupURL), "pm_card_visa", "owner@example.com")
	method = back[strings.LastIndex(back, "=")+1:]
	other := c.session(t)
	status, _ = c.open(t, b, strings.Replace(back, s.SessionToken, other.SessionToken, 1), nil)
	require.Equal(t, http.StatusForbidden, status, "another session")

	form.Set("method", method)
	for _, proof := range []string{"", "guessed"} {
		form.Set("connected", proof)
		status, _ = c.open(t, b, s.SetupURL, form)
		require.Equal(t, http.StatusUnprocessableEntity, status, "a method without its proof")
	}
	_, text = c.open(t, b, back, nil)
	form.Set("connected", regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1])
	status, _ = c.open(t, b, other.SetupURL, form)
	require.Equal(t, http.StatusUnprocessableEntity, status, "the proof of another session")

	c.leave(t, b, s.SetupURL)
	status, _ = c.open(t, b, back, nil)
	require.Equal(t, http.StatusForbidden, status, "the setup that was begun before, in another tab")
	pending, err := c.Client().Session(t.Context(), s.SessionToken)
	require.NoError(t, err)
	require.Equal(t, client.SessionPending, pending.Status)
}

// cardOf returns a mandate that pays with a test card.
func (c caller) cardOf(t *testing.T, card string) string {
	t.Helper()
	s, err := c.Client().CompleteTestSession(t.Context(), c.session(t).SessionToken, client.TestCompletion{PaymentMethods: []string{card}})
	require.NoError(t, err)
	return s.Mandate
}

// processor sends an event of the card processor.
func (c caller) processor(t *testing.T, account *stripetest.Server, kind, about string) {
	t.Helper()
	body, signature := account.Event("evt_"+kind+about, kind, about, time.Now())
	require.Equal(t, http.StatusOK, c.do(t, "POST", "/rails/card/events", string(body), "Stripe-Signature", signature).Status)
}

// TestEventHurriesAPendingCharge: the service's clock does not move, so that no pause between
// two requests to the rail ends.
func TestEventHurriesAPendingCharge(t *testing.T) {
	t.Parallel()
	c, account := withStripe(t)
	paid := c.charge(t, c.cardOf(t, "pm_card_processing"), 250, "k")
	require.Equal(t, "pending", paid.str("status"), paid.Text)
	account.Finish()
	c.processor(t, account, "payment_intent.succeeded", account.Payment("paywarrant_reference", paid.str("transactionId")+".fiatrail"))
	require.Eventually(t, func() bool {
		r, err := c.Client().Receipt(t.Context(), paid.str("transactionId"))
		return err == nil && r.Status.Paid()
	}, time.Minute, 10*time.Millisecond)
}

// TestRefundThatComesBackIsRecorded: the bank returns the money of a refund that succeeded.
func TestRefundThatComesBackIsRecorded(t *testing.T) {
	t.Parallel()
	account := stripetest.Start(t)
	cards, err := stripe.New(stripe.Config{Key: stripetest.Key, BaseURL: account.URL, WebhookSecrets: []stripe.Key{stripetest.Secret}})
	require.NoError(t, err)
	var config *server.Config
	s := listenTo(t, servertest.Options{Configure: func(c *server.Config) { c.Rails, config = []rail.Rail{cards}, c }})
	paid := s.charge(t, s.cardOf(t, "pm_card_visa"), 250, "k")
	r, err := s.Client().Refund(t.Context(), paid.str("transactionId"), client.RefundParams{AmountCents: 100, IdempotencyKey: "r"})
	require.NoError(t, err)
	require.Equal(t, client.RefundSucceeded, r.Status)
	id := account.Refunded("paywarrant_refund", r.ID+".fiatrail")
	s.processor(t, account, "refund.updated", id)
	require.Zero(t, s.value(t, "settlement_conflicts_total"))
	account.FailRefund(id)
	s.processor(t, account, "refund.failed", id)
	require.InDelta(t, 1, s.value(t, "settlement_conflicts_total", "rail", "fiatrail"), 0)
	require.Contains(t, s.log.all(), "the money of a refund came back")
	var found []server.Difference
	_, err = server.Reconcile(t.Context(), server.ReconcileConfig{
		Ledger: config.Store, Rails: config.Rails, Clock: func() time.Time { return s.Clock.Now().Add(48 * time.Hour) }, Dir: t.TempDir(),
	}, func(d server.Difference) error {
		found = append(found, d)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, server.ChargeWithoutMovement, found[0].Cause)
	require.Equal(t, r.ID, found[0].RefundID)
}

// TestPersonPaysACheckoutWithACardEnteredAtTheProcessor: once, from the browser that left, with
// a card of this checkout.
func TestPersonPaysACheckoutWithACardEnteredAtTheProcessor(t *testing.T) {
	t.Parallel()
	c, account := withStripe(t)
	checkout := func() client.Checkout {
		k, err := c.Client().CreateCheckout(t.Context(), client.CheckoutParams{AmountCents: 300, Description: "Ten reports"})
		require.NoError(t, err)
		return k
	}
	leave := func(b *http.Client, address string) string {
		status, text := c.open(t, b, address, url.Values{"action": {"card"}})
		require.Equal(t, http.StatusOK, status, text)
		return nextPage.FindStringSubmatch(text)[1]
	}
	k, b := checkout(), browser(t)
	_, text := c.open(t, b, k.URL, nil)
	require.Contains(t, text, "Enter a card")
	page := leave(b, k.URL)
	require.Contains(t, account.Notice(page), "You pay Acme $3.00 once with this card.")
	back := account.Complete(page, "pm_card_visa", "")
	status, text := c.open(t, b, back, nil)
	require.Equal(t, http.StatusOK, status, text)
	form := url.Values{
		"method": {regexp.MustCompile(`value="(cs_[^"]+)" checked`).FindStringSubmatch(text)[1]}, "action": {"pay"},
		"connected": {regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1]},
	}
	status, _ = c.open(t, b, checkout().URL, form)
	require.Equal(t, http.StatusUnprocessableEntity, status, "the card of another checkout")
	for _, proof := range []string{"", "guessed"} {
		status, _ = c.open(t, b, k.URL, url.Values{"method": form["method"], "action": {"pay"}, "connected": {proof}})
		require.Equal(t, http.StatusUnprocessableEntity, status, "a card without its proof")
	}
	require.Zero(t, account.Moved())
	for range 2 {
		status, text = c.open(t, b, k.URL, form)
		require.Equal(t, http.StatusSeeOther, status, text)
	}
	paid, err := c.Client().Checkout(t.Context(), k.ID)
	require.NoError(t, err)
	require.Equal(t, client.CheckoutPaid, paid.Status)
	require.EqualValues(t, 300, account.Moved())

	victims := checkout()
	back = account.Complete(leave(b, victims.URL), "pm_card_visa", "")
	status, _ = c.open(t, browser(t), back, nil)
	require.Equal(t, http.StatusForbidden, status, "another browser")
	status, text = c.open(t, b, back, nil)
	require.Equal(t, http.StatusOK, status)
	form.Set("method", regexp.MustCompile(`value="(cs_[^"]+)" checked`).FindStringSubmatch(text)[1])
	form.Set("connected", regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1])
	status, _ = c.open(t, b, victims.URL, form)
	require.Equal(t, http.StatusUnprocessableEntity, status, "its card was detached")
	require.EqualValues(t, 300, account.Moved())
}

func TestProcessorsEventsAreVerified(t *testing.T) {
	t.Parallel()
	c, account := withStripe(t)
	body, signature := account.Event("evt_1", "payment_intent.succeeded", "pi_none", c.Clock.Now())
	require.Equal(t, http.StatusOK, c.do(t, "POST", "/rails/card/events", string(body), "Stripe-Signature", signature).Status)
	require.Equal(t, http.StatusBadRequest, c.do(t, "POST", "/rails/card/events", string(body)).Status)
}
