package server_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
)

// TestSetupPageSaysTheWorstCaseOfWhatIsEntered: the script asks with the form, and gets the sentence or what is
// wrong. It learns the names of those the session names alone.
func TestSetupPageSaysTheWorstCaseOfWhatIsEntered(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Borealis"})
	require.NoError(t, err)
	stranger, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Stranger"})
	require.NoError(t, err)
	s, err := c.Client().CreateSession(t.Context(), client.SessionParams{
		MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: []string{c.Merchant.ID, other.ID},
	})
	require.NoError(t, err)
	day := c.Clock.Now().AddDate(0, 0, 3)
	ask := func(change url.Values) (status int, text string) {
		values := url.Values{
			"maxPerTx": {"5"}, "maxMonthly": {"20"}, "expires": {day.Format("2006-01-02")}, "payee": {other.ID}, "method": {"card_visa"},
		}
		for name, v := range change {
			values[name] = v
		}
		resp, err := http.PostForm(s.SetupURL+"/worst", values)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		return resp.StatusCode, string(body)
	}
	for _, tc := range []struct {
		change url.Values
		status int
		says   string
	}{
		{nil, http.StatusOK, "At most $20.00 a month to Borealis"},
		{url.Values{"maxTotal": {"7.50"}}, http.StatusOK, "at most $7.50 until " + day.Format("2 January 2006")},
		{url.Values{"payee": {c.Merchant.ID, other.ID}}, http.StatusOK, " and Borealis, at most"},
		{url.Values{"roundUpRest": {"yes"}}, http.StatusOK, "charged as $0.50"},
		{url.Values{"maxPerTx": {"x"}}, http.StatusUnprocessableEntity, "The limit for one payment must be an amount such as 25 or 12.50."},
		{url.Values{"maxMonthly": {"51"}}, http.StatusUnprocessableEntity, "can be at most $50.00"},
		{url.Values{"payee": {stranger.ID}}, http.StatusUnprocessableEntity, "Choose at least one of those who may be paid."},
	} {
		status, text := ask(tc.change)
		require.Equal(t, tc.status, status, tc.says)
		require.Contains(t, text, tc.says)
		require.NotContains(t, text, "Stranger")
	}
}
