package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// gated is an API behind a paywall that the service settles for.
type gated struct {
	facilitated

	url    string
	served atomic.Int64
}

func behindGate(t *testing.T, change ...func(*gated)) *gated {
	t.Helper()
	g := &gated{facilitated: facilitate(t)}
	for _, one := range change {
		one(g)
	}
	srv := httptest.NewUnstartedServer(nil)
	g.url = "http://" + srv.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: g.payee, APIURL: g.URL, TestMode: true, Resource: g.url, Clock: g.Clock.Now,
	})
	require.NoError(t, err)
	srv.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		g.served.Add(1)
		_, _ = io.WriteString(w, `{"sky":"clear"}`)
	}))
	srv.Start()
	t.Cleanup(srv.Close)
	return g
}

func (g *gated) get(t *testing.T, header, value string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url, http.NoBody)
	require.NoError(t, err)
	if header != "" {
		r.Header.Set(header, value)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

// credentials are the three ways to pay the gate from a wallet.
func (g *gated) credentials(t *testing.T) map[string]string {
	t.Helper()
	asked := g.get(t, "", "")
	require.Equal(t, http.StatusPaymentRequired, asked.StatusCode)
	two, err := x402.DecodePaymentRequired(asked.Header.Get(x402.HeaderPaymentRequired))
	require.NoError(t, err)
	v1, err := x402.EncodeHeader(x402.PayloadV1{
		X402Version: 1, Scheme: "exact", Network: "base-sepolia", Payload: g.sign(t, g.authorize(10_000)),
	})
	require.NoError(t, err)
	v2, err := x402.EncodeHeader(x402.Payload{
		X402Version: 2, Resource: &two.Resource, Accepted: two.Accepts[0], Payload: g.sign(t, g.authorize(10_000)), Extensions: two.Extensions,
	})
	require.NoError(t, err)
	return map[string]string{x402.HeaderPayment: v1, x402.HeaderPaymentSignature: v2, "Authorization": g.authorization(t, asked)}
}

// authorization pays the gate's MPP challenge.
func (g *gated) authorization(t *testing.T, asked *http.Response) string {
	t.Helper()
	list, err := mpp.ParseChallenges(asked.Header.Values(mpp.HeaderChallenge)...)
	require.NoError(t, err)
	order := g.authorize(10_000)
	order.Nonce = common.HexToHash(list[0].Nonce())
	e := g.sign(t, order)
	a := e.Authorization
	payload, err := json.Marshal(mpp.AuthorizationPayload{
		Type: mpp.CredentialAuthorization, From: a.From, To: a.To, Value: a.Value, ValidAfter: a.ValidAfter,
		ValidBefore: a.ValidBefore, Nonce: a.Nonce, Signature: e.Signature,
	})
	require.NoError(t, err)
	header, err := mpp.Credential{Challenge: list[0], Payload: payload}.Header()
	require.NoError(t, err)
	return header
}

// paid is what the payee has, by the chain itself.
func (f facilitated) paid(t *testing.T) int64 {
	t.Helper()
	node, err := ethclient.DialContext(t.Context(), f.Chain.RPCURL)
	require.NoError(t, err)
	defer node.Close()
	token, usdc := contracts.NewTestUSDC(), devchain.USDC()
	text, err := node.CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: token.PackBalanceOf(common.HexToAddress(f.payee))}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(text)
	require.NoError(t, err)
	return balance.Int64()
}

// receipts maps each header of a payment to the header of its receipt.
var receipts = map[string]string{
	x402.HeaderPayment: x402.HeaderPaymentResponseV1, x402.HeaderPaymentSignature: x402.HeaderPaymentResponse, "Authorization": mpp.HeaderReceipt,
}

// TestPaywallIsPaidFromAWallet: three protocols, one gate, one facilitator.
func TestPaywallIsPaidFromAWallet(t *testing.T) {
	t.Parallel()
	g := behindGate(t)
	var sum int64
	for header, value := range g.credentials(t) {
		resp := g.get(t, header, value)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", header, body)
		require.JSONEq(t, `{"sky":"clear"}`, string(body))
		require.NotEmpty(t, resp.Header.Get(receipts[header]), header)
		sum += 10_000
		require.Equal(t, sum, g.paid(t))

		again := g.get(t, header, value)
		require.NotEqual(t, http.StatusOK, again.StatusCode, "%s: served twice", header)
		require.Equal(t, sum, g.paid(t))
	}
	require.EqualValues(t, 3, g.served.Load())
}

// TestManyRequestsWithOneCredential: one transfer, one content.
func TestManyRequestsWithOneCredential(t *testing.T) {
	t.Parallel()
	g := behindGate(t)
	for header, value := range g.credentials(t) {
		g.served.Store(0)
		before := g.paid(t)
		var fine atomic.Int64
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				if g.get(t, header, value).StatusCode == http.StatusOK {
					fine.Add(1)
				}
			})
		}
		callers.Wait()
		require.Equal(t, []int64{1, 1, 10_000}, []int64{fine.Load(), g.served.Load(), g.paid(t) - before}, header)
	}
}

// TestManySettlementsOfOneAuthorization: without a gate's memory, one answer alone
// is a success; a repeat with the idempotency key of the first call is that answer again.
func TestManySettlementsOfOneAuthorization(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "claim 1"} {
		f := facilitate(t)
		request := f.requestOf(2, f.sign(t, f.authorize(10_000)), "10000")
		var first, replays, duplicates atomic.Int64
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				a := f.settleAs(t, key, request)
				switch {
				case a.Body["errorReason"] == "duplicate_settlement":
					duplicates.Add(1)
				case a.Body["success"] != true:
				case a.Header.Get("Idempotency-Replayed") == "true":
					replays.Add(1)
				default:
					first.Add(1)
				}
			})
		}
		callers.Wait()
		want := []int64{1, 0, 49, 10_000}
		if key != "" {
			want = []int64{1, 49, 0, 10_000}
		}
		require.Equal(t, want, []int64{first.Load(), replays.Load(), duplicates.Load(), f.paid(t)})
		for _, other := range []string{"", "claim 2"} {
			if other != key {
				f.settleAs(t, other, request).refusedPayment(t, "duplicate_settlement")
			}
		}
	}
}

// settleAs settles with an Idempotency-Key request header.
func (f facilitated) settleAs(t *testing.T, key string, request any) answer {
	t.Helper()
	text, err := json.Marshal(request)
	require.NoError(t, err)
	return f.askWith(t, "settle", string(text), http.Header{"Idempotency-Key": {key}})
}

// TestIdempotencyKeyOfASettlementIsBounded: one key, of charges' form.
func TestIdempotencyKeyOfASettlementIsBounded(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	text, err := json.Marshal(f.requestOf(2, f.sign(t, f.authorize(10_000)), "10000"))
	require.NoError(t, err)
	for _, keys := range [][]string{{strings.Repeat("k", 256)}, {"k\u00e9"}, {"a", "b"}} {
		a := f.askWith(t, "settle", string(text), http.Header{"Idempotency-Key": keys})
		require.Equal(t, []any{400, false}, []any{a.Status, a.Body["success"]}, a.Text)
	}
	require.Equal(t, true, f.askWith(t, "settle", string(text), http.Header{"Idempotency-Key": {strings.Repeat("k", 255)}}).Body["success"])
}
