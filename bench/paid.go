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
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	shopWallet  = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	buyerWallet = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	paidCallers = 8
	paidCalls   = 500
)

// paidRow compares a paid request with a handler that makes the one call which
// none can do without: a POST to a facilitator that answers at once.
func paidRow(ctx context.Context) (row, error) {
	facilitator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"success":true,"transaction":"0x%064x","network":"base-sepolia","payer":%q}`, 1, buyerWallet)
	}))
	defer facilitator.Close()
	pooled := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: paidCallers, DisableCompression: true}}
	defer pooled.CloseIdleConnections()
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: shopWallet, APIURL: "https://sandbox.pay.example", TestMode: true, Resource: "https://api.example.com/weather",
		Secrets: []string{"a secret of sixteen bytes or more"}, Facilitator: facilitator.URL, HTTPClient: pooled,
		Redemptions: paywall.NewMemory(paywall.MemoryConfig{Max: 1 << 20}),
	})
	if err != nil {
		return row{}, err
	}
	answer := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"temperature":7}`)
	}
	gated := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	sent := []byte(`{"x402Version":1,"paymentPayload":` + strings.Repeat(" ", 500) + `{},"paymentRequirements":` + strings.Repeat(" ", 400) + `{}}`)
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := post(r.Context(), pooled, facilitator.URL, sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		answer(w)
	})
	ratio, err := pair(loadPaid(ctx, bare), loadPaid(ctx, gated))
	return atLeast("paid request, requests/s", "bare handler and one POST", ratio, 0.80), err
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

// loadPaid measures the time of a request with a credential of its own.
func loadPaid(ctx context.Context, h http.Handler) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		credentials, err := newCredentials(paidCallers * paidCalls)
		if err != nil {
			return 0, err
		}
		srv := httptest.NewServer(h)
		defer srv.Close()
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: paidCallers}}
		defer client.CloseIdleConnections()
		var all sync.WaitGroup
		errs := make(chan error, paidCallers)
		began := time.Now()
		for i := range paidCallers {
			all.Go(func() {
				own := credentials[i*paidCalls : (i+1)*paidCalls]
				_, err := each(paidCalls, func() error {
					credential := own[0]
					own = own[1:]
					return getPaid(ctx, client, srv.URL, credential)
				})
				errs <- err
			})
		}
		all.Wait()
		took := time.Since(began) / (paidCallers * paidCalls)
		for range paidCallers {
			if err := <-errs; err != nil {
				return 0, err
			}
		}
		return took, nil
	}
}

func getPaid(ctx context.Context, client *http.Client, url, credential string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set(x402.HeaderPayment, credential)
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

// newCredentials makes payments of version 1, each good once. Their signature is
// none: who settles them here does not look.
func newCredentials(n int) ([]string, error) {
	list := make([]string, n)
	for i := range list {
		nonce := make([]byte, 32)
		_, _ = rand.Read(nonce) // never fails
		header, err := x402.EncodeHeader(x402.PayloadV1{
			X402Version: x402.Version1, Scheme: x402.SchemeExact, Network: x402.NetworkBaseSepoliaV1,
			Payload: x402.Exact{Signature: "0x" + strings.Repeat("ab", 65), Authorization: x402.Authorization{
				From: buyerWallet, To: shopWallet, Value: "10000", ValidAfter: "0",
				ValidBefore: strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10), Nonce: "0x" + hex.EncodeToString(nonce),
			}},
		})
		if err != nil {
			return nil, err
		}
		list[i] = header
	}
	return list, nil
}
