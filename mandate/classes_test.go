package mandate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// invalid is a class of invalid tokens: how to make one of a valid token, and
// what must be said to it.
type invalid struct {
	name   string
	reason mandate.Reason
	change func(t testing.TB, f *fixture, g *forge)
	after  func(text string) string // changes the text itself
	expect *mandate.Expect
}

// payload changes a piece of the payload.
func payload(old, with string) func(testing.TB, *fixture, *forge) {
	return func(t testing.TB, _ *fixture, g *forge) { in(t, &g.payload, old, with) }
}

func claim(name, value string) func(testing.TB, *fixture, *forge) {
	return func(t testing.TB, _ *fixture, g *forge) { member(t, &g.payload, name, value) }
}

func header(name, value string) func(testing.TB, *fixture, *forge) {
	return func(t testing.TB, _ *fixture, g *forge) { member(t, &g.header, name, value) }
}

func binding(old, with string) func(testing.TB, *fixture, *forge) {
	return func(t testing.TB, f *fixture, g *forge) { f.bind(g); in(t, &g.kb, old, with) }
}

func bindingHeader(h string) func(testing.TB, *fixture, *forge) {
	return func(_ testing.TB, f *fixture, g *forge) { f.bind(g); g.kbHeader = h }
}

func hidden(name string) func(testing.TB, *fixture, *forge) {
	return func(t testing.TB, _ *fixture, g *forge) { g.hide(t, name) }
}

// signed cuts the signature's text and puts it back changed.
func signed(change func(sig string) string) func(string) string {
	return func(text string) string {
		i := strings.LastIndexByte(text[:strings.IndexByte(text, '~')], '.') + 1
		j := strings.IndexByte(text, '~')
		return text[:i] + change(text[i:j]) + text[j:]
	}
}

func invalidClasses() []invalid {
	return slices.Concat(invalidTokens(), invalidTerms(), invalidConstraints(), invalidBindings())
}

// bound asks for a key binding.
func bound() *mandate.Expect { return &mandate.Expect{Audience: audience, Nonce: nonce} }

// invalidTokens have faults in the token's form, its header and its disclosures.
func invalidTokens() []invalid {
	return []invalid{
		{name: "too_large", reason: mandate.TooLarge, after: func(s string) string { return s + strings.Repeat("A", mandate.MaxTokenBytes) + "~" }},
		{name: "bad_format", reason: mandate.BadFormat, after: func(s string) string { return s + "~" }},
		{name: "kb_missing", reason: mandate.KBMissing, expect: bound()},
		{name: "bad_base64url", reason: mandate.BadBase64URL, after: signed(func(s string) string { return s + "=" })},
		{name: "bad_json", reason: mandate.BadJSON, change: payload(`"jti"`, `,"jti"`)},
		{name: "duplicate_key", reason: mandate.DuplicateKey, change: payload(`"max_per_tx_cents":500`, `"max_per_tx_cents":500,"max_per_tx_cents":900`)},
		{name: "bad_alg", reason: mandate.BadAlg, change: header("alg", `"none"`)},
		{name: "bad_typ", reason: mandate.BadTyp, change: header("typ", `"vc+sd-jwt"`)},
		{name: "crit_unsupported", reason: mandate.CritUnsupported, change: header("crit", `[]`)},
		{name: "header_forbidden", reason: mandate.HeaderForbidden, change: header("jwk", `{}`)},
		{name: "kid_missing", reason: mandate.KidMissing, change: header("kid", "")},
		{name: "kid_unknown", reason: mandate.KidUnknown, change: header("kid", `"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"`)},
		{name: "bad_signature", reason: mandate.BadSignature, change: func(t testing.TB, _ *fixture, g *forge) { g.issuer = newKey(t) }},
		{name: "bad_sd_alg", reason: mandate.BadSDAlg, change: claim("_sd_alg", `"sha-512"`)},
		{name: "bad_disclosure", reason: mandate.BadDisclosure, change: func(_ testing.TB, _ *fixture, g *forge) { g.disclosures = []string{`["salt"]`} }},
		{name: "disclosure_name_forbidden", reason: mandate.DisclosureNameForbidden, change: func(_ testing.TB, _ *fixture, g *forge) { g.disclosures = []string{`["salt","_sd",1]`} }},
		{name: "disclosure_repeated", reason: mandate.DisclosureRepeated, change: func(t testing.TB, _ *fixture, g *forge) {
			member(t, &g.payload, "locale", `"de"`)
			g.hide(t, "locale")
			g.disclosures = append(g.disclosures, g.disclosures[0])
		}},
		{name: "bad_sd", reason: mandate.BadSD, change: claim("_sd", `{}`)},
		{name: "sd_in_protected_claim, a constraint withheld", reason: mandate.SDInProtectedClaim, change: payload(`"constraints":[`, `"constraints":[{"...":"x"},`)},
		{name: "sd_in_protected_claim, in the limits", reason: mandate.SDInProtectedClaim, change: payload(`"spending_limits":{`, `"spending_limits":{"_sd":["x"],`)},
		{name: "sd_in_protected_claim, in cnf", reason: mandate.SDInProtectedClaim, change: payload(`"cnf":{`, `"cnf":{"_sd":["x"],`)},
		{name: "sd_in_protected_claim, in the status", reason: mandate.SDInProtectedClaim, change: payload(`"status_list":{`, `"status_list":{"_sd":["x"],`)},
		{name: "digest_repeated", reason: mandate.DigestRepeated, change: claim("_sd", `["x","x"]`)},
		{name: "disclosure_reserved", reason: mandate.DisclosureReserved, change: hidden("exp")},
		{name: "disclosure_reserved, limits", reason: mandate.DisclosureReserved, change: hidden("spending_limits")},
		{name: "disclosure_conflict", reason: mandate.DisclosureConflict, change: func(t testing.TB, _ *fixture, g *forge) {
			member(t, &g.payload, "locale", `"de"`)
			g.hide(t, "locale")
			member(t, &g.payload, "locale", `"en"`)
		}},
		{name: "disclosure_unreferenced", reason: mandate.DisclosureUnreferenced, change: func(_ testing.TB, _ *fixture, g *forge) { g.disclosures = []string{`["salt","a",1]`} }},
	}
}

