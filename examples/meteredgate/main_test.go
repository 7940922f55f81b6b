package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func TestStreamCostsWhatItUsed(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	gate, err := paywall.New(paywall.Config{
		Price: "0.60", Metered: true, PayTo: wallet, APIURL: srv.URL, TestMode: true, Resource: "http://" + address + "/answers",
		Merchant: paywall.Merchant{ID: srv.Merchant.ID, APIKey: srv.Merchant.APIKey},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, gate, address) }()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/answers", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Service-Mandate", m)
	var resp *http.Response
	require.Eventually(t, func() bool {
		resp, err = http.DefaultClient.Do(r)
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	s, err := x402.DecodeSettlement(resp.Trailer.Get("X-Payment-Response"))
	require.NoError(t, err)
	require.Equal(t, []int64{600_000, 450_000}, []int64{s.Metered.AuthorizedMicros, s.Metered.CapturedMicros})
	stop()
	require.NoError(t, <-ended)
}
