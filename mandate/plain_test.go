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

// plainMandate is a valid token's payload as encoding/json reads it, with the
// disclosures put in by plain maps: a second opinion on the processed result.
type plainMandate struct {
	JTI string `json:"jti"`
	Iss string `json:"iss"`
	Iat int64  `json:"iat"`
	Exp int64  `json:"exp"`
	Nbf int64  `json:"nbf"`
	Cnf struct {
		JWK json.RawMessage `json:"jwk"`
	} `json:"cnf"`
	Status *struct {
		List struct {
			Idx int64  `json:"idx"`
			URI string `json:"uri"`
		} `json:"status_list"`
	} `json:"status"`
	Limits struct {
		PerTx   int64 `json:"max_per_tx_cents"`
		Monthly int64 `json:"max_monthly_cents"`
	} `json:"spending_limits"`
	Constraints []struct {
		Type    string `json:"type"`
		Allowed []struct {
			ID, Name, Website string
		} `json:"allowed"`
	} `json:"constraints"`
	bound bool
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
	b, err := json.Marshal(fill(payload, disclosed))
	require.NoError(t, err)
	var m plainMandate
	require.NoError(t, json.Unmarshal(b, &m))
	m.bound = segments[len(segments)-1] != ""
	return m
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
	require.Equal(t, want.JTI, got.ID)
	require.Equal(t, want.Iss, got.Issuer)
	require.Equal(t, want.Iat, got.IssuedAt.Unix())
	require.Equal(t, want.Exp, got.ExpiresAt.Unix())
	require.Equal(t, want.Nbf == 0, got.NotBefore.IsZero())
	if want.Nbf != 0 {
		require.Equal(t, want.Nbf, got.NotBefore.Unix())
	}
	require.Equal(t, want.bound, got.Bound)
	require.Equal(t, mandate.Limits{MaxPerTxCents: want.Limits.PerTx, MaxMonthlyCents: want.Limits.Monthly}, got.Limits)
	var jwk struct{ X, Y string }
	require.NoError(t, json.Unmarshal(want.Cnf.JWK, &jwk))
	key, err := json.Marshal(got.SessionKey)
	require.NoError(t, err)
	require.JSONEq(t, `{"kty":"EC","crv":"P-256","x":"`+jwk.X+`","y":"`+jwk.Y+`"}`, string(key))
	if want.Status == nil {
		require.Nil(t, got.Status)
	} else {
		require.Equal(t, &mandate.StatusRef{Index: want.Status.List.Idx, URI: want.Status.List.URI}, got.Status)
	}
	var payees []mandate.Payee
	var rails []mandate.Rail
	for _, c := range want.Constraints {
		for _, a := range c.Allowed {
			if c.Type == "payment.allowed_payees" {
				payees = append(payees, mandate.Payee{ID: a.ID, Name: a.Name, Website: a.Website})
			} else {
				rails = append(rails, mandate.Rail(a.ID))
			}
		}
	}
	require.Equal(t, payees, got.Payees)
	require.Equal(t, rails, got.Rails)
}
