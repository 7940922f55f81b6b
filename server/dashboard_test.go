package server_test

import (
	"cmp"
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
	"github.com/paywarrant/paywarrant/server/servertest"
)

// tab is a browser's tab on the dashboard.
type tab struct {
	t    *testing.T
	srv  *servertest.Server
	http *http.Client
}

// page is what a tab shows.
type page struct {
	Status   int
	Path     string
	Text     string
	Header   http.Header
	Location string
}

func openTab(t *testing.T, srv *servertest.Server) *tab {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &tab{t: t, srv: srv, http: &http.Client{Jar: jar}}
}

func (b *tab) send(r *http.Request) page {
	b.t.Helper()
	resp, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return page{resp.StatusCode, resp.Request.URL.RequestURI(), string(text), resp.Header, resp.Header.Get("Location")}
}

func (b *tab) get(path string) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.srv.URL+path, nil)
	require.NoError(b.t, err)
	return b.send(r)
}

func (b *tab) post(path string, form url.Values, origin ...string) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.srv.URL+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.srv.URL)
	for _, o := range origin {
		r.Header.Set("Origin", o)
	}
	return b.send(r)
}

var mailedCode = regexp.MustCompile(`\b\d{3} \d{3}\b`)

// code returns the code in the newest message, once there are more than some.
func (b *tab) code(more int) string {
	b.t.Helper()
	var code string
	require.Eventually(b.t, func() bool {
		for _, m := range b.srv.Mails()[more:] {
			code = cmp.Or(mailedCode.FindString(m.Text), code)
		}
		return code != ""
	}, 10*time.Second, 5*time.Millisecond)
	return code
}

// signIn signs in with an address.
func (b *tab) signIn(email string) page {
	b.t.Helper()
	had := len(b.srv.Mails())
	require.Equal(b.t, http.StatusOK, b.post("/dashboard/sign-in", url.Values{"email": {email}}).Status)
	return b.post("/dashboard/sign-in/code", url.Values{"email": {email}, "code": {b.code(had)}})
}

// merchantTab returns a tab in which the merchant of the service's client is signed in.
func merchantTab(t *testing.T, configure ...func(*server.Config)) *tab {
	t.Helper()
	o := &servertest.Options{Merchant: server.MerchantParams{Name: "Acme", Email: "ada@acme.example"}}
	if len(configure) > 0 {
		o.Configure = configure[0]
	}
	b := openTab(t, servertest.Start(t, o))
	require.Equal(t, "/dashboard", b.signIn("ada@acme.example").Path)
	return b
}

func signUp(c *server.Config) { c.MerchantSignUp = true }

// TestMerchantSignsUpAndCharges: from an address to the first payment, which the dashboard shows.
func TestMerchantSignsUpAndCharges(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Configure: signUp})
	b := openTab(t, srv)
	require.Equal(t, "/dashboard/sign-in", b.get("/dashboard").Path)
	asked := b.signIn("New@Shop.example")
	require.Equal(t, "/dashboard/account", asked.Path)
	require.Contains(t, asked.Text, "Create your account")
	require.Equal(t, "/dashboard/account", b.get("/dashboard/keys").Path, "an address without an account sees nothing else")
	require.Contains(t, b.post("/dashboard/account", url.Values{}).Text, "Enter the name")
	overview := b.post("/dashboard/account", url.Values{"name": {"New <b>Shop</b>"}, "website": {"https://shop.example"}})
	require.Equal(t, "/dashboard", overview.Path)
	require.Contains(t, overview.Text, "To your first payment")
	require.NotContains(t, overview.Text, "<b>Shop")

	none := b.post("/dashboard/keys", url.Values{"label": {"Web shop"}})
	require.Equal(t, http.StatusUnprocessableEntity, none.Status)
	require.Contains(t, none.Text, "Choose what the key may do.")
	require.Contains(t, none.Text, `value="Web shop"`)
	keys := b.post("/dashboard/keys", url.Values{"label": {"Web shop"}, "scope": {"read", "charge"}})
	require.Contains(t, keys.Text, "<td>read, charge</td>")
	require.Equal(t, http.StatusCreated, keys.Status)
	key := regexp.MustCompile(`sk_test_[\w-]+`).FindString(keys.Text)
	merchantID := regexp.MustCompile(`mer_\w+`).FindString(keys.Text)
	require.NotContains(t, b.get("/dashboard/keys").Text, key, "the key is shown once")
	require.Eventually(t, func() bool { return b.mailOf("An API key was created") != "" }, time.Minute, 5*time.Millisecond)
	require.NotContains(t, b.mailOf("An API key was created"), key)
	c, err := client.New(client.Config{BaseURL: srv.URL, MerchantID: merchantID, APIKey: key})
	require.NoError(t, err)
	s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000})
	require.NoError(t, err)
	s, err = c.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{PaymentMethods: []string{"card_visa"}})
	require.NoError(t, err)
	_, err = c.Charge(t.Context(), client.ChargeParams{Mandate: s.Mandate, AmountCents: 1250, Currency: client.USD, Description: "October report"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(b.get("/dashboard").Text, "$12.50 in the last 30 days") }, 10*time.Second, 20*time.Millisecond)
	require.Contains(t, b.get("/dashboard/transactions").Text, "October report")

	require.Equal(t, "/dashboard", openTab(t, srv).signIn("new@shop.example").Path, "the second time there is an account")
}

