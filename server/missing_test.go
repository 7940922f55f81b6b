package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestMissingPages: a person sees a page, a program JSON, and the form of a private page that
// is loaded as a page leads back to it.
func TestMissingPages(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	get := func(path, accept string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+path, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response
	}
	for accept, kind := range map[string]string{"text/html,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "application/json", "": "application/json"} {
		for _, path := range []string{"/nope", "/setup", "/%00"} {
			missing := get(path, accept)
			require.Equal(t, http.StatusNotFound, missing.StatusCode)
			require.Equal(t, kind, missing.Header.Get("Content-Type"), path)
			require.Contains(t, missing.Header["Vary"], "Accept")
		}
	}
	require.Equal(t, "application/json", get("/v1/nope", "text/html").Header.Get("Content-Type"))

	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, nil)
	back := get(strings.TrimPrefix(m.link, c.URL)+"/pause", "text/html")
	require.Equal(t, http.StatusOK, back.StatusCode)
	require.Equal(t, m.link, c.URL+back.Request.URL.Path)
}

// TestMissingPageOfTheDashboard has the menu.
func TestMissingPageOfTheDashboard(t *testing.T) {
	t.Parallel()
	missing := merchantTab(t).get("/dashboard/nope")
	require.Equal(t, http.StatusNotFound, missing.Status)
	require.Contains(t, missing.Text, "/dashboard/transactions")
}
