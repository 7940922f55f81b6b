package paywall_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/x402"
)

func challengeID(t *testing.T, h http.Header) string {
	t.Helper()
	list, err := mpp.ParseChallenges(h.Values("WWW-Authenticate")...)
	require.NoError(t, err)
	return list[0].ID
}

func TestRealServicePresentationOpensOneDoorOnce(t *testing.T) {
	t.Parallel()
	const stranger = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	s := open(t, "0.50", stranger, nil)
	_, err := s.service.CreateMerchant(t.Context(), server.MerchantParams{Name: "Stranger", PayTo: stranger})
	require.NoError(t, err)
	m := s.mandate("*")
	params := client.PresentationParams{
		Audience: s.url[:len(s.url)-len("/report")], Nonce: challengeID(t, s.get().header), Amount: "0.50", PayTo: stranger,
		Network: x402.NetworkBaseSepolia, Resource: s.url,
	}
	present := func(change func(*client.PresentationParams)) string {
		t.Helper()
		p := params
		if change != nil {
			change(&p)
		}
		out, err := s.service.Client().CreatePresentation(t.Context(), m, p)
		require.NoError(t, err)
		return out.Presentation
	}
	for name, change := range map[string]func(*client.PresentationParams){
		"price":    func(p *client.PresentationParams) { p.Amount = "0.51" },
		"payee":    func(p *client.PresentationParams) { p.PayTo = payTo },
		"resource": func(p *client.PresentationParams) { p.Resource += "2" },
		"network":  func(p *client.PresentationParams) { p.Network = "eip155:8453" },
	} {
		got := s.get("X-Service-Mandate", present(change))
		require.Equal(t, http.StatusPaymentRequired, got.status, name)
		require.Equal(t, "credential_for_another_payment", got.code, name)
	}
	good := present(nil)
	require.Equal(t, http.StatusOK, s.get("X-Service-Mandate", good).status)
	require.Equal(t, "already_redeemed", s.get("X-Service-Mandate", good).code)
	require.Equal(t, "already_redeemed", s.get("X-Service-Mandate", present(nil)).code, "signed anew for the same challenge")
	require.Equal(t, int64(1), s.served.Load())
}
