package server_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

var privateLink = regexp.MustCompile(`http://[^"\s]+/m/del_[0-9A-Z]{26}/[A-Za-z0-9_-]{22}`)

// confirmed is a mandate that a person confirmed on the setup page.
type confirmed struct {
	session client.Session
	mandate string
	// page is what the person saw after confirming, link the private page.
	page, link string
}

func (c caller) confirm(t *testing.T, p client.SessionParams, changes map[string]string) confirmed {
	t.Helper()
	s, err := c.Client().CreateSession(t.Context(), p)
	require.NoError(t, err)
	form := formOf(map[string]string{"method": "card_visa", "expires": c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02")})
	for name, value := range changes {
		form.Set(name, value)
	}
	if form.Get("email") != "" {
		c.prove(t, s.SetupURL, form)
	}
	status, page := c.form(t, s.SetupURL, form)
	require.Equal(t, http.StatusOK, status, page)
	m, err := c.Client().WaitForMandate(t.Context(), s.SessionToken)
	require.NoError(t, err)
	return confirmed{session: s, mandate: m, page: page, link: privateLink.FindString(page)}
}

func (c caller) page(t *testing.T, link string) answer {
	t.Helper()
	return c.do(t, http.MethodGet, strings.TrimPrefix(link, c.URL), "")
}

// TestPersonStopsACardMandateFromThePrivatePage: also a second time, and not from
// another site.
func TestPersonStopsACardMandateFromThePrivatePage(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			hook := c.Webhook(t, webhook.MandateRevoked)
			m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, nil)
			require.NotEmpty(t, m.link, m.page)
			c.charge(t, m.mandate, 250, "one").ok(t)
			c.charge(t, m.mandate, 125, "two").ok(t)
			page := c.page(t, m.link).ok(t)
			for _, text := range []string{"$3.75 of $50.00 spent in", "$3.75 paid in all", "October report", "$2.50", "Acme", "/receipts/txn_", "Visa •••• 4242"} {
				require.Contains(t, page.Text, text)
			}
			require.Equal(t, "no-store", page.Header.Get("Cache-Control"))
			require.Equal(t, "no-referrer", page.Header.Get("Referrer-Policy"))
			require.Contains(t, page.Header.Get("X-Robots-Tag"), "noindex")

			asks := c.page(t, m.link+"/stop").ok(t)
			require.Contains(t, asks.Text, "Stop all payments?")
			c.charge(t, m.mandate, 1, "asked only").ok(t)
			resp, _ := post(t, m.link+"/stop", url.Values{}, "cross-site")
			require.Equal(t, http.StatusForbidden, resp.StatusCode)
			c.charge(t, m.mandate, 1, "another site").ok(t)

			for range 2 {
				status, text := c.form(t, m.link+"/stop", url.Values{})
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, text, "You stopped it")
				require.NotContains(t, text, "/stop")
			}
			c.charge(t, m.mandate, 1, "after").refused(t, 403, "mandate_revoked")
			require.Contains(t, string(hook.Next(t).Data), `"revokedBy":"user"`)
			require.NotContains(t, c.page(t, strings.TrimPrefix(m.session.SetupURL, c.URL)).Text, "can be paid within")
		})
	}
}

