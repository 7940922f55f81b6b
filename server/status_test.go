package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// TestRevokedMandateIsRefusedOffline is must-show 6: a verifier that never asks
// the service about this mandate refuses it within the list's ttl.
func TestRevokedMandateIsRefusedOffline(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			refusedOffline(t, openMarketOn(t, kind))
		})
	}
}

func refusedOffline(t *testing.T, m market) {
	t.Helper()
	gone, stays := m.mandateFor(t, "*"), m.mandateFor(t, "*")
	keys := mandate.RemoteKeys(m.URL + "/.well-known/jwks.json")
	v := mandate.Verifier{
		Issuer: m.URL, Keys: keys, Clock: m.Clock.Now,
		Statuses: &mandate.RemoteStatusSource{Keys: keys, Clock: m.Clock.Now},
	}
	made := m.present(t, gone, purchase())
	for _, token := range []string{gone, stays, made} {
		got, err := v.Verify(t.Context(), token)
		require.NoError(t, err)
		require.NotNil(t, got.Status)
	}
	m.do(t, "POST", "/v1/mandates/"+gone+"/revoke", "").ok(t)
	m.Clock.Advance(mandate.DefaultStatusTTL)
	_, err := v.Verify(t.Context(), gone)
	require.ErrorIs(t, err, mandate.ErrRevoked)
	_, err = v.Verify(t.Context(), stays)
	require.NoError(t, err)
	m.do(t, "POST", "/v1/mandates/"+gone+"/revoke", "").ok(t)

	got, err := v.Verify(t.Context(), stays)
	require.NoError(t, err)
	list := m.do(t, "GET", got.Status.URI[len(m.URL):], "").ok(t)
	require.Equal(t, "application/statuslist+jwt", list.Header.Get("Content-Type"))
	require.Equal(t, "no-cache", list.Header.Get("Cache-Control"))
	require.Less(t, len(list.Text), 4096, "a sparse list is short")
	again := m.do(t, "GET", got.Status.URI[len(m.URL):], "", "If-None-Match", list.Header.Get("ETag"))
	require.Equal(t, 304, again.Status)
}