// TestSignInDoesNotRevealAccounts: the answer for an address without an account is the same,
// and no message is sent to it unless it may sign up.
func TestSignInDoesNotRevealAccounts(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Acme", Email: "ada@acme.example"}})
	b := openTab(t, srv)
	known, unknown := b.post("/dashboard/sign-in", url.Values{"email": {"ada@acme.example"}}), b.post("/dashboard/sign-in", url.Values{"email": {"eve@acme.example"}})
	require.Equal(t, known.Status, unknown.Status)
	require.Equal(t, known.Text, strings.ReplaceAll(unknown.Text, "eve@", "ada@"))
	b.code(0)
	for _, m := range srv.Mails() {
		require.Equal(t, "ada@acme.example", m.To)
	}
	wrong := func(email string) string {
		return strings.ReplaceAll(b.post("/dashboard/sign-in/code", url.Values{"email": {email}, "code": {"000 000"}}).Text, email, "")
	}
	require.Equal(t, wrong("ada@acme.example"), wrong("eve@acme.example"))
}

// TestSignedOutSeesNoPage: every page of the dashboard leads to the sign-in page.
func TestSignedOutSeesNoPage(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	paths := []string{
		"", "/transactions", "/transactions.csv", "/transactions/txn_1", "/mandates", "/mandates/del_1", "/mandates/del_1/revoke", "/keys", "/webhooks",
		"/webhooks/whe_1", "/events", "/events/evt_1", "/account", "/settings", "/sandbox",
	}
	stranger := openTab(t, b.srv)
	for _, path := range paths {
		require.Equal(t, "/dashboard/sign-in", stranger.get("/dashboard"+path).Path, path)
	}
	for _, path := range []string{"/keys", "/webhooks", "/settings", "/settings/wallet", "/sandbox/clock", "/transactions/txn_1/refunds", "/mandates/del_1/revoke", "/prove"} {
		require.Equal(t, "/dashboard/sign-in", stranger.post("/dashboard"+path, url.Values{}).Path, path)
	}
	require.Contains(t, b.post("/dashboard/sign-out", url.Values{}).Text, "signed out")
	require.Equal(t, "/dashboard/sign-in", b.get("/dashboard").Path)
}

// charged makes a mandate and charges it.
func charged(t *testing.T, c *client.Client, cents int64) (client.Charge, string) {
	t.Helper()
	s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 100_000, MaxMonthlySpendCents: 1_000_000})
	require.NoError(t, err)
	s, err = c.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{PaymentMethods: []string{"card_visa"}})
	require.NoError(t, err)
	ch, err := c.Charge(t.Context(), client.ChargeParams{Mandate: s.Mandate, AmountCents: cents, Currency: client.USD, Description: "=October report", Metadata: map[string]string{"order": "o-17"}})
	require.NoError(t, err)
	return ch, s.Mandate
}

