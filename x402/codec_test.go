package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/x402"
)

const (
	payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	usdc  = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
	nonce = "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"
	hash  = "0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcdef"
)

func exact() x402.Exact {
	return x402.Exact{
		Signature: "0x" + strings.Repeat("ab", 65),
		Authorization: x402.Authorization{
			From: payer, To: payTo, Value: "10000", ValidAfter: "1740672089", ValidBefore: "1740672154", Nonce: nonce,
		},
	}
}

func requirements() x402.Requirements {
	return x402.Requirements{
		Scheme: x402.SchemeExact, Network: x402.NetworkBaseSepolia, Amount: "10000", Asset: usdc, PayTo: payTo,
		MaxTimeoutSeconds: 60, Extra: map[string]any{"name": "USDC", "version": "2"},
	}
}

func encode(t require.TestingT, v any) string {
	s, err := x402.EncodeHeader(v)
	require.NoError(t, err)
	return s
}

func header(json string) string { return base64.StdEncoding.EncodeToString([]byte(json)) }

func TestPayloadSurvivesTheHeader(t *testing.T) {
	t.Parallel()
	want := x402.Payload{
		X402Version: 2, Resource: &x402.Resource{URL: "https://api.example.com/a"}, Accepted: requirements(), Payload: exact(),
		Extensions: map[string]x402.Extension{"x": {Info: json.RawMessage(`{"a":1}`), Schema: json.RawMessage(`{}`)}},
	}
	got, err := x402.DecodePayload(encode(t, want))
	require.NoError(t, err)
	raw, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(got.Raw))
	got.Raw = nil
	require.Equal(t, want, got)
}

func TestPayloadV1SurvivesTheHeader(t *testing.T) {
	t.Parallel()
	want := x402.PayloadV1{X402Version: 1, Scheme: "exact", Network: "base-sepolia", Payload: exact()}
	got, err := x402.DecodePayloadV1(encode(t, want))
	require.NoError(t, err)
	require.NotEmpty(t, got.Raw)
	got.Raw = nil
	require.Equal(t, want, got)
}

func TestRawKeepsWhatTheClientAdded(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(x402.Payload{X402Version: 2, Accepted: requirements(), Payload: exact()})
	require.NoError(t, err)
	text := strings.TrimSuffix(string(raw), "}") + `,"later":{"z":1,"a":[2]}}`
	got, err := x402.DecodePayload(header(text))
	require.NoError(t, err)
	require.Equal(t, text, string(got.Raw))
}

func TestMalformedPayloadsAreRefusedByField(t *testing.T) {
	t.Parallel()
	good, err := json.Marshal(x402.Payload{X402Version: 2, Accepted: requirements(), Payload: exact()})
	require.NoError(t, err)
	with := func(old, replacement string) string {
		require.Contains(t, string(good), old)
		return header(strings.Replace(string(good), old, replacement, 1))
	}
	for _, tc := range []struct {
		name, header, field string
		reason              x402.Reason
	}{
		{"empty", "", "", x402.ReasonInvalidPayload},
		{"not base64", "{}", "", x402.ReasonInvalidPayload},
		{"base64 with a line break", header("{}")[:2] + "\n" + header("{}")[2:], "", x402.ReasonInvalidPayload},
		{"unpadded", strings.TrimRight(header("{}"), "="), "", x402.ReasonInvalidPayload},
		{"too long", strings.Repeat("A", x402.MaxPaymentHeader+4), "", x402.ReasonInvalidPayload},
		{"not JSON", header("{"), "", x402.ReasonInvalidPayload},
		{"an array", header("[]"), "", x402.ReasonInvalidPayload},
		{"null", header("null"), "", x402.ReasonInvalidPayload},
		{"trailing data", header(string(good) + "{}"), "", x402.ReasonInvalidPayload},
		{"bad UTF-8", header("{\"a\":\"\xff\"}"), "", x402.ReasonInvalidPayload},
		{"no version", with(`"x402Version":2`, `"x":2`), "x402Version", x402.ReasonInvalidVersion},
		{"other version", with(`"x402Version":2`, `"x402Version":1`), "x402Version", x402.ReasonInvalidVersion},
		{"version as text", with(`"x402Version":2`, `"x402Version":"2"`), "x402Version", x402.ReasonInvalidVersion},
		{"duplicate name", with(`"value":"10000"`, `"value":"1","value":"10000"`), "", x402.ReasonInvalidPayload},
		{"name in another case", with(`"value":`, `"Value":`), "payload.authorization.value", x402.ReasonInvalidPayload},
		{"value as number", with(`"value":"10000"`, `"value":10000`), "payload.authorization.value", x402.ReasonInvalidPayload},
		{"negative value", with(`"value":"10000"`, `"value":"-1"`), "payload.authorization.value", x402.ReasonInvalidPayload},
		{"leading zero", with(`"value":"10000"`, `"value":"010000"`), "payload.authorization.value", x402.ReasonInvalidPayload},
		{"hexadecimal value", with(`"value":"10000"`, `"value":"0x10"`), "payload.authorization.value", x402.ReasonInvalidPayload},
		{"short address", with(payer, payer[:41]), "payload.authorization.from", x402.ReasonInvalidPayload},
		{"short nonce", with(nonce, nonce[:64]), "payload.authorization.nonce", x402.ReasonInvalidPayload},
		{"odd signature", with(`"signature":"0xab`, `"signature":"0xa`), "payload.signature", x402.ReasonInvalidPayload},
		{"empty signature", with(exact().Signature, "0x"), "payload.signature", x402.ReasonInvalidPayload},
		{"no authorization", with(`"authorization":`, `"other":`), "payload.authorization", x402.ReasonInvalidPayload},
		{"accepted is null", with(`"accepted":{`, `"accepted":null,"x":{`), "accepted", x402.ReasonInvalidPayload},
		{"timeout of a fraction", with(`"maxTimeoutSeconds":60`, `"maxTimeoutSeconds":60.5`), "accepted.maxTimeoutSeconds", x402.ReasonInvalidPayload},
		{"timeout of zero", with(`"maxTimeoutSeconds":60`, `"maxTimeoutSeconds":0`), "accepted.maxTimeoutSeconds", x402.ReasonInvalidPayload},
		{"extension of text", with(`"accepted":`, `"extensions":{"a":"b"},"accepted":`), "extensions.a", x402.ReasonInvalidPayload},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := x402.DecodePayload(tc.header)
			var malformed *x402.DecodeError
			require.ErrorAs(t, err, &malformed)
			require.Equal(t, tc.field, malformed.Field)
			require.Equal(t, tc.reason, malformed.Reason)
		})
	}
}