// TestPersonLowersTheLimitsLater: never above the present ones nor below what is used, and
// not from another site. What cannot be done changes nothing.
func TestPersonLowersTheLimitsLater(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.confirm(t, client.SessionParams{
		MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, FurtherLimits: client.FurtherLimits{MaxDailySpendCents: 1000, MaxMonthlyPerPayeeCents: 4000},
	}, map[string]string{"maxDaily": "10", "maxPerPayee": "40"})
	c.charge(t, m.mandate, 300, "one").ok(t)
	require.Contains(t, c.page(t, m.link).ok(t).Text, "/limits")
	asks := c.page(t, m.link+"/limits").ok(t).Text
	for _, text := range []string{"At most in a day", "Now: $10.00.", `value="50.00"`} {
		require.Contains(t, asks, text)
	}
	require.Contains(t, asks, "Per payee")
	form := func(perTx, monthly, daily string) url.Values {
		return url.Values{"maxPerTx": {perTx}, "maxMonthly": {monthly}, "maxDaily": {daily}}
	}
	resp, _ := post(t, m.link+"/limits", form("1", "10", "5"), "cross-site")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	for text, wrong := range map[string]url.Values{
		"can be at most $5.00":                  form("5.01", "50", "10"),
		"can be at most $10.00":                 form("5", "50", "10.01"),
		"must be an amount such as":             form("", "50", "10"),
		"This month $3.00 is used already":      form("1", "2.99", "5"),
		"cannot be lower than the $3.00":        form("1", "50", "2.99"),
		"cannot be higher than the limit for a": form("5", "4", "10"),
	} {
		resp, page := post(t, m.link+"/limits", wrong, "same-origin")
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, text)
		require.Contains(t, page, text)
		require.Contains(t, page, `aria-invalid="true"`)
	}
	c.charge(t, m.mandate, 200, "two").ok(t)
	for range 2 {
		status, page := c.form(t, m.link+"/limits", form("1", "20", "7"))
		require.Equal(t, http.StatusOK, status, page)
		require.Contains(t, page, "$5.00 of $20.00 spent in")
		require.Contains(t, page, "$5.00 of $7.00 spent on")
	}
	c.charge(t, m.mandate, 101, "three").refused(t, 402, "per_tx")
	c.charge(t, m.mandate, 100, "four").ok(t)
	balance, err := c.Client().Balance(t.Context(), m.mandate)
	require.NoError(t, err)
	require.Equal(t, []int64{100, 2000, 700, 4000}, []int64{
		balance.MaxPerTxCents, balance.MaxMonthlySpendCents, balance.MaxDailySpendCents, balance.MaxMonthlyPerPayeeCents,
	})
	resp, page := post(t, m.link+"/limits", form("2", "20", "7"), "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	require.Contains(t, page, "can be at most $1.00")
	c.form(t, m.link+"/stop", url.Values{})
	require.Equal(t, http.StatusSeeOther, c.page(t, m.link+"/limits").Status)
	c.sound(t, 3)
}

// TestPrivatePageOpensToItsLinkAlone: another proof, or that of a receipt or
// another mandate, opens nothing and stops nothing.
func TestPrivatePageOpensToItsLinkAlone(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	p := client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}
	m, other := c.confirm(t, p, nil), c.confirm(t, p, nil)
	at := strings.LastIndexByte(m.link, '/')
	receipt := c.charge(t, m.mandate, 100, "k").ok(t).str("transactionId")
	receiptURL := c.do(t, http.MethodGet, "/v1/payments/"+receipt+"/receipt", "").ok(t).str("receiptUrl")
	for _, proof := range []string{
		"x", m.link[at+1:][:21], other.link[strings.LastIndexByte(other.link, '/')+1:], receiptURL[strings.LastIndexByte(receiptURL, '/')+1:],
	} {
		wrong := m.link[:at+1] + proof
		require.Equal(t, http.StatusNotFound, c.page(t, wrong).Status)
		for _, page := range []string{"/stop", "/limits"} {
			require.Equal(t, http.StatusNotFound, c.page(t, wrong+page).Status)
			resp, _ := post(t, wrong+page, url.Values{"maxPerTx": {"1"}, "maxMonthly": {"1"}}, "same-origin")
			require.Equal(t, http.StatusNotFound, resp.StatusCode)
		}
		require.Equal(t, http.StatusNotFound, c.page(t, m.session.SetupURL+"/"+proof).Status)
	}
	c.charge(t, m.mandate, 100, "still good").ok(t)
}

// TestMerchantSeesNoPrivateLink: neither the setup page, which the merchant has the
// address of, nor receipts nor the API name it; the mail to the person does.
func TestMerchantSeesNoPrivateLink(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, map[string]string{"email": "ada@example.com"})
	ch := c.charge(t, m.mandate, 100, "k").ok(t)
	receipt := c.do(t, http.MethodGet, "/v1/payments/"+ch.str("transactionId")+"/receipt", "").ok(t)
	for _, seen := range []answer{
		c.page(t, m.session.SetupURL), receipt, c.page(t, receipt.str("receiptUrl")), ch,
		c.do(t, http.MethodGet, "/v1/mandates/session/"+m.session.SessionToken, ""),
		c.do(t, http.MethodGet, "/v1/mandates/"+m.mandate+"/balance", ""),
	} {
		require.Equal(t, http.StatusOK, seen.Status)
		require.NotContains(t, seen.Text, "/m/del_")
		require.NotContains(t, seen.Text, m.link[strings.LastIndexByte(m.link, '/')+1:])
	}
	mailed := c.mail(t)
	require.Contains(t, mailed.Text, m.link)
	require.Contains(t, mailed.HTML, `href="`+m.link+`"`)
	require.Contains(t, mailed.Text, "At most $50.00 a month to Acme, at most $100.00 until")
}

