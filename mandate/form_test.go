package mandate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// delegated turns a flat payload into AP2's form: the named claims go inside,
// the others stay around.
func delegated(t testing.TB, payload string, inside ...string) (outer, inner string) {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(payload), &m))
	in := map[string]json.RawMessage{}
	for _, name := range inside {
		in[name] = m[name]
		delete(m, name)
	}
	b, err := json.Marshal(in)
	require.NoError(t, err)
	m["delegate_payload"] = json.RawMessage(`["#inner"]`)
	o, err := json.Marshal(m)
	require.NoError(t, err)
	return string(o), string(b)
}

var ap2Claims = []string{"vct", "cnf", "constraints", "spending_limits"}

func TestAP2FormIsRead(t *testing.T) {
	t.Parallel()
	f := setup(t)
	want, err := f.verifier().Verify(t.Context(), f.issue(t).Reveal())
	require.NoError(t, err)
	for name, inside := range map[string][]string{
		"claims around": ap2Claims,
		"dates inside":  append([]string{"iat", "exp"}, ap2Claims...),
		"all inside":    append([]string{"iat", "exp", "jti", "iss", "status"}, ap2Claims...),
	} {
		for _, hide := range []bool{false, true} {
			g := f.forge(t)
			outer, inner := delegated(t, g.payload, inside...)
			if hide { // as AP2 does it: the mandate is a disclosed element
				d := `["salt",` + inner + `]`
				g.disclosures = []string{d}
				inner = `{"...":"` + digestOf(b64.EncodeToString([]byte(d))) + `"}`
			}
			g.payload = strings.Replace(outer, `"#inner"`, inner, 1)
			f.bind(g)
			p, err := f.verifier().VerifyPresentation(t.Context(), g.text(t), mandate.Expect{Audience: audience, Nonce: nonce})
			require.NoError(t, err, name)
			p.Mandate.Bound = false
			require.Equal(t, want, p.Mandate)
		}
	}
}

func TestAP2FormRefuses(t *testing.T) {
	t.Parallel()
	digest := func(d string) string { return digestOf(b64.EncodeToString([]byte(d))) }
	for name, c := range map[string]struct {
		reason mandate.Reason
		change func(g *forge, inner string) string // what stands for the mandate
	}{
		"none":              {mandate.BadVct, func(*forge, string) string { return "" }},
		"withheld":          {mandate.BadVct, func(*forge, string) string { return `{"...":"x"}` }},
		"two":               {mandate.BadVct, func(_ *forge, inner string) string { return inner + "," + inner }},
		"a checkout beside": {mandate.BadVct, func(_ *forge, inner string) string { return inner + `,{"vct":"mandate.checkout.open.1"}` }},
		"a string":          {mandate.BadVct, func(*forge, string) string { return `"x"` }},
		"another vct":       {mandate.BadVct, func(_ *forge, inner string) string { return strings.Replace(inner, ".open.1", ".1", 1) }},
		"two cnf":           {mandate.BadCnf, func(g *forge, inner string) string { g.payload = `{"cnf":{},` + g.payload[1:]; return inner }},
		"limits around too": {mandate.BadLimits, func(g *forge, inner string) string {
			g.payload = `{"spending_limits":{},` + g.payload[1:]
			return inner
		}},
		"further limits around it": {mandate.BadLimits, func(g *forge, inner string) string {
			g.payload = `{"further_limits":{"max_daily_cents":1},` + g.payload[1:]
			return inner
		}},
		"two exp":    {mandate.BadExp, func(_ *forge, inner string) string { return `{"exp":4000000000,` + inner[1:] }},
		"two iat":    {mandate.BadIat, func(_ *forge, inner string) string { return `{"iat":1,` + inner[1:] }},
		"two jti":    {mandate.BadJti, func(_ *forge, inner string) string { return `{"jti":"del_x",` + inner[1:] }},
		"two iss":    {mandate.BadIss, func(_ *forge, inner string) string { return `{"iss":"https://pay.example",` + inner[1:] }},
		"two status": {mandate.BadStatus, func(_ *forge, inner string) string { return `{"status":null,` + inner[1:] }},
		"sealed as ever": {mandate.SDInProtectedClaim, func(_ *forge, inner string) string {
			return strings.Replace(inner, `"constraints":[`, `"constraints":[{"...":"x"},`, 1)
		}},
		"reserved inside": {mandate.DisclosureReserved, func(g *forge, inner string) string {
			d := `["s","nbf",1]`
			g.disclosures = []string{d}
			return fmt.Sprintf(`{"_sd":["%s"],%s`, digest(d), inner[1:])
		}},
		"form by disclosure": {mandate.BadVct, func(g *forge, inner string) string {
			d := `["s","delegate_payload",[` + inner + `]]`
			g.disclosures = []string{d}
			g.payload = strings.Replace(g.payload, `"delegate_payload":["#inner"]`, `"_sd":["`+digest(d)+`"]`, 1)
			return inner
		}},
		"limits are required": {mandate.BadLimits, func(_ *forge, inner string) string {
			return strings.Replace(inner, "spending_limits", "spending_notes", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			g := f.forge(t)
			var inner string
			g.payload, inner = delegated(t, g.payload, ap2Claims...)
			inner = c.change(g, inner)
			g.payload = strings.Replace(g.payload, `"#inner"`, inner, 1)
			_, err := f.verifier().Verify(t.Context(), g.text(t))
			require.Equal(t, c.reason, reasonOf(t, err))
		})
	}
}

func TestDelegatePayloadBesideAVctMeansNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	g := f.forge(t)
	member(t, &g.payload, "delegate_payload", `[{"vct":"mandate.payment.open.1","spending_limits":{"_sd":[]},"exp":1},2]`)
	m, err := f.verifier().Verify(t.Context(), g.text(t))
	require.NoError(t, err)
	require.Equal(t, f.terms(t).Limits, m.Limits)
	member(t, &g.payload, "vct", `"mandate.payment.1"`)
	_, err = f.verifier().Verify(t.Context(), g.text(t))
	require.Equal(t, mandate.BadVct, reasonOf(t, err))
}

func TestPresentReadsTheAP2Form(t *testing.T) {
	t.Parallel()
	f := setup(t)
	g := f.forge(t)
	outer, inner := delegated(t, g.payload, ap2Claims...)
	g.payload = strings.Replace(outer, `"#inner"`, inner, 1)
	tok, err := mandate.ParseToken(g.text(t))
	require.NoError(t, err)
	_, err = f.verifier().VerifyPresentation(t.Context(), f.present(t, tok).Reveal(), mandate.Expect{Audience: audience, Nonce: nonce})
	require.NoError(t, err)
}