func TestPaymentRequiredSurvives(t *testing.T) {
	t.Parallel()
	two := x402.PaymentRequired{
		X402Version: 2, Error: "PAYMENT-SIGNATURE header is required",
		Resource:   x402.Resource{URL: "https://api.example.com/a", Description: "d", MimeType: "application/json"},
		Accepts:    []x402.Requirements{requirements()},
		Extensions: map[string]x402.Extension{x402.ExtensionIdentifier: x402.IdentifierExtension()},
	}
	got, err := x402.DecodePaymentRequired(encode(t, two))
	require.NoError(t, err)
	require.Equal(t, two, got)

	one := x402.PaymentRequiredV1{
		X402Version: 1, Error: "X-PAYMENT header is required",
		Accepts: []x402.RequirementsV1{{
			Scheme: "exact", Network: "base", MaxAmountRequired: "1", Asset: usdc, PayTo: payTo, Resource: "https://a.example/",
			MimeType: "text/plain", MaxTimeoutSeconds: 1, OutputSchema: json.RawMessage(`{"a":1}`),
		}},
		PaymentMethods: []x402.Method{{Type: x402.MethodMandate, Header: "X-Service-Mandate", Amount: "1", Currency: "usdc", APIURL: "https://pay.example"}},
	}
	body, err := json.Marshal(one)
	require.NoError(t, err)
	gotOne, err := x402.DecodePaymentRequiredV1(body)
	require.NoError(t, err)
	require.Equal(t, one, gotOne)
}

