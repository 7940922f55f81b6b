package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
)

// TestMerchantHidesItsAPIKey: a program that logs the new merchant logs no credentials.
func TestMerchantHidesItsAPIKey(t *testing.T) {
	t.Parallel()
	m := server.Merchant{ID: "mer_1", APIKey: "sk_test_canary"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		text := fmt.Sprintf(verb, m)
		require.NotContains(t, text, "canary", verb)
		require.Contains(t, text, "mer_1", verb)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("created", slog.Any("merchant", m))
	slog.New(slog.NewTextHandler(&log, nil)).Info("created", slog.Any("merchant", m))
	require.NotContains(t, log.String(), "canary")
	require.Contains(t, log.String(), "mer_1")
}
