package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/x402"
)

// TestGateOfAMerchantIsNotCountedByAddress: payments of payers without money, sent with
// a merchant's credentials, use up nothing of the address that the gate shares with
// others, and an address that is used up holds up no merchant.
func TestGateOfAMerchantIsNotCountedByAddress(t *testing.T) {
	t.Parallel()
	f := facilitate(t, func(c *server.Config) { c.RequestsPerSecond, c.AnonymousPerSecond = 100, 1 })
	credentials := http.Header{"X-Service-Merchant-Id": {f.Merchant.ID}, "X-Service-Api-Key": {f.Merchant.APIKey}}
	poor, honest := f, f
	poor.payer, honest.payer = devchain.Payee(7), devchain.Wallets()[1]
	verify := func(f facilitated, header http.Header) answer {
		text, err := json.Marshal(f.requestOf(x402.Version2, f.sign(t, f.authorize(10_000)), "10000"))
		require.NoError(t, err)
		return f.askWith(t, "verify", string(text), header)
	}
	for range 4 {
		require.Equal(t, "insufficient_funds", verify(poor, credentials).str("invalidReason"))
	}
	for range 2 {
		require.Equal(t, "insufficient_funds", verify(poor, nil).str("invalidReason"), "the address has its whole bucket")
	}
	require.Equal(t, 429, verify(poor, nil).Status)
	require.Equal(t, 429, verify(honest, nil).Status)
	require.Equal(t, true, verify(honest, credentials).Body["isValid"])
}

// TestFacilitatorRefusesWrongCredentials: they are not taken for none.
func TestFacilitatorRefusesWrongCredentials(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	text, err := json.Marshal(f.requestOf(x402.Version2, f.sign(t, f.authorize(10_000)), "10000"))
	require.NoError(t, err)
	for name, header := range map[string]http.Header{
		"wrong key": {"X-Service-Merchant-Id": {f.Merchant.ID}, "X-Service-Api-Key": {f.Merchant.APIKey + "0"}},
		"no key":    {"X-Service-Merchant-Id": {f.Merchant.ID}},
		"no id":     {"X-Service-Api-Key": {f.Merchant.APIKey}},
	} {
		for _, path := range []string{"verify", "settle"} {
			t.Log(name, path)
			f.askWith(t, path, string(text), header).refused(t, 401, "unauthorized")
		}
	}
	require.Zero(t, f.paid(t))
}
