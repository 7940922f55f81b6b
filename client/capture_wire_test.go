package client_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestCaptureOfMicroDollarsNamesNoCents: a service that does not know amountMicros would void
// the authorization if it read zero cents.
func TestCaptureOfMicroDollarsNamesNoCents(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]client.CaptureParams{
		`{"amountMicros":3500,"idempotencyKey":"k"}`:                 {AmountMicros: 3500, IdempotencyKey: "k"},
		`{"amountCents":0,"idempotencyKey":"k"}`:                     {IdempotencyKey: "k"},
		`{"amountCents":1,"amountMicros":3500,"idempotencyKey":"k"}`: {AmountCents: 1, AmountMicros: 3500, IdempotencyKey: "k"},
	} {
		got, err := json.Marshal(p)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
	}
}
