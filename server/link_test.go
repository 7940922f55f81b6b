package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// TestButtonOfTheStartPageHasTheLimitOfItsAddress: the handler of a link counts against
// the client's address as the service's own forms do, and runs for POST alone.
func TestButtonOfTheStartPageHasTheLimitOfItsAddress(t *testing.T) {
	t.Parallel()
	ran := 0
	srv := servertest.Start(t, &servertest.Options{Configure: func(c *server.Config) {
		c.AnonymousPerSecond = 1
		c.Links = []server.Link{{Name: "Try", URL: "/try", Post: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran++ })}}
	}})
	send := func(method string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/try", http.NoBody)
		require.NoError(t, err)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp
	}
	require.Equal(t, http.StatusSeeOther, send(http.MethodGet).StatusCode)
	require.Zero(t, ran)
	for range 2 {
		require.Equal(t, http.StatusOK, send(http.MethodPost).StatusCode)
	}
	require.Equal(t, http.StatusTooManyRequests, send(http.MethodPost).StatusCode)
	require.Equal(t, 2, ran)
}
