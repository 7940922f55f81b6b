package client_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

func TestTokensArePrintedNowhereButOnTheWire(t *testing.T) {
	t.Parallel()
	const canary = "TokenCanary"
	for _, v := range []any{
		client.Session{SessionToken: canary, SetupURL: "https://pay.example/setup/" + canary, Mandate: canary, MandateID: "del_1"},
		client.Presentation{Presentation: canary},
		client.ChargeParams{Mandate: canary, AmountCents: 250},
		client.PaywallSettlementParams{Mandate: canary, Price: "0.01"},
		client.Merchant{ID: "mer_1", APIKey: canary},
		client.WebhookEndpoint{ID: "we_1", Secret: canary},
		client.AccessToken{ID: "tok_1", Token: canary},
	} {
		nested := struct{ Value any }{v}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			requireNoSecret(t, fmt.Sprintf(verb, v), verb)
			requireNoSecret(t, fmt.Sprintf(verb, nested), verb)
		}
		require.Contains(t, fmt.Sprintf("%+v", v), "[redacted]")
		var log logBuffer
		log.logger().Info("value", slog.Any("value", v))
		slog.New(slog.NewTextHandler(&log, nil)).Info("value", slog.Any("value", v))
		requireNoSecret(t, log.String(), "log")
		require.Contains(t, log.String(), "[redacted]")
		wire, err := json.Marshal(v)
		require.NoError(t, err)
		require.Contains(t, string(wire), canary)
	}
	require.Contains(t, fmt.Sprintf("%+v", client.Session{MandateID: "del_1"}), "MandateID:del_1")
}
