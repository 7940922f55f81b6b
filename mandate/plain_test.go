package mandate_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// plainMandate is a valid token's payload as maps, with the disclosures put in: a
// second opinion on the processed result. Members are looked up by their exact
// names; structs of package json would also take them in another case.
type plainMandate struct {
	claims map[string]any
	bound  bool
}

func plain(t testing.TB, token string) plainMandate {
	t.Helper()
	segments := strings.Split(strings.TrimPrefix(token, mandate.Prefix), "~")
	disclosed := map[string]any{}
	for _, s := range segments[1 : len(segments)-1] {
		var d []any
		decodePlain(t, s, &d)
		sum := sha256.Sum256([]byte(s))
		disclosed[base64.RawURLEncoding.EncodeToString(sum[:])] = d[len(d)-1]
		if len(d) == 3 {
			disclosed[base64.RawURLEncoding.EncodeToString(sum[:])] = map[string]any{d[1].(string): d[2]}
		}
	}
	var payload any
	decodePlain(t, strings.Split(segments[0], ".")[1], &payload)
	claims, ok := fill(payload, disclosed).(map[string]any)
	require.True(t, ok)
	return plainMandate{claims: claims, bound: segments[len(segments)-1] != ""}
}

// at follows exact names; nil if one is missing.
func at(claims any, names ...string) any {
	for _, name := range names {
		members, _ := claims.(map[string]any)
		claims = members[name]
	}
	return claims
}

// text is a string claim, empty if it is missing.
func text(claims any, names ...string) string {
	s, _ := at(claims, names...).(string)
	return s
}

// number is an integer claim, 0 if it is missing.
func number(t testing.TB, claims any, names ...string) int64 {
	t.Helper()
	n, ok := at(claims, names...).(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	require.NoError(t, err)
	return i
}

func decodePlain(t testing.TB, s string, into any) {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	require.NoError(t, d.Decode(into))
}

func fill(v any, disclosed map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, m := range v {
			if name != "_sd" {
				out[name] = fill(m, disclosed)
				continue
			}
			for _, digest := range m.([]any) {
				member, _ := disclosed[digest.(string)].(map[string]any)
				for n, value := range member {
					out[n] = fill(value, disclosed)
				}
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			if hidden, ok := e.(map[string]any); ok && hidden["..."] != nil {
				if e, ok = disclosed[hidden["..."].(string)]; !ok {
					continue
				}
			}
			out = append(out, fill(e, disclosed))
		}
		return out
	default:
		return v
	}
}

func requireSame(t testing.TB, want plainMandate, got *mandate.Mandate) {
	t.Helper()
	c := want.claims
	require.Equal(t, text(c, "jti"), got.ID)
	require.Equal(t, text(c, "iss"), got.Issuer)
	require.Equal(t, number(t, c, "iat"), got.IssuedAt.Unix())
	require.Equal(t, number(t, c, "exp"), got.ExpiresAt.Unix())
	nbf := number(t, c, "nbf")
	require.Equal(t, nbf == 0, got.NotBefore.IsZero())
	if nbf != 0 {
		require.Equal(t, nbf, got.NotBefore.Unix())
	}
	require.Equal(t, want.bound, got.Bound)
	require.Equal(t, mandate.Limits{
		MaxPerTxCents: number(t, c, "spending_limits", "max_per_tx_cents"), MaxMonthlyCents: number(t, c, "spending_limits", "max_monthly_cents"),
	}, got.Limits)
	key, err := json.Marshal(got.SessionKey)
	require.NoError(t, err)
	require.JSONEq(t, `{"kty":"EC","crv":"P-256","x":"`+text(c, "cnf", "jwk", "x")+`","y":"`+text(c, "cnf", "jwk", "y")+`"}`, string(key))
	if at(c, "status") == nil {
		require.Nil(t, got.Status)
	} else {
		require.Equal(t, &mandate.StatusRef{
			Index: number(t, c, "status", "status_list", "idx"), URI: text(c, "status", "status_list", "uri"),
		}, got.Status)
	}
	var payees []mandate.Payee
	var rails []mandate.Rail
	constraints, _ := at(c, "constraints").([]any)
	for _, constraint := range constraints {
		allowed, _ := at(constraint, "allowed").([]any)
		for _, a := range allowed {
			if text(constraint, "type") == "payment.allowed_payees" {
				payees = append(payees, mandate.Payee{ID: text(a, "id"), Name: text(a, "name"), Website: text(a, "website")})
			} else {
				rails = append(rails, mandate.Rail(text(a, "id")))
			}
		}
	}
	require.Equal(t, payees, got.Payees)
	require.Equal(t, rails, got.Rails)
}

// The claims of a token in another case are not the claims: the oracle would
// otherwise agree with a verifier that folds case.
func TestOracleReadsExactNames(t *testing.T) {
	t.Parallel()
	payload := base64.RawURLEncoding.EncodeToString([]byte(`{"Nbf":5,"JTI":"x","spending_limits":{"MAX_PER_TX_CENTS":7}}`))
	m := plain(t, "e30."+payload+".sig~")
	require.Zero(t, number(t, m.claims, "nbf"))
	require.Empty(t, text(m.claims, "jti"))
	require.Zero(t, number(t, m.claims, "spending_limits", "max_per_tx_cents"))
	require.Equal(t, int64(5), number(t, m.claims, "Nbf"))
}
