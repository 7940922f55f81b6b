package mandate_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestTokenText(t *testing.T) {
	t.Parallel()
	f := setup(t)
	g := f.forge(t)
	require.JSONEq(t, `{"alg":"ES256","typ":"dc+sd-jwt","kid":"`+public(t, f.issuerKey).ID()+`"}`, g.header)
	jwk, err := json.Marshal(public(t, f.sessionKey))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"vct":"mandate.payment.open.1","iss":"https://pay.example","jti":"del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF",
		"iat":1795258800,"exp":1797854400,"cnf":{"jwk":`+string(jwk)+`},
		"status":{"status_list":{"idx":7,"uri":"https://pay.example/status/1"}},
		"spending_limits":{"max_per_tx_cents":500,"max_monthly_cents":5015,"period":"calendar_month","time_zone":"UTC","currency":"USD"},
		"constraints":[
			{"type":"payment.amount_range","currency":"USD","min":1,"max":500},
			{"type":"payment.budget","currency":"USD","max":50.15},
			{"type":"payment.agent_recurrence","frequency":"ON_DEMAND"},
			{"type":"payment.allowed_payees","allowed":[{"id":"mer_0001","name":"Weather","website":"https://weather.example"},{"id":"mer_0002","name":"Karten & Söhne"}]},
			{"type":"payment.allowed_payment_instruments","allowed":[{"id":"fiatrail","type":"card"},{"id":"chainrail","type":"stablecoin"}]}
		]}`, g.payload)
}

func TestConstraintsKeepAP2sSchema(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(vectorsDir(t), "ap2")
	compiler := jsonschema.NewCompiler()
	for file, id := range map[string]string{
		"open_payment_mandate.json": "payment_mandate_open.json", "merchant.json": "types/merchant.json", "amount.json": "types/amount.json",
		"payment_instrument.json": "types/payment_instrument.json", "pisp.json": "types/pisp.json",
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		require.NoError(t, err)
		require.NoError(t, compiler.AddResource("https://ap2-protocol.org/schemas/"+id, doc))
	}
	f := setup(t)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(f.forge(t).payload))
	require.NoError(t, err)
	constraints, _ := doc.(map[string]any)["constraints"].([]any)
	require.Len(t, constraints, 5)
	for _, c := range constraints {
		kind, _ := c.(map[string]any)["type"].(string)
		schema, err := compiler.Compile("https://ap2-protocol.org/schemas/payment_mandate_open.json#/$defs/" + strings.TrimPrefix(kind, "payment."))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(c))
	}
}

func TestIssueRefusesWhatNoVerifierWouldTake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason mandate.Reason
		spoil  func(*mandate.Terms)
	}{
		"id":                  {mandate.BadJti, func(x *mandate.Terms) { x.ID = "mandate-1" }},
		"no id":               {mandate.BadJti, func(x *mandate.Terms) { x.ID = "" }},
		"no limits":           {mandate.BadLimits, func(x *mandate.Terms) { x.Limits = mandate.Limits{} }},
		"limits out of order": {mandate.BadLimits, func(x *mandate.Terms) { x.Limits.MaxPerTxCents = x.Limits.MaxMonthlyCents + 1 }},
		"limits too large":    {mandate.BadLimits, func(x *mandate.Terms) { x.Limits = mandate.Limits{MaxPerTxCents: 1 << 53, MaxMonthlyCents: 1 << 53} }},
		"negative day":        {mandate.BadLimits, func(x *mandate.Terms) { x.Limits.MaxDailyCents = -1 }},
		"nobody":              {mandate.BadConstraints, func(x *mandate.Terms) { x.Payees = nil }},
		"payee without id":    {mandate.BadConstraints, func(x *mandate.Terms) { x.Payees[0].ID = "" }},
		"payee without name":  {mandate.BadConstraints, func(x *mandate.Terms) { x.Payees[0].Name = "" }},
		"no rail":             {mandate.BadConstraints, func(x *mandate.Terms) { x.Rails = nil }},
		"unknown rail":        {mandate.BadConstraints, func(x *mandate.Terms) { x.Rails = []mandate.Rail{"goldrail"} }},
		"rail twice":          {"", func(x *mandate.Terms) { x.Rails = []mandate.Rail{mandate.CardRail, mandate.CardRail} }},
		"invalid UTF-8":       {"", func(x *mandate.Terms) { x.Payees[0].Name = "a\xffb" }},
		"noncharacter":        {mandate.BadJSON, func(x *mandate.Terms) { x.Payees[0].Name = "a\uffff" }},
		"not issued":          {mandate.BadIat, func(x *mandate.Terms) { x.IssuedAt = time.Time{} }},
		"no end":              {mandate.BadExp, func(x *mandate.Terms) { x.ExpiresAt = time.Time{} }},
		"end before start":    {mandate.BadExp, func(x *mandate.Terms) { x.ExpiresAt = x.IssuedAt.Add(-time.Second) }},
		"no session key":      {mandate.BadCnf, func(x *mandate.Terms) { x.SessionKey = mandate.PublicKey{} }},
		"status by http":      {mandate.BadStatus, func(x *mandate.Terms) { x.Status.URI = "http://pay.example/s" }},
		"negative status":     {mandate.BadStatus, func(x *mandate.Terms) { x.Status.Index = -1 }},
		"too many payees": {mandate.TooLarge, func(x *mandate.Terms) {
			x.Payees = make([]mandate.Payee, 200)
			for i := range x.Payees {
				x.Payees[i] = mandate.Payee{ID: "mer_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF", Name: "Some merchant"}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			terms := f.terms(t)
			c.spoil(&terms)
			tok, err := f.issuer.Issue(t.Context(), terms)
			require.Error(t, err)
			require.True(t, tok.IsZero())
			if c.reason != "" {
				require.Equal(t, c.reason, reasonOf(t, err))
			}
		})
	}
}

// liar signs with another key than it shows.
type liar struct {
	*ecdsa.PrivateKey
	shown crypto.PublicKey
}

func (l liar) Public() crypto.PublicKey { return l.shown }

// broken answers with garbage.
type broken struct{ *ecdsa.PrivateKey }

func (broken) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return []byte("sig"), nil }

func TestIssueRefusesSignersThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	_, ed, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	sealed := errors.New("the vault is sealed")
	for name, signer := range map[string]mandate.SignerFunc{
		"none":     nil,
		"nil":      mandate.FixedSigner(nil),
		"ed25519":  mandate.FixedSigner(ed),
		"liar":     mandate.FixedSigner(liar{f.issuerKey, &f.sessionKey.PublicKey}),
		"broken":   mandate.FixedSigner(broken{f.issuerKey}),
		"sealed":   func(context.Context) (crypto.Signer, error) { return nil, sealed },
		"no point": mandate.FixedSigner(liar{f.issuerKey, &ecdsa.PublicKey{Curve: f.issuerKey.Curve}}),
	} {
		i := mandate.Issuer{URL: issuerURL, Signer: signer}
		tok, err := i.Issue(t.Context(), f.terms(t))
		require.Error(t, err, name)
		require.True(t, tok.IsZero())
		require.Equal(t, name == "sealed", errors.Is(err, sealed))
	}
}

func TestAnyPayee(t *testing.T) {
	t.Parallel()
	f := setup(t)
	terms := f.terms(t)
	terms.Payees = []mandate.Payee{mandate.AnyPayee()}
	tok, err := f.issuer.Issue(t.Context(), terms)
	require.NoError(t, err)
	m, err := f.verifier().Verify(t.Context(), tok.Reveal())
	require.NoError(t, err)
	require.True(t, m.AllowsAnyPayee())
	require.True(t, m.AllowsPayee("mer_anybody"))
	require.False(t, m.AllowsPayee(""))
	require.Equal(t, []mandate.Payee{{ID: "*", Name: "Any merchant"}}, m.Payees)
}
