package server_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestSetupPageMarksTheInvalidField: for people who do not see the page, and only that
// field.
func TestSetupPageMarksTheInvalidField(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	s, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	invalid := regexp.MustCompile(`<[^>]*aria-invalid="true"[^>]*>`)
	for name, bad := range map[string]string{"maxPerTx": "x", "maxMonthly": "9999", "expires": "2001-01-01", "method": "none"} {
		values := url.Values{"maxPerTx": {"5"}, "maxMonthly": {"50"}, "expires": {"2027-01-31"}, "method": {"card_visa"}}
		values.Set("expires", c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02"))
		values.Set(name, bad)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.SetupURL, strings.NewReader(values.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		page, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		text := string(page)
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, name)
		marked := invalid.FindAllString(text, -1)
		require.Len(t, marked, 1, name)
		require.Contains(t, marked[0], `aria-describedby="error`)
		if name != "method" {
			require.Contains(t, marked[0], `name="`+name+`"`)
		}
		require.Contains(t, text, `id="error"`)
	}
}
