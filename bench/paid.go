package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	shopWallet  = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	buyerWallet = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
)

// paidRows compare paid requests with a handler that makes the calls which none can do
// without: POSTs to a facilitator that answers at once. Version 1 settles; version 2
// verifies before.
func paidRows(ctx context.Context) ([]row, error) {
	facilitator := httptest.NewServer(http.HandlerFunc(answerPayment))
	defer facilitator.Close()
	pooled := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: webCallers, DisableCompression: true}}
	defer pooled.CloseIdleConnections()
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: shopWallet, APIURL: "https://sandbox.pay.example", TestMode: true, Resource: "https://api.example.com/weather",
		Secrets: []string{"a secret of sixteen bytes or more"}, Facilitator: facilitator.URL, HTTPClient: pooled,
		Redemptions: paywall.NewMemory(paywall.MemoryConfig{Max: 1 << 20}),
	})
	if err != nil {
		return nil, err
	}
	answer := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"temperature":7}`)
	}
	gated := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	calling := func(urls ...string) http.Handler {
		sent := settlement()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, url := range urls {
				if err := post(r.Context(), pooled, url, sent); err != nil {
					http.Error(w, err.Error(), http.StatusBadGateway)
					return
				}
			}
			answer(w)
		})
	}
	accepted, err := acceptedBy(ctx, gated)
	if err != nil {
		return nil, err
	}
	settle, verify := facilitator.URL+"/settle", facilitator.URL+"/verify"
	one, err := pair(loadPaid(ctx, calling(settle), x402.HeaderPayment, paymentV1), loadPaid(ctx, gated, x402.HeaderPayment, paymentV1))
	if err != nil {
		return nil, err
	}
	paymentV2 := func(e x402.Exact) any {
		return x402.Payload{X402Version: x402.Version2, Accepted: accepted, Payload: e}
	}
	two, err := pair(loadPaid(ctx, calling(verify, settle), x402.HeaderPaymentSignature, paymentV2), loadPaid(ctx, gated, x402.HeaderPaymentSignature, paymentV2))
	return []row{
		atLeast("paid request, x402 v1, requests/s", "bare handler and one POST", one, 0.80),
		atLeast("paid request, x402 v2, requests/s", "bare handler and two POSTs", two, 0.80),
	}, err
}

// answerPayment is a facilitator to which every payment is good.
func answerPayment(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/verify") {
		_, _ = fmt.Fprintf(w, `{"isValid":true,"payer":%q}`, buyerWallet)
		return
	}
	_, _ = fmt.Fprintf(w, `{"success":true,"transaction":"0x%064x","network":"eip155:84532","payer":%q}`, 1, buyerWallet)
}

// acceptedBy is what a payment of version 2 accepts of a gate.
func acceptedBy(ctx context.Context, gated http.Handler) (x402.Requirements, error) {
	w := httptest.NewRecorder()
	gated.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/weather", nil))
	required, err := x402.DecodePaymentRequired(w.Header().Get(x402.HeaderPaymentRequired))
	if err != nil {
		return x402.Requirements{}, err
	}
	return required.Accepts[0], nil
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// loadPaid measures the time of a request of a handler with a credential of its own.
func loadPaid(ctx context.Context, h http.Handler, header string, payment func(x402.Exact) any) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		srv := httptest.NewServer(h)
		defer srv.Close()
		return loadPaidAt(ctx, srv.URL, header, payment)()
	}
}

// loadPaidAt is loadPaid of a server that runs.
func loadPaidAt(ctx context.Context, url, header string, payment func(x402.Exact) any) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		credentials, err := newCredentials(webCallers*webCalls, payment)
		if err != nil {
			return 0, err
		}
		return atOnce(func(client *http.Client, n int) error { return getPaid(ctx, client, url, header, credentials[n]) })
	}
}

func getPaid(ctx context.Context, client *http.Client, url, header, credential string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set(header, credential)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("a paid request was answered %s", resp.Status)
	}
	return err
}

// paymentV1 is a payment of version 1.
func paymentV1(e x402.Exact) any {
	return x402.PayloadV1{X402Version: x402.Version1, Scheme: x402.SchemeExact, Network: x402.NetworkBaseSepoliaV1, Payload: e}
}

// newCredentials makes payments, each good once. Their signature is none: the
// facilitator here does not look.
func newCredentials(n int, payment func(x402.Exact) any) ([]string, error) {
	list := make([]string, n)
	for i := range list {
		nonce := make([]byte, 32)
		_, _ = rand.Read(nonce) // never fails
		header, err := x402.EncodeHeader(payment(x402.Exact{
			Signature: "0x" + strings.Repeat("ab", 65), Authorization: x402.Authorization{
				From: buyerWallet, To: shopWallet, Value: "10000", ValidAfter: "0",
				ValidBefore: strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10), Nonce: "0x" + hex.EncodeToString(nonce),
			},
		}))
		if err != nil {
			return nil, err
		}
		list[i] = header
	}
	return list, nil
}
