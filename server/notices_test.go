package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// notices waits until n messages beside the confirmation were sent, and a check later, and returns their
// subjects.
func (c caller) notices(t *testing.T, n int) (subjects []string) {
	t.Helper()
	told := func() (all []server.Message) {
		for _, m := range c.letters() {
			if m.Subject != "Your spending mandate" {
				all = append(all, m)
			}
		}
		return all
	}
	c.Clock.Advance(2 * time.Minute)
	require.Eventually(t, func() bool { return len(told()) >= n }, time.Minute, 10*time.Millisecond)
	c.Clock.Advance(2 * time.Minute)
	time.Sleep(1500 * time.Millisecond) // another check runs
	for _, m := range told() {
		subjects = append(subjects, m.Subject)
	}
	return subjects
}

// TestLimitsThatAreUsedAreMailedOnce: half, 80 % and all, each once in a month, to the one who asked.
func TestLimitsThatAreUsedAreMailedOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			month := "the limit for " + c.Clock.Now().UTC().Format("January 2006")
			p := client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000}
			m := c.confirm(t, p, map[string]string{"email": "ada@example.com", "maxMonthly": "10"})
			c.charge(t, m.mandate, 499, "almost half").ok(t)
			c.charge(t, m.mandate, 1, "half").ok(t)
			require.Equal(t, []string{"Half of " + month + " is used"}, c.notices(t, 1))
			c.charge(t, m.mandate, 100, "no more").ok(t)
			c.charge(t, m.mandate, 400, "all").ok(t)
			require.Equal(t, []string{"Half of " + month + " is used", "All of " + month + " is used"}, c.notices(t, 2))
			last := c.letters()[len(c.letters())-1]
			require.Equal(t, "ada@example.com", last.To)
			require.Contains(t, last.Text, "$10.00 of $10.00 is used")
			require.Contains(t, last.Text, m.link)
			c.charge(t, m.mandate, 1, "too much").refused(t, http.StatusPaymentRequired, "monthly")
		})
	}
}

// TestPersonChoosesWhatIsMailed: payments above an amount, no limits, nothing after the address was erased.
func TestPersonChoosesWhatIsMailed(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 50_000, MaxMonthlySpendCents: 100_000}, map[string]string{
		"email": "ada@example.com", "maxPerTx": "500", "maxMonthly": "1000",
	})
	page := c.page(t, m.link+"/notices").Text
	require.Contains(t, page, "a…@example.com")
	require.NotContains(t, page, "ada@")
	for _, bad := range []string{"x", "-1", "0.99", "1.001", "1e9"} {
		resp, text := post(t, m.link+"/notices", url.Values{"above": {bad}, "limits": {"yes"}}, "same-origin")
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
		require.Contains(t, text, "at least $1")
		require.Contains(t, text, `value="`+bad+`"`)
	}
	resp, _ := post(t, m.link+"/notices", url.Values{"above": {"1"}}, "cross-site")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	status, _ := c.form(t, m.link+"/notices", url.Values{"above": {"25"}})
	require.Equal(t, http.StatusOK, status)

	c.charge(t, m.mandate, 2500, "not above").ok(t)
	c.charge(t, m.mandate, 2501, "above").ok(t)
	c.charge(t, m.mandate, 50_000, "more than half").ok(t)
	subjects := c.notices(t, 2)
	require.ElementsMatch(t, []string{"An agent paid $25.01 for you", "An agent paid $500.00 for you"}, subjects)
	for _, l := range c.letters() {
		require.False(t, strings.HasPrefix(l.Subject, "An agent") && !strings.Contains(l.Text, "/receipts/"))
	}

	b := c.signIn(t, "ada@example.com")
	_, text := c.open(t, b, c.URL+"/me/erase", url.Values{})
	require.Contains(t, text, "Your address is erased")
	c.charge(t, m.mandate, 3000, "erased").ok(t)
	require.Len(t, c.notices(t, 2), 2)
	require.NotContains(t, c.page(t, m.link).Text, "What is mailed to you")
}
