package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

// TestListenAndTrigger: each type that is triggered is printed, and reaches a
// local receiver with a signature that verifies.
func TestListenAndTrigger(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	got := make(chan webhook.Type, 100)
	secret := webhook.NewSecret()
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e, err := webhook.Verifier{Secrets: []string{secret}}.Verify(r.Header, body)
		if err != nil {
			t.Error(err)
		}
		got <- e.Type
	}))
	defer receiver.Close()
	who := []string{"--url", srv.URL, "--merchant-id", srv.Merchant.ID, "--api-key", srv.Merchant.APIKey}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	notes, told := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"webhooks", "listen", "--forward-to", receiver.URL, "--secret", secret}, who...), output{in, told})
		_, _ = in.Close(), told.Close()
	}()
	said := bufio.NewScanner(notes)
	require.True(t, said.Scan())
	require.Contains(t, said.Text(), "Listening")
	go io.Copy(io.Discard, notes) // ends with the command
	printed := bufio.NewScanner(out)
	for _, kind := range webhook.Types() {
		var answer bytes.Buffer
		require.NoError(t, run(t.Context(), append([]string{"webhooks", "trigger", string(kind)}, who...), output{&answer, io.Discard}))
		require.Contains(t, answer.String(), kind)
		for {
			require.True(t, printed.Scan())
			if e := <-got; e == kind {
				require.Contains(t, printed.Text(), `"type":"`+string(kind)+`"`)
				break
			}
		}
	}
	stop()
	for printed.Scan() {
		require.True(t, strings.HasPrefix(printed.Text(), "{"))
	}
	require.NoError(t, <-ended)
}

// TestDevHearsOfWhatHappens: the secret on the ready line is that of the endpoint at
// the merchant's API, which accepts it; a later run has one endpoint too.
func TestDevHearsOfWhatHappens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- run(ctx, []string{"dev", "--addr", "127.0.0.1:0", "--no-chain", "--data", dir}, output{in, io.Discard})
			_ = in.Close()
		}()
		var line ready
		require.NoError(t, json.NewDecoder(out).Decode(&line))
		require.NoError(t, signs(line.Merchant.WebhookSecret))
		require.Empty(t, line.Other.WebhookSecret)
		c, err := client.New(client.Config{BaseURL: line.BaseURL, MerchantID: line.Merchant.ID, APIKey: line.Merchant.APIKey})
		require.NoError(t, err)
		endpoints, err := c.WebhookEndpoints(t.Context())
		require.NoError(t, err)
		require.Len(t, endpoints.Data, 1)
		d, err := c.TestWebhookEndpoint(t.Context(), endpoints.Data[0].ID)
		require.NoError(t, err)
		require.True(t, d.Delivered, d.Error)
		require.Contains(t, get(t, line.MetricsURL, http.StatusOK), `route="/v1/webhook_endpoints/{endpointId}/test"`)
		stop()
		_, _ = io.Copy(io.Discard, out)
		require.NoError(t, <-ended)
	}
}

// signs reports whether a secret can sign.
func signs(secret string) error {
	_, err := webhook.Sign("evt_1", time.Now(), nil, secret)
	return err
}
