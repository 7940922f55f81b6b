package x402_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
)

// usdcRequirements asks for 0.01 USDC on Base Sepolia.
var usdcRequirements = x402.Requirements{
	Scheme: x402.SchemeExact, Network: x402.NetworkBaseSepolia, Amount: "10000",
	Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
	MaxTimeoutSeconds: 60, Extra: map[string]any{x402.ExtraName: "USDC", x402.ExtraVersion: "2"},
}

// A server's challenge, as a client reads it.
func ExampleEncodeHeader() {
	header, err := x402.EncodeHeader(x402.PaymentRequired{
		X402Version: x402.Version2, Resource: x402.Resource{URL: "https://api.example.com/weather"},
		Accepts: []x402.Requirements{usdcRequirements},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	asked, err := x402.DecodePaymentRequired(header)
	if err != nil {
		fmt.Println(err)
		return
	}
	network, _ := x402.ParseNetwork(asked.Accepts[0].Network)
	fmt.Println(asked.Resource.URL, asked.Accepts[0].Amount, network.V1)
	// Output: https://api.example.com/weather 10000 base-sepolia
}

func ExampleDecodePayload() {
	header, _ := x402.EncodeHeader(examplePayload())
	p, err := x402.DecodePayload(header)
	fmt.Println(p.Payload.Authorization.Value, p.Accepted.Equal(usdcRequirements), err)

	_, err = x402.DecodePayload("not a payment")
	var malformed *x402.DecodeError
	fmt.Println(errors.As(err, &malformed), malformed.Reason)
	// Output:
	// 10000 true <nil>
	// true invalid_payload
}

// A facilitator verifies and settles a payment.
func ExampleFacilitator_Settle() {
	facilitator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/verify" {
			_, _ = w.Write([]byte(`{"isValid":true}`))
			return
		}
		_, _ = w.Write([]byte(`{"success":true,"transaction":"0x` + strings.Repeat("ab", 32) + `","network":"eip155:84532"}`))
	}))
	defer facilitator.Close()

	f, err := x402.NewFacilitator(x402.FacilitatorConfig{URL: facilitator.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	payment, _ := json.Marshal(examplePayload())
	req := x402.FacilitatorRequest{X402Version: x402.Version2, PaymentPayload: payment, PaymentRequirements: usdcRequirements}
	if _, err := f.Verify(context.Background(), req); err != nil {
		fmt.Println(err) // *x402.RefusedError or *x402.UnavailableError
		return
	}
	s, err := f.Settle(context.Background(), req)
	fmt.Println(s.Success, s.Transaction[:6], err)
	// Output: true 0xabab <nil>
}

// The description of an endpoint for directories.
func ExampleDeclaration_Extension() {
	d := x402.Declaration{
		InputSchema:  map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
		InputExample: map[string]any{"city": "Oslo"},
		OutputSchema: map[string]any{"type": "object"},
	}
	e, err := d.Extension()
	fmt.Println(string(e.Info), err)
	d.OutputSchema = nil
	_, err = d.Extension()
	fmt.Println(err)
	// Output:
	// {"input":{"method":"GET","queryParams":{"city":"Oslo"},"type":"http"},"output":{"type":"json"}} <nil>
	// Output.Schema: is required: directories reject an entry without it
}

// examplePayload returns a payment of usdcRequirements.
func examplePayload() x402.Payload {
	return x402.Payload{X402Version: x402.Version2, Accepted: usdcRequirements, Payload: x402.Exact{
		Signature: "0x" + strings.Repeat("11", 65),
		Authorization: x402.Authorization{
			From: "0x857b06519E91e3A54538791bDbb0E22373e36b66", To: usdcRequirements.PayTo, Value: usdcRequirements.Amount,
			ValidAfter: "0", ValidBefore: "1900000000", Nonce: "0x" + strings.Repeat("22", 32),
		},
	}}
}