// invalidTerms have faults in the claims and limits.
func invalidTerms() []invalid {
	return []invalid{
		{name: "bad_vct", reason: mandate.BadVct, change: claim("vct", `"mandate.payment.1"`)},
		{name: "bad_iss", reason: mandate.BadIss, change: claim("iss", `"https://pay.example.net"`)},
		{name: "bad_jti", reason: mandate.BadJti, change: claim("jti", `"txn_1"`)},
		{name: "bad_jti, too long", reason: mandate.BadJti, change: claim("jti", `"del_`+strings.Repeat("a", 65)+`"`)},
		{name: "bad_jti, other characters", reason: mandate.BadJti, change: claim("jti", `"del_a.b"`)},
		{name: "bad_iat", reason: mandate.BadIat, change: claim("iat", `"1"`)},
		{name: "iat_in_future", reason: mandate.IatInFuture, change: func(_ testing.TB, f *fixture, _ *forge) { f.now = f.now.Add(-2 * time.Hour) }},
		{name: "exp_missing", reason: mandate.ExpMissing, change: claim("exp", "")},
		{name: "bad_exp", reason: mandate.BadExp, change: claim("exp", "1.5e9")},
		{name: "bad_exp, not after iat", reason: mandate.BadExp, change: claim("exp", "1")},
		{name: "expired", reason: mandate.Expired, change: func(_ testing.TB, f *fixture, _ *forge) { f.now = f.now.Add(31 * 24 * time.Hour) }},
		{name: "bad_nbf", reason: mandate.BadNbf, change: claim("nbf", "null")},
		{name: "not_yet_valid", reason: mandate.NotYetValid, change: claim("nbf", "4000000000")},
		{name: "bad_cnf", reason: mandate.BadCnf, change: claim("cnf", "{}")},
		{name: "bad_cnf, a private key", reason: mandate.BadCnf, change: payload(`"crv":"P-256"`, `"crv":"P-256","d":""`)},
		{name: "bad_status", reason: mandate.BadStatus, change: claim("status", "{}")},
		{name: "bad_status, http", reason: mandate.BadStatus, change: payload(`"uri":"https://pay.example/status/1"`, `"uri":"http://127.0.0.1/status/1"`)},
		{name: "bad_status, userinfo", reason: mandate.BadStatus, change: payload(`"uri":"https://pay`, `"uri":"https://u@pay`)},
		{name: "bad_status, fragment", reason: mandate.BadStatus, change: payload(`/status/1"`, `/status/1#"`)},
		{name: "bad_status, no host", reason: mandate.BadStatus, change: payload(`"uri":"https://pay.example/`, `"uri":"https:///`)},
		{name: "bad_status, beyond the list", reason: mandate.BadStatus, change: payload(`"idx":7`, `"idx":2147483648`)},
		{name: "bad_limits", reason: mandate.BadLimits, change: payload(`"max_per_tx_cents":500`, `"max_per_tx_cents":5e2`)},
		{name: "bad_limits, per transaction above the month", reason: mandate.BadLimits, change: payload(`"max_per_tx_cents":500`, `"max_per_tx_cents":5016`)},
		{name: "bad_limits, unknown member", reason: mandate.BadLimits, change: payload(`"time_zone"`, `"max_daily_cents":1,"time_zone"`)},
		{name: "bad_limits, further ones empty", reason: mandate.BadLimits, change: claim("further_limits", "{}")},
		{name: "bad_limits, further ones null", reason: mandate.BadLimits, change: claim("further_limits", "null")},
		{name: "bad_limits, further ones in an array", reason: mandate.BadLimits, change: claim("further_limits", `[{"max_daily_cents":1}]`)},
		{name: "bad_limits, further one of zero", reason: mandate.BadLimits, change: claim("further_limits", `{"max_total_cents":0}`)},
		{name: "bad_limits, further one no integer", reason: mandate.BadLimits, change: claim("further_limits", `{"max_payments_per_day":1.0}`)},
		{name: "bad_limits, further one too large", reason: mandate.BadLimits, change: claim("further_limits", `{"max_monthly_per_payee_cents":9007199254740992}`)},
		{name: "bad_limits, unknown further one", reason: mandate.BadLimits, change: claim("further_limits", `{"max_daily_cents":1,"max_weekly_cents":1}`)},
		{name: "bad_limits, rest not rounded up", reason: mandate.BadLimits, change: claim("round_up_rest", "false")},
		{name: "bad_limits, rest rounded up by a text", reason: mandate.BadLimits, change: claim("round_up_rest", `"true"`)},
		{name: "sd_in_protected_claim, in further limits", reason: mandate.SDInProtectedClaim, change: claim("further_limits", `{"max_daily_cents":1,"_sd":["x"]}`)},
		{name: "disclosure_reserved, further limits", reason: mandate.DisclosureReserved, change: func(t testing.TB, _ *fixture, g *forge) {
			member(t, &g.payload, "further_limits", `{"max_daily_cents":1}`)
			g.hide(t, "further_limits")
		}},
		{name: "bad_limits, missing", reason: mandate.BadLimits, change: claim("spending_limits", "")},
	}
}