func TestSettlementSurvives(t *testing.T) {
	t.Parallel()
	want := x402.Settlement{Success: true, Transaction: hash, Network: "base", Payer: payer}
	got, err := x402.DecodeSettlement(encode(t, want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	for _, s := range []x402.Settlement{want, {}, {ErrorReason: "a", ErrorMessage: "<\"\u2028\xff>", Network: "n"}} {
		require.Equal(t, encode(t, s), s.Header())
	}
	_, err = x402.DecodeSettlement(header(`{"success":"true"}`))
	require.ErrorContains(t, err, "success: not a boolean")
}

func TestRequirementsEqualIgnoresOnlyTheCaseOfAddresses(t *testing.T) {
	t.Parallel()
	same := requirements()
	same.Asset, same.PayTo = strings.ToLower(usdc), strings.ToLower(payTo)
	require.True(t, requirements().Equal(same))
	for name, change := range map[string]func(*x402.Requirements){
		"scheme":  func(r *x402.Requirements) { r.Scheme = "upto" },
		"network": func(r *x402.Requirements) { r.Network = "eip155:8453" },
		"amount":  func(r *x402.Requirements) { r.Amount = "9999" },
		"asset":   func(r *x402.Requirements) { r.Asset = payTo },
		"payTo":   func(r *x402.Requirements) { r.PayTo = payer },
		"timeout": func(r *x402.Requirements) { r.MaxTimeoutSeconds++ },
		"name":    func(r *x402.Requirements) { r.Extra = map[string]any{"name": "USD Coin", "version": "2"} },
		"less":    func(r *x402.Requirements) { r.Extra = map[string]any{"name": "USDC"} },
		"more":    func(r *x402.Requirements) { r.Extra = map[string]any{"name": "USDC", "version": "2", "a": 1} },
	} {
		other := requirements()
		change(&other)
		require.False(t, requirements().Equal(other), name)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	a := exact().Authorization
	require.Equal(t, x402.ReasonValidAfter, a.CheckWindow(time.Unix(1740672089, 0)))
	require.Empty(t, a.CheckWindow(time.Unix(1740672090, 0)))
	require.Empty(t, a.CheckWindow(time.Unix(1740672153, 0)))
	require.Equal(t, x402.ReasonValidBefore, a.CheckWindow(time.Unix(1740672154, 0)))
	a.ValidBefore = strings.Repeat("9", 78)
	require.Empty(t, a.CheckWindow(time.Unix(1740672154, 0)))
}

func TestAmountsCompareAsNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		x, y := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
		require.True(t, x402.IsAmount(x.String()))
		require.Equal(t, x.Cmp(y), x402.CompareAmounts(x.String(), y.String()))
	})
}

func FuzzDecodePayload(f *testing.F) {
	f.Add(encode(f, x402.Payload{X402Version: 2, Accepted: requirements(), Payload: exact()}))
	f.Add(header(`{"x402Version":2}`))
	f.Fuzz(func(t *testing.T, s string) {
		p, err := x402.DecodePayload(s)
		if err != nil {
			return
		}
		again, err := x402.DecodePayload(encode(t, p))
		require.NoError(t, err)
		require.Equal(t, p.Payload, again.Payload)
		require.True(t, x402.IsAmount(p.Payload.Authorization.Value))
	})
}

func FuzzDecodePayloadV1(f *testing.F) {
	f.Add(encode(f, x402.PayloadV1{X402Version: 1, Scheme: "exact", Network: "base", Payload: exact()}))
	f.Fuzz(func(t *testing.T, s string) {
		p, err := x402.DecodePayloadV1(s)
		if err != nil {
			return
		}
		again, err := x402.DecodePayloadV1(encode(t, p))
		require.NoError(t, err)
		require.Equal(t, p.Payload, again.Payload)
	})
}

func FuzzDecodePaymentRequired(f *testing.F) {
	f.Add(encode(f, x402.PaymentRequired{X402Version: 2, Accepts: []x402.Requirements{requirements()}}))
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := x402.DecodePaymentRequired(s); err == nil {
			require.Equal(t, 2, p.X402Version)
		}
		if p, err := x402.DecodePaymentRequiredV1([]byte(s)); err == nil {
			require.Equal(t, 1, p.X402Version)
		}
		_, _ = x402.DecodeSettlement(s)
	})
}

func TestExtraIsReadAsPackageJSONReadsIt(t *testing.T) {
	t.Parallel()
	for _, extra := range []string{
		`{}`, `null`, `{"name":"USDC","version":"2","paymentFlow":"upfront"}`, `{"name":"é\n","n":1.5,"ok":true,"none":null}`,
		`{"a":{"b":["c",1]},"z":"text"}`, `{"z":"text","a":[]}`,
	} {
		header := `{"x402Version":2,"resource":{"url":"https://a.example/"},"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"1",` +
			`"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","maxTimeoutSeconds":60,"extra":` + extra + `}]}`
		got, err := x402.DecodePaymentRequired(base64.StdEncoding.EncodeToString([]byte(header)))
		require.NoError(t, err, extra)
		var want map[string]any
		require.NoError(t, json.Unmarshal([]byte(extra), &want))
		require.Equal(t, want, got.Accepts[0].Extra, extra)
		require.True(t, got.Accepts[0].Equal(got.Accepts[0]))
	}
	for _, bad := range []string{`[]`, `"x"`, `1`} {
		header := strings.Replace(`{"x402Version":2,"resource":{"url":"u"},"accepts":[{"scheme":"exact","network":"n","amount":"1","asset":"a","payTo":"p","maxTimeoutSeconds":60,"extra":X}]}`, "X", bad, 1)
		_, err := x402.DecodePaymentRequired(base64.StdEncoding.EncodeToString([]byte(header)))
		require.ErrorContains(t, err, "extra", bad)
	}
}
