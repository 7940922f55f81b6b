package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

func TestReceive(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	out, in := io.Pipe()
	mux := http.NewServeMux()
	receiver := httptest.NewServer(mux)
	defer receiver.Close()
	e, err := srv.Client().CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: receiver.URL + "/hooks"})
	require.NoError(t, err)
	require.NoError(t, receive(mux, e.Secret, in))

	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	_, err = srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 250, Currency: client.USD, Description: "test"})
	require.NoError(t, err)
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Regexp(t, "^paid: txn_.* 250$", lines.Text())
	_, err = srv.Client().Revoke(t.Context(), m)
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Regexp(t, "^revoked: del_.* by the merchant$", lines.Text())
}