func invalidConstraints() []invalid {
	return []invalid{
		{name: "bad_constraints", reason: mandate.BadConstraints, change: claim("constraints", "[]")},
		{name: "bad_constraints, no array", reason: mandate.BadConstraints, change: claim("constraints", "{}")},
		{name: "bad_constraints, unknown type", reason: mandate.BadConstraints, change: payload(`"constraints":[`, `"constraints":[{"type":"payment.reference"},`)},
		{name: "bad_constraints, one twice", reason: mandate.BadConstraints, change: payload(`"constraints":[`, `"constraints":[{"type":"payment.agent_recurrence","frequency":"ON_DEMAND"},`)},
		{name: "bad_constraints, unknown member", reason: mandate.BadConstraints, change: payload(`"frequency":"ON_DEMAND"`, `"frequency":"ON_DEMAND","max_occurrences":3`)},
		{name: "bad_constraints, unknown member of the range", reason: mandate.BadConstraints, change: payload(`"max":500}`, `"max":500,"step":1}`)},
		{name: "bad_constraints, unknown member of the budget", reason: mandate.BadConstraints, change: payload(`"max":50.15`, `"max":50.15,"per":"week"`)},
		{name: "bad_constraints, unknown member of the payees", reason: mandate.BadConstraints, change: payload(`"type":"payment.allowed_payees"`, `"type":"payment.allowed_payees","except":[]`)},
		{name: "bad_constraints, unknown member of the instruments", reason: mandate.BadConstraints, change: payload(`"type":"payment.allowed_payment_instruments"`, `"type":"payment.allowed_payment_instruments","except":[]`)},
		{name: "bad_constraints, nobody allowed", reason: mandate.BadConstraints, change: payload(`"allowed":[{"id":"mer_0001","name":"Weather","website":"https://weather.example"},{"id":"mer_0002","name":"Karten \u0026 Söhne"}]`, `"allowed":[{"...":"x"},{"...":"y"}]`)},
		{name: "bad_constraints, unknown instrument", reason: mandate.BadConstraints, change: payload(`{"id":"fiatrail"`, `{"id":"goldrail"`)},
		{name: "bad_constraints, budget with three decimals", reason: mandate.BadConstraints, change: payload(`"max":50.15`, `"max":50.150`)},
		{name: "bad_constraints, budget with an exponent", reason: mandate.BadConstraints, change: payload(`"max":50.15`, `"max":5015e-2`)},
		{name: "bad_constraints, negative budget", reason: mandate.BadConstraints, change: payload(`"max":50.15`, `"max":-50.15`)},
		{name: "bad_constraints, budget of nothing", reason: mandate.BadConstraints, change: payload(`"max":50.15`, `"max":0.00`)},
		{name: "bad_constraints, huge budget", reason: mandate.BadConstraints, change: payload(`"max":50.15`, `"max":184467440737095516.16`)},
		{name: "constraints_mismatch", reason: mandate.ConstraintsMismatch, change: payload(`"max":500}`, `"max":501}`)},
		{name: "constraints_mismatch, a cent in the budget", reason: mandate.ConstraintsMismatch, change: payload(`"max":50.15`, `"max":50.14`)},
		{name: "constraints_mismatch, currency", reason: mandate.ConstraintsMismatch, change: payload(`"currency":"USD","max":50.15`, `"currency":"EUR","max":50.15`)},
	}
}

