package sdjwt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// FuzzSplit holds the envelope together: what is split can be put together
// again from its parts, and nothing that is read panics.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"YQ.Yg.Yw~", "YQ.Yg.Yw~ZA~ZQ~Zg.Zw.aA", "YQ.Yg.Yw~~", "~", "e30.e30.AA~WyJzIiwiYSIsMV0~", "e30.eyJfc2QiOltdfQ.AA~",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := sdjwt.Split(text, false)
		if err != nil {
			var e *sdjwt.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.True(t, strings.HasPrefix(text, tok.Bound()))
		joined := text[:strings.IndexByte(text, '~')+1]
		for _, d := range tok.Disclosures {
			joined += d.Text + "~"
		}
		require.Equal(t, tok.Bound(), joined)
		require.Equal(t, tok.Binding != nil, len(text) > len(joined))
		_, _ = tok.Issuer.Header("dc+sd-jwt")
		if claims, err := tok.Issuer.Claims(); err == nil {
			_ = tok.Disclose(claims, profile{})
		}
	})
}

// FuzzDisclose puts any payload and disclosure together: what is accepted
// holds nothing of SD-JWT any more and never a hidden reserved claim.
func FuzzDisclose(f *testing.F) {
	f.Add(`{"_sd":["#0"]}`, `["s","a",1]`)
	f.Add(`{"a":[{"...":"#0"}]}`, `["s",{"_sd":["x"]}]`)
	f.Add(`{"sealed":{"open":[{"...":"#0"}]}}`, `["s",{"b":[]}]`)
	f.Add(`{"_sd":["#0"]}`, `["s","exp",1]`)
	key := newKey(f)
	f.Fuzz(func(t *testing.T, payload, disclosure string) {
		if disclosure == "" || len(payload)+len(disclosure) > 4000 {
			return
		}
		d := sdjwt.Encode64([]byte(disclosure))
		payload = strings.ReplaceAll(payload, "#0", sdjwt.Digest(d))
		if payload == "" {
			return
		}
		tok, err := sdjwt.Split(sign(t, `{}`, payload, key)+"~"+d+"~", false)
		require.NoError(t, err)
		claims, err := tok.Issuer.Claims()
		if err != nil {
			return
		}
		plainExp := claims.Get("exp") != nil
		if tok.Disclose(claims, profile{}) != nil {
			return
		}
		require.Equal(t, plainExp, claims.Get("exp") != nil)
		out := string(claims.AppendJSON(nil))
		require.NotContains(t, out, `"_sd":`)
		require.NotContains(t, out, `"...":`)
		require.NotContains(t, out, `"_sd_alg":`)
	})
}
