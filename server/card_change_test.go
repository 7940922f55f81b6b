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
	"github.com/paywarrant/paywarrant/server/servertest"
)

// changeOf returns the address of the page that changes the card of a mandate.
func (c caller) changeOf(t *testing.T, mandate string) string {
	t.Helper()
	return c.URL + "/me/mandates/" + c.mandateID(t, mandate) + "/card"
}

// TestPersonChangesTheCard: the new card pays from then on; the one before is detached, and still
// gets the refunds of what it paid. The person and the card's owner are mailed.
func TestPersonChangesTheCard(t *testing.T) {
	t.Parallel()
	c, account := withStripe(t)
	s, b := c.session(t), browser(t)
	_, text := c.open(t, b, account.Complete(c.leave(t, b, s.SetupURL), "pm_card_visa", "owner@example.com"), nil)
	form := cardForm(c)
	form.Set("action", "confirm")
	form.Set("method", regexp.MustCompile(`value="(cs_[^"]+)" checked`).FindStringSubmatch(text)[1])
	form.Set("connected", regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1])
	c.prove(t, s.SetupURL, form)
	status, text := c.open(t, b, s.SetupURL, form)
	require.Equal(t, http.StatusSeeOther, status, text)
	done, err := c.Client().Session(t.Context(), s.SessionToken)
	require.NoError(t, err)
	before := c.charge(t, done.Mandate, 250, "before").ok(t).str("transactionId")
	held, err := c.Client().Authorize(t.Context(), client.AuthorizeParams{ChargeParams: client.ChargeParams{
		Mandate: done.Mandate, AmountCents: 150, Currency: client.USD, Description: "taxi", IdempotencyKey: "hold",
	}})
	require.NoError(t, err)

	change := c.changeOf(t, done.Mandate)
	b = c.signIn(t, "ada@example.com")
	_, text = c.open(t, b, c.URL+"/me", nil)
	require.Contains(t, text, strings.TrimPrefix(change, c.URL))
	_, text = c.open(t, b, change, nil)
	require.Contains(t, text, "Visa •••• 4242")
	status, text = c.open(t, b, change, url.Values{"action": {"card"}})
	require.Equal(t, http.StatusOK, status, text)
	page := nextPage.FindStringSubmatch(text)[1]
	require.Contains(t, account.Notice(page), "AI agents will pay Acme with this card")
	back := account.Complete(page, "pm_card_visa", "new-owner@example.com")
	status, text = c.open(t, b, back, nil)
	require.Equal(t, http.StatusOK, status, text)
	form = url.Values{
		"action": {"change"}, "method": {regexp.MustCompile(`value="(cs_[^"]+)" checked`).FindStringSubmatch(text)[1]},
		"connected": {regexp.MustCompile(`name="connected" value="([^"]+)"`).FindStringSubmatch(text)[1]},
	}
	status, text = c.open(t, b, change, form)
	require.Equal(t, http.StatusSeeOther, status, text)
	status, text = c.open(t, b, change, form)
	require.Equal(t, http.StatusUnprocessableEntity, status, "its proof is for the change that was made: %s", text)

	require.Eventually(t, func() bool { return len(account.Detached()) == 1 }, time.Minute, 10*time.Millisecond)
	after := c.charge(t, done.Mandate, 100, "after").ok(t).str("transactionId")
	_, err = c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountCents: 150})
	require.NoError(t, err, "what the card before holds is captured from it")
	for _, paid := range []string{before, held.TransactionID} {
		require.Equal(t, account.Detached()[0], account.PaidWith("paywarrant_reference", paid+".fiatrail"))
	}
	require.NotEqual(t, account.Detached()[0], account.PaidWith("paywarrant_reference", after+".fiatrail"))
	refund, err := c.Client().Refund(t.Context(), before, client.RefundParams{AmountCents: 250, IdempotencyKey: "back"})
	require.NoError(t, err)
	require.Equal(t, client.RefundSucceeded, refund.Status)
	require.EqualValues(t, 250, account.Moved())

	const subject = "The card of your spending mandate was changed"
	require.Eventually(t, func() bool {
		var changed, connected bool
		for _, m := range c.Mails() {
			changed = changed || m.To == "ada@example.com" && m.Subject == subject
			connected = connected || m.To == "new-owner@example.com"
		}
		return changed && connected
	}, time.Minute, 10*time.Millisecond)
}

// TestOnlyTheOwnerChangesTheCard, who is signed in, with a card that was entered in the same
// browser.
func TestOnlyTheOwnerChangesTheCard(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			p := client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}
			mine := c.confirm(t, p, map[string]string{"email": "ada@example.com"})
			c.confirm(t, p, map[string]string{"email": "bob@example.com"})
			change := c.changeOf(t, mine.mandate)
			form := url.Values{"action": {"change"}, "method": {"card_visa"}}
			status, _ := c.open(t, browser(t), change, form)
			require.Equal(t, http.StatusSeeOther, status, "a stranger")
			bob := c.signIn(t, "bob@example.com")
			for _, sent := range []url.Values{nil, form, {"action": {"card"}}} {
				status, _ = c.open(t, bob, change, sent)
				require.Equal(t, http.StatusNotFound, status)
			}
			status, _ = c.open(t, bob, change+"/card?method=cs_1", nil)
			require.Equal(t, http.StatusNotFound, status)

			ada := c.signIn(t, "ada@example.com")
			for method, problem := range map[string]string{
				"card_declined": "This card was refused (card declined)", "": "Choose", "cs_1": "Choose", "own_wallet": "Choose",
			} {
				status, text := c.open(t, ada, change, url.Values{"action": {"change"}, "method": {method}})
				require.Equal(t, http.StatusUnprocessableEntity, status, method)
				require.Contains(t, text, problem, method)
			}
			status, text := c.open(t, ada, change, form)
			require.Equal(t, http.StatusSeeOther, status, text)
			c.charge(t, mine.mandate, 100, "k").ok(t)
			c.open(t, ada, mine.link+"/stop", url.Values{})
			_, text = c.open(t, ada, c.URL+"/me", nil)
			require.NotContains(t, text, "Change the card")
			status, _ = c.open(t, ada, change, form)
			require.Equal(t, http.StatusSeeOther, status)
		})
	}
}