// invalidBindings have faults in the key binding.
func invalidBindings() []invalid {
	return []invalid{
		{name: "kb_bad_alg", reason: mandate.KBBadAlg, change: bindingHeader(`{"alg":"none","typ":"kb+jwt"}`)},
		{name: "kb_bad_typ", reason: mandate.KBBadTyp, change: bindingHeader(`{"alg":"ES256","typ":"JWT"}`)},
		{name: "kb_header_forbidden", reason: mandate.KBHeaderForbidden, change: bindingHeader(`{"alg":"ES256","typ":"kb+jwt","jku":""}`)},
		{name: "kb_bad_signature", reason: mandate.KBBadSignature, change: func(_ testing.TB, f *fixture, g *forge) { f.bind(g); g.holder = f.issuerKey }},
		{name: "kb_bad_iat", reason: mandate.KBBadIat, change: binding(`"iat":`, `"iat":-`)},
		{name: "kb_iat_in_future", reason: mandate.KBIatInFuture, change: func(_ testing.TB, f *fixture, g *forge) { f.bind(g); f.now = f.now.Add(-61 * time.Second) }},
		{name: "kb_stale", reason: mandate.KBStale, change: func(_ testing.TB, f *fixture, g *forge) { f.bind(g); f.now = f.now.Add(301 * time.Second) }},
		{name: "kb_bad_aud", reason: mandate.KBBadAud, change: binding(audience, "https://other.example"), expect: bound()},
		{name: "kb_bad_nonce", reason: mandate.KBBadNonce, change: binding(nonce, "ch_other"), expect: bound()},
		{name: "kb_bad_sd_hash", reason: mandate.KBBadSDHash, change: binding("#hash", digestOf("other")), expect: bound()},
		{name: "kb_bad_transaction_data", reason: mandate.KBBadTransactionData, change: binding(`"amount_micros":10000`, `"amount_micros":"10000"`), expect: bound()},
		{name: "kb_bad_transaction_data, missing", reason: mandate.KBBadTransactionData, change: binding("transaction_data", "transaction"), expect: bound()},
		{name: "kb_bad_transaction_data, unknown member", reason: mandate.KBBadTransactionData, change: binding(`"pay_to"`, `"pay_also_to":"0xdef","pay_to"`), expect: bound()},
		{name: "kb_bad_transaction_data, nobody to pay", reason: mandate.KBBadTransactionData, change: binding(`"0xabc"`, `""`), expect: bound()},
	}
}

func TestInvalidClasses(t *testing.T) {
	t.Parallel()
	for _, c := range invalidClasses() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			g := f.forge(t)
			if c.change != nil {
				c.change(t, f, g)
			}
			text := g.text(t)
			if c.after != nil {
				text = c.after(text)
			}
			want := mandate.Expect{AllowUnbound: true, IgnoreTransaction: true}
			if c.expect != nil {
				want = *c.expect
			}
			_, err := f.verifier().VerifyPresentation(context.Background(), text, want)
			require.Equal(t, c.reason, reasonOf(t, err))
			for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '~' || r == '.' }) {
				require.False(t, len(part) > 20 && strings.Contains(err.Error(), part), "no text of the token in an error")
			}
		})
	}
}

func TestEveryClassOfTheVectorsHasATestByName(t *testing.T) {
	t.Parallel()
	seen := map[mandate.Reason]bool{}
	for _, c := range invalidClasses() {
		seen[c.reason] = true
	}
	for _, v := range vectors(t) {
		if !v.Valid {
			require.True(t, seen[v.Reason], "reason %s has no test by name", v.Reason)
		}
	}
}

func TestForgeryBeginsWithValidTokens(t *testing.T) {
	t.Parallel()
	f := setup(t)
	g := f.forge(t)
	f.bind(g)
	p, err := f.verifier().VerifyPresentation(context.Background(), g.text(t), mandate.Expect{Audience: audience, Nonce: nonce})
	require.NoError(t, err)
	require.True(t, p.Mandate.Bound)
}
