package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// formOf is the setup form as it is shown, with changes.
func formOf(changes map[string]string) url.Values {
	form := url.Values{"maxPerTx": {"5.00"}, "maxMonthly": {"50.00"}, "action": {"confirm"}}
	for name, value := range changes {
		form.Set(name, value)
	}
	return form
}

func post(t *testing.T, link string, form url.Values, site string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// The wallet's part of the setup page: what is not the page's own is refused, and
// scripts run only on pages that ask a wallet.
func TestWalletOnTheSetupPage(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	session := func(rail client.Rail) client.Session {
		s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, RequestedRail: rail})
		require.NoError(t, err)
		return s
	}
	withScript := func(s client.Session) bool {
		path := strings.TrimPrefix(s.SetupURL, c.URL)
		a := c.do(t, http.MethodGet, path, "")
		policy := a.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, strings.Contains(policy, "script-src 'self'"), strings.Contains(a.Text, "<script"))
		return strings.Contains(a.Text, "/assets/wallet-")
	}
	require.True(t, withScript(session(client.BothRails)))
	cards := session(client.CardRail)
	require.False(t, withScript(cards))

	s := session(client.BothRails)
	owner := devchain.Wallets()[0].Address.Hex()
	until := c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02")
	form := formOf(map[string]string{"owner": owner, "expires": until})
	resp, _ := post(t, s.SetupURL+"/wallet", form, "cross-site")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	resp, text := post(t, s.SetupURL+"/wallet", form, "same-origin")
	require.Equal(t, http.StatusOK, resp.StatusCode, text)
	var proposal struct {
		ID       string
		Messages []json.RawMessage
		Problem  string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &proposal))
	require.Len(t, proposal.Messages, 2)
	resp, text = post(t, cards.SetupURL+"/wallet", form, "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	require.Contains(t, text, `"problem":`)

	for name, choice := range map[string]map[string]string{
		"Choose how to pay":       {"method": "wallet:" + proposal.ID},
		"JavaScript":              {"method": "own_wallet"},
		"The limits have changed": {"method": "own_wallet", "proposal": proposal.ID, "signature": "0x"},
	} {
		choice["expires"] = until
		resp, text = post(t, s.SetupURL, formOf(choice), "same-origin")
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, name)
		require.Contains(t, text, name)
	}
	after, err := c.Client().Session(t.Context(), s.SessionToken)
	require.NoError(t, err)
	require.Equal(t, client.SessionPending, after.Status)
}

// Without a chain there is no wallet to ask.
func TestNoWalletWithoutAChain(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{})
	s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	a := c.do(t, http.MethodGet, strings.TrimPrefix(s.SetupURL, c.URL), "")
	require.NotContains(t, a.Text, "own-wallet")
	require.NotContains(t, a.Text, "/assets/wallet-")
}