var hiddenKey = regexp.MustCompile(`name="key" value="([^"]+)"`)

// TestRefundFormSentTwiceRefundsOnce, and one of another amount under the same key is refused.
func TestRefundFormSentTwiceRefundsOnce(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	ch, _ := charged(t, b.srv.Client(), 1250)
	path := "/dashboard/transactions/" + ch.TransactionID
	shown := b.get(path)
	require.Contains(t, shown.Text, "$12.50")
	require.Contains(t, shown.Text, "o-17")
	key := hiddenKey.FindStringSubmatch(shown.Text)[1]
	form := url.Values{"key": {key}, "amount": {"5"}, "reason": {"Late"}}
	for range 2 {
		require.Contains(t, b.post(path+"/refunds", form).Text, "$7.50 of this payment can be given back")
	}
	form.Set("amount", "6")
	again := b.post(path+"/refunds", form)
	require.Equal(t, http.StatusUnprocessableEntity, again.Status)
	require.Contains(t, again.Text, "with another amount")
	for amount, text := range map[string]string{"": "must be one such as", "0": "must be one such as", "-1": "must be one such as", "7.505": "must be one such as", "7.51": "So much is not left"} {
		form = url.Values{"key": {"dashboard_" + amount}, "amount": {amount}}
		require.Contains(t, b.post(path+"/refunds", form).Text, text, amount)
	}
	list, err := b.srv.Client().RefundsPage(t.Context(), ch.TransactionID, client.ListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1)
	require.EqualValues(t, 500, list.Data[0].AmountCents)
}

// TestAnotherMerchantsObjectsDoNotExist on the dashboard, whatever their page.
func TestAnotherMerchantsObjectsDoNotExist(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	other, err := b.srv.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other", Email: "eve@other.example"})
	require.NoError(t, err)
	c := b.srv.ClientOf(t, other)
	ch, token := charged(t, c, 1000)
	balance, err := c.Balance(t.Context(), token)
	require.NoError(t, err)
	e, err := c.CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: "https://other.example/hook"})
	require.NoError(t, err)
	var eventID string
	for ev, err := range c.Events(t.Context(), client.EventListParams{}) {
		require.NoError(t, err)
		eventID = ev.ID
	}
	keys := openTab(t, b.srv)
	keys.signIn("eve@other.example")
	keyID := regexp.MustCompile(`/dashboard/keys/(key_\w+)/revoke`).FindStringSubmatch(keys.get("/dashboard/keys").Text)[1]

	for _, path := range []string{
		"/transactions/" + ch.TransactionID, "/mandates/" + balance.MandateID, "/mandates/" + balance.MandateID + "/revoke", "/webhooks/" + e.ID, "/events/" + eventID,
		"/transactions/x", "/mandates/%00", "/events/evt_",
	} {
		require.Equal(t, http.StatusNotFound, b.get("/dashboard"+path).Status, path)
	}
	for _, path := range []string{
		"/transactions/" + ch.TransactionID + "/refunds", "/mandates/" + balance.MandateID + "/revoke", "/webhooks/" + e.ID + "/delete",
		"/webhooks/" + e.ID + "/rotate", "/webhooks/" + e.ID + "/test", "/events/" + eventID + "/redeliver", "/keys/" + keyID + "/revoke",
	} {
		form := url.Values{"key": {"dashboard_1"}, "amount": {"1"}}
		require.Equal(t, http.StatusNotFound, b.post("/dashboard"+path, form).Status, path)
	}
	for _, query := range []string{"?q=" + balance.MandateID, "?before=" + ch.TransactionID, "?q=" + ch.TransactionID} {
		require.NotContains(t, b.get("/dashboard/transactions"+query).Text, "=October", query)
	}
	_, err = c.Balance(t.Context(), token)
	require.NoError(t, err, "the key of the other merchant is valid")
}

