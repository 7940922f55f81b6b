package x402_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/x402"
)

func TestMethodsStandInTheHeaderAsAnExtension(t *testing.T) {
	t.Parallel()
	methods := []x402.Method{
		{Type: x402.MethodMandate, Header: "X-Service-Mandate", Amount: "10000", Currency: "usdc", APIURL: "https://pay.example"},
		{Type: x402.MethodCreditBundle, PurchaseURL: "https://a.example/buy", Tiers: []x402.Tier{{Name: "small", USDCents: 500, Requests: 1000}}},
	}
	e, err := x402.MethodsExtension(methods)
	require.NoError(t, err)
	require.NoError(t, e.Validate(), "info fits schema")
	require.JSONEq(t, `{"methods":[
		{"type":"mandate","header":"X-Service-Mandate","amount":"10000","currency":"usdc","apiUrl":"https://pay.example"},
		{"type":"credit-bundle","purchaseUrl":"https://a.example/buy","tiers":[{"name":"small","usdCents":500,"requests":1000}]}]}`, string(e.Info))

	header, err := x402.EncodeHeader(x402.PaymentRequired{
		X402Version: 2, Resource: x402.Resource{URL: "https://a.example/"}, Accepts: []x402.Requirements{},
		Extensions: map[string]x402.Extension{x402.ExtensionMethods: e},
	})
	require.NoError(t, err)
	read, err := x402.DecodePaymentRequired(header)
	require.NoError(t, err)
	got, err := read.Methods()
	require.NoError(t, err)
	require.Equal(t, methods, got)
}

func TestMethodsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	none, err := x402.PaymentRequired{}.Methods()
	require.NoError(t, err)
	require.Empty(t, none)
	for name, info := range map[string]string{
		"not an object": `[]`, "no list": `{}`, "not a list": `{"methods":{}}`, "not objects": `{"methods":["mandate"]}`,
		"another type": `{"methods":[{"type":1}]}`, "twice": `{"methods":[],"methods":[]}`,
		"too many": `{"methods":[` + strings.Repeat(`{"type":"mandate"},`, 32) + `{"type":"mandate"}]}`,
	} {
		p := x402.PaymentRequired{Extensions: map[string]x402.Extension{x402.ExtensionMethods: {Info: json.RawMessage(info)}}}
		_, err := p.Methods()
		var d *x402.DecodeError
		require.ErrorAs(t, err, &d, name)
	}
}
