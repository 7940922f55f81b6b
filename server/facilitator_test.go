package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// facilitated is a service with a chain, asked as a facilitator.
type facilitated struct {
	*servertest.Server

	payer devchain.Wallet
	payee string
	asset x402.Asset
}

func facilitate(t *testing.T, configure ...func(*server.Config)) facilitated {
	t.Helper()
	o := &servertest.Options{Chain: chain.Start}
	if len(configure) > 0 {
		o.Configure = configure[0]
	}
	asset, ok := x402.USDC(devchain.ChainID)
	require.True(t, ok)
	return facilitated{
		Server: servertest.Start(t, o), payer: devchain.Wallets()[0],
		payee: devchain.Payee(1).Address.Hex(), asset: asset,
	}
}

// authorize is a transfer of the payer that is good for ten minutes.
func (f facilitated) authorize(value uint64) evm.TransferAuthorization {
	a := evm.TransferAuthorization{
		From: f.payer.Address, To: common.HexToAddress(f.payee), Value: evm.Uint64(value),
		ValidBefore: evm.Uint64(uint64(f.Clock.Now().Unix()) + 600),
	}
	_, _ = rand.Read(a.Nonce[:]) // never fails
	return a
}

// sign signs as the payer, for the token's domain.
func (f facilitated) sign(t *testing.T, a evm.TransferAuthorization) x402.Exact {
	t.Helper()
	domain := evm.Domain{Name: f.asset.Name, Version: f.asset.Version, ChainID: devchain.ChainID, Contract: devchain.USDC()}
	signature, err := evm.Sign(evm.Digest(domain.Separator(), a), f.payer.Key())
	require.NoError(t, err)
	return x402.Exact{Signature: hexutil.Encode(signature), Authorization: a.Wire()}
}

const sold = "https://api.example.com/weather"

// requestOf is a payment in one of the versions, as a server sends it.
func (f facilitated) requestOf(version int, e x402.Exact, amount string) map[string]any {
	extra := map[string]any{"name": f.asset.Name, "version": f.asset.Version}
	if version == x402.Version1 {
		return map[string]any{
			"x402Version":    1,
			"paymentPayload": map[string]any{"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": tree(e)},
			"paymentRequirements": map[string]any{
				"scheme": "exact", "network": "base-sepolia", "maxAmountRequired": amount, "asset": f.asset.Address, "payTo": f.payee,
				"resource": sold, "description": "", "mimeType": "application/json", "maxTimeoutSeconds": 60, "extra": extra,
			},
		}
	}
	asked := func() map[string]any {
		return map[string]any{
			"scheme": "exact", "network": f.Chain.Network, "amount": amount, "asset": f.asset.Address, "payTo": f.payee,
			"maxTimeoutSeconds": 60, "extra": extra,
		}
	}
	return map[string]any{
		"x402Version": 2, "paymentRequirements": asked(),
		"paymentPayload": map[string]any{
			"x402Version": 2, "resource": map[string]any{"url": sold}, "accepted": asked(), "payload": tree(e),
		},
	}
}

// tree is a value as generic JSON, to be changed.
func tree(v any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		panic(err)
	}
	return m
}

// ask posts a request to an endpoint.
func (f facilitated) ask(t *testing.T, path string, request any) answer {
	t.Helper()
	text, err := json.Marshal(request)
	require.NoError(t, err)
	return f.askText(t, path, string(text))
}

func (f facilitated) askText(t *testing.T, path, text string) answer {
	t.Helper()
	return f.askWith(t, path, text, nil)
}

// askWith adds headers; one without a text is left out.
func (f facilitated) askWith(t *testing.T, path, text string, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/v1/x402/"+path, bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	for name, values := range header {
		for _, value := range values {
			if value != "" {
				r.Header.Add(name, value)
			}
		}
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := answer{Status: resp.StatusCode, Header: resp.Header, Text: string(data)}
	require.NoError(t, json.Unmarshal(data, &a.Body), a.Text)
	conforms(t, r, a)
	return a
}

func TestFacilitatorHasOtherMethodsNot(t *testing.T) {
	t.Parallel()
	f := onChain(t)
	require.Equal(t, "GET, HEAD", f.do(t, "POST", "/v1/x402/supported", "{}").refused(t, 405, "method_not_allowed").Header.Get("Allow"))
	for _, path := range []string{"/v1/x402/verify", "/v1/x402/settle"} {
		require.Equal(t, "POST", f.do(t, "GET", path, "").refused(t, 405, "method_not_allowed").Header.Get("Allow"))
	}
	f.do(t, "GET", "/v1/x402/supported", "").ok(t)
}