// TestFormOfAnotherOriginChangesNothing on the dashboard.
func TestFormOfAnotherOriginChangesNothing(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	for _, path := range []string{"/dashboard/keys", "/dashboard/webhooks", "/dashboard/sign-out", "/dashboard/account"} {
		p := b.post(path, url.Values{"label": {"Evil"}, "url": {"https://evil.example"}}, "https://evil.example")
		require.Equal(t, http.StatusForbidden, p.Status, path)
	}
	require.NotContains(t, b.get("/dashboard/keys").Text, "Evil")
	require.Equal(t, "/dashboard", b.get("/dashboard").Path, "still signed in")
}

// TestKeysNeedAFreshCode: ten minutes after the code, another one is asked for.
func TestKeysNeedAFreshCode(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	b.srv.Clock.Advance(11 * time.Minute)
	refused := b.post("/dashboard/keys", url.Values{"label": {"Late"}, "scope": {"charge"}})
	require.Equal(t, http.StatusForbidden, refused.Status)
	require.Contains(t, refused.Text, "Confirm that it is you")
	require.NotContains(t, b.get("/dashboard/keys").Text, "Late")
	had := len(b.srv.Mails())
	require.Contains(t, b.post("/dashboard/prove", url.Values{"next": {"/keys"}}).Text, "on its way")
	code := b.code(had)
	require.Contains(t, b.post("/dashboard/prove/code", url.Values{"next": {"/keys"}, "code": {"12"}}).Text, "six digits")
	require.Equal(t, "/dashboard/keys", b.post("/dashboard/prove/code", url.Values{"next": {"/keys"}, "code": {code}}).Path)
	require.Equal(t, http.StatusCreated, b.post("/dashboard/keys", url.Values{"label": {"Late"}, "scope": {"charge"}}).Status)
	require.Equal(t, "/dashboard", b.post("/dashboard/prove/code", url.Values{"next": {"//evil.example"}, "code": {code}}).Path[:10], "a form leads nowhere else")
}

// TestKeyFormSentTwiceCreatesOneKey, and a key can be revoked by itself.
func TestKeyFormSentTwiceCreatesOneKey(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	require.Equal(t, http.StatusCreated, b.post("/dashboard/keys", url.Values{"label": {"Shop"}, "scope": {"charge"}}).Status)
	twice := b.post("/dashboard/keys", url.Values{"label": {"Shop"}, "scope": {"charge"}})
	require.Equal(t, http.StatusUnprocessableEntity, twice.Status)
	require.Contains(t, twice.Text, "valid key of this name")
	revoke := regexp.MustCompile(`/dashboard/keys/key_\w+/revoke`).FindString(twice.Text) // the newest
	for range 2 {
		require.Equal(t, "/dashboard/keys", b.post(revoke, url.Values{}).Path)
	}
	require.Equal(t, 1, strings.Count(b.get("/dashboard/keys").Text, ">Revoked<"))
	_, err := b.srv.Client().Stats(t.Context())
	require.NoError(t, err, "the other key is valid")
}

// TestTransactionsAreFilteredAndWrittenAsAFile.
func TestTransactionsAreFilteredAndWrittenAsAFile(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	ch, _ := charged(t, b.srv.Client(), 1250)
	today := b.srv.Clock.Now().UTC().Format("2006-01-02")
	tomorrow := b.srv.Clock.Now().UTC().AddDate(0, 0, 1).Format("2006-01-02")
	for query, found := range map[string]bool{
		"": true, "?state=succeeded": true, "?state=failed": false, "?rail=chainrail": false, "?q=nothing": false, "?q=" + ch.ProcessorPaymentID: true,
		"?from=" + today + "&to=" + today: true, "?from=" + tomorrow: false, "?to=" + today: true,
	} {
		p := b.get("/dashboard/transactions" + query)
		require.Equal(t, http.StatusOK, p.Status, query)
		require.Equal(t, found, strings.Contains(p.Text, "October report"), query)
		require.Equal(t, !found, strings.Contains(p.Text, "No payment matches"), query)
	}
	for _, query := range []string{"?state=x", "?rail=x", "?from=x", "?to=10000-01-01", "?q=" + strings.Repeat("x", 201), "?q=%E2%80%AE"} {
		require.Equal(t, http.StatusUnprocessableEntity, b.get("/dashboard/transactions"+query).Status, query)
	}
	require.Equal(t, "/dashboard/transactions/"+ch.TransactionID, b.get("/dashboard/transactions?q="+ch.TransactionID).Path)
	file := b.get("/dashboard/transactions.csv?state=succeeded")
	require.Equal(t, "text/csv; charset=utf-8", file.Header.Get("Content-Type"))
	require.Contains(t, file.Text, ch.TransactionID)
	require.Contains(t, file.Text, ",'=October report,", "no cell is a formula")
}

