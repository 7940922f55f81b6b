package mandate_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

// FuzzVerify takes any text: it is refused with a reason, and with the same one the second time.
func FuzzVerify(f *testing.F) {
	x := setupFixed(f)
	for _, s := range []string{"", "dtok_", "a.b.c~", "dtok_e30.e30.AA~", strings.Repeat("~", 10), x.issue(f).Reveal(), x.present(f, x.issue(f)).Reveal()} {
		f.Add(s)
	}
	v := x.verifier()
	f.Fuzz(func(t *testing.T, text string) {
		m, err := v.Verify(context.Background(), text)
		_, again := v.Verify(context.Background(), text)
		require.Equal(t, reasonOf(t, err), reasonOf(t, again))
		if p, unread := mandate.Peek(text); err == nil {
			require.NoError(t, unread)
			p.Mandate.Bound = m.Bound // which is not for Peek to say
			require.Equal(t, m, p.Mandate)
		}
		if tok, parsed := mandate.ParseToken(text); err == nil {
			require.NoError(t, parsed)
			require.False(t, tok.IsZero())
		}
	})
}

// FuzzVerifySigned signs what it is given, so that everything behind the
// signature is reached: what is accepted is a mandate that can be relied on.
func FuzzVerifySigned(f *testing.F) {
	x := setupFixed(f)
	g := x.forge(f)
	x.bind(g)
	f.Add(g.header, g.payload, "", "", "")
	f.Add(g.header, g.payload, "", g.kbHeader, g.kb)
	f.Add(g.header, strings.Replace(g.payload, `"vct"`, `"_sd":["#0"],"vct"`, 1), `["s","locale","de"]`, "", "")
	f.Add(g.header, strings.Replace(g.payload, `{"id":"mer_0001","name":"Weather","website":"https://weather.example"}`, `{"...":"#0"}`, 1),
		`["s",{"id":"mer_0001","name":"Weather"}]`, "", "")
	outer, inner := delegated(f, g.payload, ap2Claims...)
	f.Add(g.header, strings.Replace(outer, `"#inner"`, inner, 1), "", "", "")
	v := x.verifier()
	f.Fuzz(func(t *testing.T, header, payload, disclosure, kbHeader, kb string) {
		if header == "" || payload == "" || (kb != "" && kbHeader == "") {
			return
		}
		g := &forge{header: header, payload: payload, kbHeader: kbHeader, kb: kb, issuer: x.issuerKey, holder: x.sessionKey}
		if disclosure != "" {
			g.disclosures = []string{disclosure}
			g.payload = strings.ReplaceAll(payload, "#0", digestOf(b64.EncodeToString([]byte(disclosure))))
		}
		text := g.text(t)
		m, err := v.Verify(context.Background(), text)
		cached, again := v.Verify(context.Background(), text)
		require.Equal(t, reasonOf(t, err), reasonOf(t, again))
		if err != nil {
			return
		}
		require.Equal(t, m, cached)
		require.Regexp(t, `^del_[A-Za-z0-9_-]{1,64}$`, m.ID)
		require.Equal(t, issuerURL, m.Issuer)
		require.True(t, 1 <= m.Limits.MaxPerTxCents && m.Limits.MaxPerTxCents <= m.Limits.MaxMonthlyCents && m.Limits.MaxMonthlyCents < 1<<53)
		require.NotEmpty(t, m.Payees)
		require.NotEmpty(t, m.Rails)
		require.True(t, m.ExpiresAt.After(m.IssuedAt))
		require.False(t, m.SessionKey.IsZero())
		require.Equal(t, kb != "", m.Bound)
	})
}

// FuzzParseJWKS holds every key that is read to its thumbprint.
func FuzzParseJWKS(f *testing.F) {
	s, err := mandate.NewKeySet(mandate.Key{PublicKey: public(f, setupFixed(f).issuerKey), State: mandate.KeyCurrent})
	require.NoError(f, err)
	f.Add(get(f, s.Handler(), http.MethodGet).Body.Bytes())
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"","y":"","kid":""},{"kty":"RSA"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		keys, err := mandate.ParseJWKS(b)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(keys), mandate.MaxJWKSKeys)
		for _, k := range keys {
			require.Contains(t, string(b), k.ID()[:1])
			_, err := mandate.NewPublicKey(k.ECDSA())
			require.NoError(t, err)
		}
	})
}

// FuzzStatusList reads any lst: what is accepted answers for each of its indices.
func FuzzStatusList(f *testing.F) {
	f.Add(lst(f, []byte{0xb9, 0xa3}, ""))
	f.Add(lst(f, nil, ""))
	f.Add("eNrbuRgAAhcBXQ") // the first example of the draft, section 4.2
	f.Fuzz(func(t *testing.T, text string) {
		list, err := mandate.ReadLst(text)
		if err != nil {
			require.ErrorIs(t, err, mandate.ErrStatusList)
			return
		}
		for i := range min(list.Len(), 64) {
			_, err := list.Revoked(i)
			require.NoError(t, err)
		}
		_, err = list.Revoked(list.Len())
		require.ErrorIs(t, err, mandate.ErrStatusIndex)
	})
}
