package client_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// BenchmarkCharge against what it cannot beat: the same request and answer by
// net/http and encoding/json alone, on the same server.
func BenchmarkCharge(b *testing.B) {
	srv := httptest.NewServer(reply(200, chargeAnswer))
	b.Cleanup(srv.Close)
	b.Run("client", func(b *testing.B) {
		c, err := client.New(client.Config{BaseURL: srv.URL, MerchantID: merchantID, APIKey: apiKey, HTTPClient: srv.Client()})
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			_, err := c.Charge(b.Context(), chargeParams())
			require.NoError(b, err)
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			body, err := json.Marshal(chargeParams())
			require.NoError(b, err)
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, srv.URL+"/v1/payments/charge", bytes.NewReader(body))
			require.NoError(b, err)
			res, err := srv.Client().Do(req)
			require.NoError(b, err)
			var ch client.Charge
			require.NoError(b, json.NewDecoder(res.Body).Decode(&ch))
			require.NoError(b, res.Body.Close())
		}
	})
}