// TestAnyMerchantPagesSayTheWorstCase: on the setup page, after confirming, and on
// the private page, and never as if one merchant alone could be paid.
func TestAnyMerchantPagesSayTheWorstCase(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	p := client.SessionParams{MaxPerTxCents: 10_000_000, MaxMonthlySpendCents: 10_000_000, AllowedMerchantIDs: []string{"*"}}
	s, err := c.Client().CreateSession(t.Context(), p)
	require.NoError(t, err)
	asked := c.page(t, s.SetupURL).Text
	require.Contains(t, asked, "This can pay anyone, not Acme alone.")
	require.Contains(t, asked, "At most $100,000.00 a month to anyone, at most $1,300,000.00 until")
	require.NotContains(t, asked, "100000.00")
	until := c.Clock.Now().AddDate(0, 1, 0)
	m := c.confirm(t, p, map[string]string{"maxPerTx": "1,000", "maxMonthly": "$100,000.00", "expires": until.Format("2006-01-02")})
	for _, text := range []string{m.page, c.page(t, m.link).Text, c.page(t, m.session.SetupURL).Text} {
		require.Contains(t, text, "Anyone")
		require.Contains(t, text, "At most $100,000.00 a month to anyone, at most $200,000.00 until "+until.Format("2 January 2006"))
		require.NotContains(t, text, "Acme can be paid")
	}
}

// TestConfirmationNamesThePayees: those that the person left on the list.
func TestConfirmationNamesThePayees(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other Shop"})
	require.NoError(t, err)
	p := client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: []string{c.Merchant.ID, other.ID}}
	s, err := c.Client().CreateSession(t.Context(), p)
	require.NoError(t, err)
	require.Contains(t, c.page(t, s.SetupURL).Text, "to Acme and Other Shop")
	m := c.confirm(t, p, map[string]string{"payee": other.ID})
	require.Contains(t, m.page, "Other Shop can be paid within your limits")
	require.NotContains(t, m.page, "Acme can be paid")
}

// TestWorstCaseCountsEachCalendarMonth that the mandate is valid in.
func TestWorstCaseCountsEachCalendarMonth(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	now := c.Clock.Now().UTC()
	c.Clock.Advance(time.Date(now.Year()+1, time.January, 30, 12, 0, 0, 0, time.UTC).Sub(now))
	year := now.Year() + 1
	for until, total := range map[time.Time]string{
		time.Date(year, time.January, 31, 0, 0, 0, 0, time.UTC):   "$50.00",
		time.Date(year, time.February, 1, 0, 0, 0, 0, time.UTC):   "$50.00",
		time.Date(year, time.February, 1, 0, 0, 1, 0, time.UTC):   "$100.00",
		time.Date(year+1, time.January, 30, 0, 0, 0, 0, time.UTC): "$650.00",
	} {
		s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, ExpiresAt: until})
		require.NoError(t, err)
		require.Contains(t, c.page(t, s.SetupURL).Text, "at most "+total+" until "+until.Format("2 January 2006"))
	}
}

// TestChainOnlySessionOffersNoCard: nor can one be chosen.
func TestChainOnlySessionOffersNoCard(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	for rail, offered := range map[client.Rail][2]bool{client.ChainRail: {false, true}, client.CardRail: {true, false}, client.BothRails: {true, true}} {
		s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, RequestedRail: rail})
		require.NoError(t, err)
		text := c.page(t, s.SetupURL).Text
		require.Equal(t, offered[0], strings.Contains(text, `value="card_visa"`), rail)
		require.Equal(t, offered[1], strings.Contains(text, `value="wallet"`), rail)
		require.Equal(t, 1, strings.Count(text, " checked"), "one method is chosen")
	}
}

// TestFailedReceiptDoesNotSayPaidWith: nothing was paid.
func TestFailedReceiptDoesNotSayPaidWith(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	show := func(method string) string {
		ch := c.charge(t, c.mandate(t, 500, 5000, method), 250, method).ok(t)
		return c.page(t, c.do(t, http.MethodGet, "/v1/payments/"+ch.str("transactionId")+"/receipt", "").ok(t).str("receiptUrl")).Text
	}
	failed := show("card_decline_after_setup")
	require.Contains(t, failed, "Not paid")
	require.Contains(t, failed, "The card was declined")
	require.NotContains(t, failed, "Paid with")
	require.Contains(t, show("card_visa"), "Paid with")
}

// TestNoMailerMeansNoQuestionForAnAddress: nothing would ever be sent there.
func TestNoMailerMeansNoQuestionForAnAddress(t *testing.T) {
	t.Parallel()
	for mails, c := range map[bool]caller{
		true: setup(t, nil), false: setup(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.Mailer = nil }}),
	} {
		s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
		require.NoError(t, err)
		require.Equal(t, mails, strings.Contains(c.page(t, s.SetupURL).Text, `type="email"`))
		require.Equal(t, mails, strings.Contains(c.page(t, c.checkout(t, 500, "order").URL).Text, `type="email"`))
	}
}
