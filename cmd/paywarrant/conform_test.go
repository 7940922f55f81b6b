package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
)

func TestConformIsCleanOnOurFacilitator(t *testing.T) {
	t.Parallel()
	s := startDemo(t)
	text, err := command(t, "conform", "facilitator", s.BaseURL+"/v1/x402", "--rpc", s.Chain.RPCURL(), "--json")
	require.NoError(t, err, text)
	var report conformance.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, len(conformance.FacilitatorRules()), report.Count(conformance.Pass), text)
	require.EqualValues(t, 50_000, report.PaidMicros)
}

func TestConformThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"nothing there":          {[]string{"http://127.0.0.1:1/"}, exitUnreachable},
		"no URL":                 {[]string{"facilitator"}, exitUsage},
		"no wallet for a remote": {[]string{"https://facilitator.example"}, exitUsage},
		"no chain":               {[]string{"http://127.0.0.1:1/", "--rpc", "http://127.0.0.1:1/"}, exitUsage},
	} {
		_, err := command(t, append([]string{"conform", "facilitator"}, c.args...)...)
		require.Error(t, err, name)
		require.Equal(t, c.code, exitCode(err), "%s: %v", name, err)
	}
}
