package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
)

func get(t *testing.T, url string, status int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, status, resp.StatusCode, string(text))
	return string(text)
}

// TestServeTellsMetrics: of service, chain, process and program, on a listener of
// their own, which has nothing else; the service's has none.
func TestServeTellsMetrics(t *testing.T) {
	t.Parallel()
	s := operate(t, "sandbox", "", "[metrics]\nlisten = \"127.0.0.1:0\"\n")
	s.hire(t)
	ch, err := s.client(t).Charge(t.Context(), client.ChargeParams{
		Mandate: s.setUp(t, devchain.Wallets()[0]), AmountCents: 100, Currency: client.USDC, Description: "told",
	})
	require.NoError(t, err)
	require.Equal(t, client.Completed, ch.Status)

	metrics := s.line("serving metrics").URL
	text := get(t, metrics, http.StatusOK)
	for _, line := range []string{
		`paywarrant_charges_total{rail="chainrail",reason="",status="succeeded"} 1`, `paywarrant_charged_micros_total{rail="chainrail"} 1e+06`,
		`paywarrant_fees_micros_total{rail="chainrail"} 30000`, `paywarrant_build_info{version="` + client.Version + `"} 1`,
		"\npaywarrant_chain_relayer_ether 10000\n", "\nprocess_resident_memory_bytes ", "\ngo_goroutines ",
	} {
		require.True(t, strings.Contains(text, line), line) //nolint:testifylint // without the whole text
	}
	require.False(t, strings.Contains(text, "\npaywarrant_chain_watched_block 0\n")) //nolint:testifylint // without the whole text
	get(t, strings.TrimSuffix(metrics, metricsPath)+"/v1/merchants/stats", http.StatusNotFound)
	get(t, s.url+metricsPath, http.StatusNotFound)
}

// line is that of the log with a message.
func (s *operated) line(msg string) (line struct{ Msg, URL string }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := range strings.Lines(s.logs.String()) {
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == msg {
			return line
		}
	}
	return line
}
