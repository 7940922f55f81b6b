package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	apiclient "github.com/paywarrant/paywarrant/client"
)

// token creates an access token that is bound to a mandate.
func (s *seller) token(m string, scopes ...apiclient.Scope) string {
	s.t.Helper()
	made, err := s.service.Client().CreateAccessToken(s.t.Context(), apiclient.AccessTokenParams{Mandate: m, Scopes: scopes})
	require.NoError(s.t, err)
	return made.Token
}

// tokenConfig pays with an access token in place of a merchant's key.
func (s *seller) tokenConfig(m, token string) agent.Config {
	return agent.Config{ServiceURL: s.service.URL, Token: token, Mandate: m, MaxPriceMicros: 1_000_000, AllowPrivate: true}
}

func TestAnAgentPaysWithAnAccessTokenAndNoKey(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.75", nil)
	m := s.mandate(500, 5000)
	for name, scopes := range map[string][]apiclient.Scope{"pay alone": {apiclient.ScopePay}, "pay and balance": {apiclient.ScopePay, apiclient.ScopeBalance}} {
		c := s.tokenConfig(m, s.token(m, scopes...))
		a, err := agent.New(c)
		require.NoError(t, err)
		got, err := a.Fetch(t.Context(), agent.FetchParams{URL: s.url})
		require.NoError(t, err, name)
		require.Equal(t, http.StatusOK, got.Status, name)
		require.Equal(t, int64(750_000), got.Receipt.AmountMicros, name)
		a.CloseIdleConnections()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seen := range s.seen {
		require.NotContains(t, fmt.Sprint(seen), "token_", "the seller sees no access token")
	}
}

func TestAnAgentWhoseTokenMayNotPayIsRefused(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.75", nil)
	m, other := s.mandate(500, 5000), s.mandate(500, 5000)
	for name, token := range map[string]string{
		"no scope": s.token(m, apiclient.ScopeBalance), "another mandate": s.token(other), "unknown": "token_unknown",
	} {
		transport, err := agent.NewTransport(s.tokenConfig(m, token))
		require.NoError(t, err)
		hc := &http.Client{Transport: transport}
		resp, err := hc.Get(s.url)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		var refused *agent.PaymentError
		require.ErrorAs(t, err, &refused, name)
		require.NotContains(t, err.Error(), token, name)
		transport.CloseIdleConnections()
	}
	require.Zero(t, s.served.Load())
}

func TestAnAccessTokenIsPrintedNowhere(t *testing.T) {
	t.Parallel()
	c := agent.Config{ServiceURL: "https://pay.example", Token: "token_canary", Mandate: "dtok_canary", MaxPriceMicros: 1}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", c, c, c), c.LogValue().String()} {
		require.NotContains(t, text, "canary")
	}
	c.Token = "canary"
	_, err := agent.New(c)
	require.ErrorContains(t, err, "agent: Token:")
	require.NotContains(t, err.Error(), "canary")
}