// TestEndpointIsAddedTestedRotatedOnceAndDeleted.
func TestEndpointIsAddedTestedRotatedOnceAndDeleted(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	require.Contains(t, b.post("/dashboard/webhooks", url.Values{"url": {"ftp://x"}}).Text, "must be https")
	form := url.Values{"url": {b.srv.URL + "/nowhere"}, "event": {"payment.succeeded", "made.up"}}
	added := b.post("/dashboard/webhooks", form)
	require.Equal(t, http.StatusCreated, added.Status)
	require.Contains(t, added.Text, "whsec_")
	require.Contains(t, b.post("/dashboard/webhooks", form).Text, "You have an endpoint with this URL")
	path := regexp.MustCompile(`/dashboard/webhooks/whe_\w+`).FindString(added.Text)
	shown := b.get(path)
	require.NotContains(t, shown.Text, "whsec_")
	require.Contains(t, b.post(path+"/test", url.Values{}).Text, "Status 404")
	version := regexp.MustCompile(`name="version" value="(\w+)"`).FindStringSubmatch(shown.Text)[1]
	require.Contains(t, b.post(path+"/rotate", url.Values{"version": {version}}).Text, "whsec_")
	twice := b.post(path+"/rotate", url.Values{"version": {version}})
	require.Equal(t, http.StatusConflict, twice.Status)
	require.NotContains(t, twice.Text, "whsec_")

	charged(t, b.srv.Client(), 100)
	events := b.get("/dashboard/events")
	event := regexp.MustCompile(`/dashboard/events/evt_\w+`).FindString(events.Text)
	require.Eventually(t, func() bool { return strings.Contains(b.get(event).Text, "Status 404") }, 20*time.Second, 20*time.Millisecond)
	require.Contains(t, b.get(event).Text, "payment.succeeded")
	require.Contains(t, b.post(event+"/redeliver", url.Values{}).Text, "is sent again")
	require.Equal(t, "/dashboard/webhooks", b.post(path+"/delete", url.Values{}).Path)
	require.Equal(t, http.StatusNotFound, b.post(path+"/delete", url.Values{}).Status)
}

// TestMerchantRevokesAMandateOnce on the dashboard, after a question.
func TestMerchantRevokesAMandateOnce(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	_, token := charged(t, b.srv.Client(), 100)
	path := regexp.MustCompile(`/dashboard/mandates/del_\w+`).FindString(b.get("/dashboard/mandates").Text)
	require.Contains(t, b.get(path).Text, "$1.00 of $10,000.00 spent")
	require.Contains(t, b.get(path+"/revoke").Text, "Revoke this mandate?")
	for range 2 {
		require.Contains(t, b.post(path+"/revoke", url.Values{}).Text, "Revoked by")
	}
	_, err := b.srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: token, AmountCents: 100, Currency: client.USD, Description: "x"})
	require.ErrorIs(t, err, client.ErrMandateRevoked)
}

// TestMerchantWithoutMailCannotSignIn, and the page says why.
func TestMerchantWithoutMailCannotSignIn(t *testing.T) {
	t.Parallel()
	b := openTab(t, servertest.Start(t, &servertest.Options{Configure: func(c *server.Config) { c.Mailer = nil }}))
	require.Contains(t, b.get("/dashboard/sign-in").Text, "sends no mail")
	require.Contains(t, b.post("/dashboard/sign-in", url.Values{"email": {"ada@acme.example"}}).Text, "sends no mail")
}