func TestFacilitatorSettlesOnce(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	for _, version := range []int{x402.Version1, x402.Version2} {
		request := f.requestOf(version, f.sign(t, f.authorize(10_000)), "10000")
		require.Equal(t, true, f.ask(t, "verify", request).Body["isValid"])
		first := f.ask(t, "settle", request)
		require.Equal(t, 200, first.Status)
		require.Equal(t, true, first.Body["success"], first.Text)
		require.Regexp(t, "^0x[0-9a-f]{64}$", first.str("transaction"))
		require.Equal(t, f.payer.Address.Hex(), first.str("payer"))
		require.Equal(t, map[int]string{1: "base-sepolia", 2: f.Chain.Network}[version], first.str("network"))
		require.Empty(t, first.Header.Get("Idempotency-Replayed"))

		again := f.ask(t, "settle", request)
		require.Equal(t, []any{200, false, "duplicate_settlement", first.str("transaction")},
			[]any{again.Status, again.Body["success"], again.Body["errorReason"], again.str("transaction")})
		require.Empty(t, again.Header.Get("Idempotency-Replayed"))
		require.Equal(t, "invalid_exact_evm_nonce_already_used", f.ask(t, "verify", request).str("invalidReason"))

		if version == x402.Version1 {
			request["paymentRequirements"].(map[string]any)["resource"] = sold + "/other"
		} else {
			request["paymentPayload"].(map[string]any)["resource"] = map[string]any{"url": sold + "/other"}
		}
		other := f.ask(t, "settle", request)
		require.Equal(t, []any{200, false, "invalid_exact_evm_nonce_already_used"}, []any{other.Status, other.Body["success"], other.Body["errorReason"]})
	}
}

func TestFacilitatorTellsWhatItSupports(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	c, err := x402.NewFacilitator(x402.FacilitatorConfig{URL: f.URL + "/v1/x402"})
	require.NoError(t, err)
	s, err := c.Supported(t.Context())
	require.NoError(t, err)
	require.Equal(t, []x402.SupportedKind{
		{X402Version: 1, Scheme: "exact", Network: "base-sepolia"},
		{X402Version: 2, Scheme: "exact", Network: "eip155:84532"},
		{X402Version: 2, Scheme: "upto", Network: "eip155:84532", Extra: map[string]any{"facilitatorAddress": devchain.Relayer().Address.Hex()}},
	}, s.Kinds)
	require.Equal(t, map[string][]string{"eip155:*": {devchain.Relayer().Address.Hex()}}, s.Signers)
}

func TestFacilitatorRefusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	good := f.requestOf(2, f.sign(t, f.authorize(10_000)), "10000")
	text, err := json.Marshal(good)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"nothing":            {``, 400},
		"no JSON":            {`{`, 400},
		"a list":             {`[]`, 400},
		"no payload":         {`{"x402Version":2,"paymentRequirements":{}}`, 400},
		"version 3":          {string(bytes.Replace(text, []byte(`"x402Version":2`), []byte(`"x402Version":3`), 2)), 400},
		"versions disagree":  {string(bytes.Replace(text, []byte(`"x402Version":2`), []byte(`"x402Version":1`), 1)), 400},
		"a name twice":       {`{"x402Version":2,` + string(text[1:]), 400},
		"too large":          {`{"x402Version":2,"pad":"` + string(bytes.Repeat([]byte("a"), 70_000)) + `"}`, 413},
		"requirements wrong": {`{"x402Version":2,"paymentPayload":` + payloadOf(t, good) + `,"paymentRequirements":{"scheme":"exact"}}`, 400},
	} {
		for _, path := range []string{"verify", "settle"} {
			a := f.askText(t, path, c.text)
			require.Equal(t, c.status, a.Status, "%s: %s", name, a.Text)
			require.NotEqual(t, true, a.Body["isValid"])
			require.NotEqual(t, true, a.Body["success"])
		}
	}
}

func payloadOf(t *testing.T, request map[string]any) string {
	t.Helper()
	text, err := json.Marshal(request["paymentPayload"])
	require.NoError(t, err)
	return string(text)
}

// TestFacilitatorTakesJSONAndItsOwnTransfersOnly: other media types are 415; a transfer
// that is declared to go by Permit2 is none that it settles.
func TestFacilitatorTakesJSONAndItsOwnTransfersOnly(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	for _, path := range []string{"verify", "settle"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/v1/x402/"+path, bytes.NewReader([]byte(`{}`)))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "text/plain")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode)
	}
	for _, version := range []int{x402.Version1, x402.Version2} {
		for method, good := range map[string]bool{"permit2": false, "eip3009": true} {
			request := f.requestOf(version, f.sign(t, f.authorize(10_000)), "10000")
			declare := func(part map[string]any) {
				extra := map[string]any{"name": f.asset.Name, "version": f.asset.Version, "assetTransferMethod": method}
				part["extra"] = extra
			}
			declare(request["paymentRequirements"].(map[string]any))
			if version == x402.Version2 {
				declare(request["paymentPayload"].(map[string]any)["accepted"].(map[string]any))
			}
			require.Equal(t, good, f.ask(t, "verify", request).Body["isValid"], "%d %s", version, method)
			require.Equal(t, good, f.ask(t, "settle", request).Body["success"], "%d %s", version, method)
		}
	}
}
