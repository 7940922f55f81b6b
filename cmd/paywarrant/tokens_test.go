package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestAnAgentPaysFromTheCommandLineWithATokenAlone: a merchant makes a mandate and a token,
// and an agent that has the two pays, until the token is revoked.
func TestAnAgentPaysFromTheCommandLineWithATokenAlone(t *testing.T) {
	t.Parallel()
	s := developed(t, nil)
	as := []string{"--url", s.BaseURL, "--merchant-id", s.People.Merchant.ID, "--api-key", s.People.Merchant.APIKey}
	ran := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), args, output{&out, io.Discard})
		return out.String(), err
	}
	merchant := func(args ...string) string {
		out, err := ran(append(args, as...)...)
		require.NoError(t, err, out)
		return out
	}
	var made struct{ DelegateID, IntentMandate, AccessToken string }
	require.NoError(t, json.Unmarshal([]byte(merchant("mandate", "create", "--json")), &made))
	require.Regexp(t, "^token_", made.AccessToken)
	env := merchant("mandate", "create", "--env")
	require.Regexp(t, `^export SERVICE_MANDATE=dtok_\S+\nexport SERVICE_ACCESS_TOKEN=token_\S+\n$`, env)

	pay := func(token string) error {
		_, err := ran("pay", s.API.BaseURL+"/report", "--service", s.BaseURL, "--mandate", made.IntentMandate, "--token", token)
		return err
	}
	require.NoError(t, pay(made.AccessToken))
	plain := strings.TrimSpace(merchant("tokens", "create", "--name", "shopping agent", "--scope", "pay", "--mandate", made.DelegateID))
	require.NoError(t, pay(plain))
	table := merchant("tokens", "list")
	require.Contains(t, table, "shopping agent")
	require.NotContains(t, table, "token_")
	var newest client.AccessToken
	first, _, _ := strings.Cut(merchant("tokens", "list", "--json"), "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &newest))
	require.Equal(t, made.DelegateID, newest.MandateID)
	require.Contains(t, merchant("tokens", "revoke", newest.ID), "revoked")
	require.ErrorContains(t, pay(plain), "expired, revoked")
	require.NoError(t, pay(made.AccessToken))

	var out, notice bytes.Buffer
	require.NoError(t, run(t.Context(), append([]string{"tokens", "create"}, as...), output{&out, &notice}))
	require.Regexp(t, `^token_\S+\n$`, out.String(), "only the token is the result")
	require.Contains(t, notice.String(), "all mandates of the merchant")

	_, err := ran("pay", s.API.BaseURL+"/report", "--service", s.BaseURL, "--mandate", made.IntentMandate)
	require.ErrorContains(t, err, "SERVICE_ACCESS_TOKEN")
	require.Equal(t, exitUsage, exitCode(err))
}