// TestProfileFormLeavesTheOperatorsDecisions: a merchant limits itself, and the lower limit
// counts.
func TestProfileFormLeavesTheOperatorsDecisions(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	for form, text := range map[string]string{
		"name=": "Enter the name", "name=a&website=x": "must be a URL", "name=a&limit=x": "must be an amount", "name=a&limit=0.001": "must be an amount",
		"name=%E2%80%AE": "did not arrive whole",
	} {
		values, err := url.ParseQuery(form)
		require.NoError(t, err)
		require.Contains(t, b.post("/dashboard/settings", values).Text, text, form)
	}
	saved := b.post("/dashboard/settings", url.Values{"name": {"Acme & Sons"}, "website": {"https://acme.example"}, "limit": {"5.00"}})
	require.Contains(t, saved.Text, "Saved.")
	require.Contains(t, saved.Text, "Acme &amp; Sons")
	s, err := b.srv.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 100_000, MaxMonthlySpendCents: 1_000_000})
	require.NoError(t, err)
	s, err = b.srv.Client().CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{PaymentMethods: []string{"card_visa"}})
	require.NoError(t, err)
	_, err = b.srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: s.Mandate, AmountCents: 501, Currency: client.USD, Description: "x"})
	require.ErrorIs(t, err, client.ErrMerchantLimit)
	require.NotContains(t, saved.Text, "wallet-form", "no rail pays to wallets")
	require.Equal(t, http.StatusNotFound, b.post("/dashboard/settings/wallet", url.Values{}).Status)
}

// TestSandboxPageCompletesASessionOnce of the merchant alone, and moves the clock once for a form.
func TestSandboxPageCompletesASessionOnce(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	s, err := b.srv.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: 1000})
	require.NoError(t, err)
	form := url.Values{"session": {s.SetupURL}, "method": {"card_declined"}}
	require.Contains(t, b.post("/dashboard/sandbox/complete", form).Text, "Attempts left: 4")
	form.Set("method", "made_up")
	require.Contains(t, b.post("/dashboard/sandbox/complete", form).Text, "does not allow this payment method")
	form.Set("method", "card_visa")
	require.Contains(t, b.post("/dashboard/sandbox/complete", form).Text, "dtok_")
	require.Contains(t, b.post("/dashboard/sandbox/complete", form).Text, "This session is finished")
	other, err := b.srv.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	s, err = b.srv.ClientOf(t, other).CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: 1000})
	require.NoError(t, err)
	require.Contains(t, b.post("/dashboard/sandbox/complete", url.Values{"session": {s.SessionToken}, "method": {"card_visa"}}).Text, "no such session")

	from := regexp.MustCompile(`name="from" value="(\d+)"`).FindStringSubmatch(b.get("/dashboard/sandbox").Text)[1]
	before := b.srv.Clock.Now()
	for range 2 {
		require.Contains(t, b.post("/dashboard/sandbox/clock", url.Values{"from": {from}, "step": {"hour"}}).Text, "The clock moved")
	}
	require.InDelta(t, time.Hour, b.srv.Clock.Now().Sub(before), float64(time.Minute))
	for _, wrong := range []url.Values{{}, {"from": {from}, "step": {"year"}}, {"from": {"9999999999999999"}, "step": {"day"}}} {
		require.Equal(t, http.StatusUnprocessableEntity, b.post("/dashboard/sandbox/clock", wrong).Status)
	}
}

// TestClockOfAPublicSandboxIsNotOnThePage: it moves for all, so its helpers ask for a key.
func TestClockOfAPublicSandboxIsNotOnThePage(t *testing.T) {
	t.Parallel()
	b := merchantTab(t, func(c *server.Config) { c.TestHelperKey = "a key of the test helpers" })
	require.NotContains(t, b.get("/dashboard/sandbox").Text, `id="clock"`)
	require.Equal(t, http.StatusNotFound, b.post("/dashboard/sandbox/clock", url.Values{"from": {"1"}, "step": {"day"}}).Status)
}
