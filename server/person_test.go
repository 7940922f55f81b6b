package server_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// signIn signs a browser in to the dashboard of people.
func (c caller) signIn(t *testing.T, email string) *http.Client {
	t.Helper()
	b, before := browser(t), len(c.Mails())-len(c.letters())
	status, text := c.open(t, b, c.URL+"/me/code", url.Values{"email": {email}})
	require.Equal(t, http.StatusOK, status, text)
	status, text = c.open(t, b, c.URL+"/me/sign-in", url.Values{"email": {email}, "code": {code(t, c.Mails, before)}})
	require.Equal(t, http.StatusSeeOther, status, text)
	return b
}

// TestPersonPausesAndResumes: charges are refused with a code of their own meanwhile.
func TestPersonPausesAndResumes(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, nil)
			c.charge(t, m.mandate, 100, "before").ok(t)
			resp, _ := post(t, m.link+"/pause", url.Values{"action": {"pause"}}, "cross-site")
			require.Equal(t, http.StatusForbidden, resp.StatusCode)
			resp, _ = post(t, m.link+"/pause", url.Values{"action": {"stop"}}, "same-origin")
			require.Equal(t, http.StatusBadRequest, resp.StatusCode)
			c.charge(t, m.mandate, 100, "not yet").ok(t)
			for range 2 {
				status, text := c.form(t, m.link+"/pause", url.Values{"action": {"pause"}})
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, text, "until you resume")
			}
			c.charge(t, m.mandate, 100, "paused").refused(t, http.StatusForbidden, "mandate_paused")
			b, err := c.Client().Balance(t.Context(), m.mandate)
			require.NoError(t, err)
			require.True(t, b.Paused)
			require.Equal(t, client.MandateActive, b.Status)
			for range 2 {
				status, text := c.form(t, m.link+"/pause", url.Values{"action": {"resume"}})
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, text, "Pause payments")
			}
			c.charge(t, m.mandate, 100, "resumed").ok(t)
			c.form(t, m.link+"/stop", url.Values{})
			status, text := c.form(t, m.link+"/pause", url.Values{"action": {"resume"}})
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, text, "You stopped it")
			c.charge(t, m.mandate, 100, "stopped").refused(t, http.StatusForbidden, "mandate_revoked")
		})
	}
}

// TestPersonSignsInAndSeesOnlyOwnMandates: those confirmed with the proven address.
func TestPersonSignsInAndSeesOnlyOwnMandates(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			p := client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}
			mine := c.confirm(t, p, map[string]string{"email": "ada@example.com"})
			other := c.confirm(t, p, map[string]string{"email": "bob@example.com"})
			c.charge(t, mine.mandate, 250, "one").ok(t)
			stranger := browser(t)
			for _, path := range []string{"/me/data", "/me/payments.csv", "/me/payments.json"} {
				status, text := c.open(t, stranger, c.URL+path, nil)
				require.Equal(t, http.StatusSeeOther, status)
				require.NotContains(t, text, "txn_")
			}
			status, text := c.open(t, stranger, c.URL+"/me", nil)
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, text, "Mail me a code")

			b := c.signIn(t, "Ada@example.com")
			_, text = c.open(t, b, c.URL+"/me", nil)
			require.Contains(t, text, mine.link)
			require.NotContains(t, text, other.link)
			require.Contains(t, text, "$2.50 of $50.00 spent in")
			_, text = c.open(t, b, c.URL+"/me/payments.csv", nil)
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			require.NoError(t, err)
			require.Len(t, rows, 2)
			require.Equal(t, []string{"Acme", "October report", "2.50"}, rows[1][3:6])
			_, text = c.open(t, b, c.URL+"/me/payments.json", nil)
			require.Contains(t, text, `"amountUsd": "2.50"`)

			two := c.signIn(t, "ada@example.com")
			c.open(t, b, c.URL+"/me/sign-out", url.Values{})
			_, text = c.open(t, b, c.URL+"/me", nil)
			require.Contains(t, text, "Mail me a code")
			_, text = c.open(t, two, c.URL+"/me", nil)
			require.Contains(t, text, mine.link)
			c.open(t, two, c.URL+"/me/sign-out", url.Values{"everywhere": {"yes"}})
			_, text = c.open(t, two, c.URL+"/me", nil)
			require.Contains(t, text, "Mail me a code")
		})
	}
}

// TestSignInTellsNobodyWhoHasMandates: an unknown address is answered the same, and gets no
// mail.
func TestSignInTellsNobodyWhoHasMandates(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, map[string]string{"email": "ada@example.com"})
	before := len(c.Mails())
	answers := map[string]string{}
	for _, email := range []string{"eve@example.com", "ada@example.com"} {
		status, text := c.open(t, browser(t), c.URL+"/me/code", url.Values{"email": {email}})
		require.Equal(t, http.StatusOK, status)
		answers[strings.ReplaceAll(text, email, "?")] = email
		_, text = c.open(t, browser(t), c.URL+"/me/sign-in", url.Values{"email": {email}, "code": {"1"}})
		answers[strings.ReplaceAll(text, email, "?")] = email
	}
	require.Len(t, answers, 2)
	require.Eventually(t, func() bool { return len(c.Mails()) > before }, time.Minute, 10*time.Millisecond)
	for _, m := range c.Mails() {
		require.NotEqual(t, "eve@example.com", m.To)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+"/me/erase", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "another site's form")
}

// TestPersonErasesTheAddress: the books stay, and so do private links.
func TestPersonErasesTheAddress(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, map[string]string{"email": "ada@example.com"})
			c.charge(t, m.mandate, 250, "one").ok(t)
			b := c.signIn(t, "ada@example.com")
			c.Clock.Advance(11 * time.Minute)
			_, text := c.open(t, b, c.URL+"/me/data", nil)
			require.NotContains(t, text, `action="/me/erase"`)
			status, _ := c.open(t, b, c.URL+"/me/erase", url.Values{})
			require.Equal(t, http.StatusSeeOther, status, "a sign-in that is too old")
			b = c.signIn(t, "ada@example.com")
			_, text = c.open(t, b, c.URL+"/me/data", nil)
			require.Contains(t, text, "Agents can still pay for you.")
			status, text = c.open(t, b, c.URL+"/me/erase", url.Values{})
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, text, "Your address is erased")
			_, text = c.open(t, b, c.URL+"/me", nil)
			require.Contains(t, text, "Mail me a code")
			require.Contains(t, c.page(t, m.link).ok(t).Text, "$2.50 paid in all")
			c.charge(t, m.mandate, 250, "two").ok(t)
			before := len(c.Mails())
			c.open(t, browser(t), c.URL+"/me/code", url.Values{"email": {"ada@example.com"}})
			require.Never(t, func() bool { return len(c.Mails()) > before }, 300*time.Millisecond, 50*time.Millisecond)
		})
	}
}
