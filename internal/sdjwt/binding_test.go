package sdjwt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

func TestVerifyBinding(t *testing.T) {
	t.Parallel()
	const now, header = 1_800_000_000, `{"alg":"ES256","typ":"kb+jwt"}`
	holder, other := newKey(t), newKey(t)
	bound := sign(t, `{}`, `{}`, other) + "~"
	hash := sdjwt.Digest(bound)
	payload := func(iat, rest string) string {
		return fmt.Sprintf(`{"iat":%s,"aud":"a","nonce":"n","sd_hash":"%s"%s}`, iat, hash, rest)
	}
	good := payload("1800000000", "")
	for name, c := range map[string]struct {
		reason          sdjwt.Reason
		header, payload string
		lax             bool
		audience, nonce string
	}{
		"good":                   {"", header, good, false, "a", "n"},
		"other members":          {"", `{"alg":"ES256","typ":"kb+jwt","kid":"x"}`, payload("1800000000", `,"x":1`), false, "a", "n"},
		"oldest":                 {"", header, payload("1799999700", ""), false, "a", "n"},
		"newest":                 {"", header, payload("1800000060", ""), false, "a", "n"},
		"own end ahead":          {"", header, payload("1800000000", `,"exp":1799999941`), false, "a", "n"},
		"lax":                    {"", header, good, true, "", ""},
		"header no object":       {sdjwt.BadJSON, `1`, good, false, "a", "n"},
		"alg":                    {sdjwt.KBBadAlg, `{"alg":"none","typ":"kb+jwt"}`, good, false, "a", "n"},
		"typ":                    {sdjwt.KBBadTyp, `{"alg":"ES256","typ":"KB+JWT"}`, good, false, "a", "n"},
		"crit":                   {sdjwt.KBHeaderForbidden, `{"alg":"ES256","typ":"kb+jwt","crit":["x"]}`, good, false, "a", "n"},
		"jwk":                    {sdjwt.KBHeaderForbidden, `{"alg":"ES256","typ":"kb+jwt","jwk":null}`, good, false, "a", "n"},
		"payload no object":      {sdjwt.BadJSON, header, `[]`, false, "a", "n"},
		"payload twice a name":   {sdjwt.DuplicateKey, header, payload("1800000000", `,"aud":"a"`), false, "a", "n"},
		"iat no date":            {sdjwt.KBBadIat, header, payload(`"1800000000"`, ""), false, "a", "n"},
		"iat zero":               {sdjwt.KBBadIat, header, payload("0", ""), false, "a", "n"},
		"iat in the future":      {sdjwt.KBIatInFuture, header, payload("1800000061", ""), false, "a", "n"},
		"too old":                {sdjwt.KBStale, header, payload("1799999699", ""), false, "a", "n"},
		"own end passed":         {sdjwt.KBStale, header, payload("1800000000", `,"exp":1799999940`), false, "a", "n"},
		"own end no date":        {sdjwt.KBStale, header, payload("1800000000", `,"exp":null`), false, "a", "n"},
		"other audience":         {sdjwt.KBBadAud, header, good, false, "b", "n"},
		"no audience expected":   {sdjwt.KBBadAud, header, good, false, "", "n"},
		"lax, other audience":    {sdjwt.KBBadAud, header, good, true, "b", ""},
		"other nonce":            {sdjwt.KBBadNonce, header, good, false, "a", "N"},
		"audience list":          {sdjwt.KBBadAud, header, `{"iat":1800000000,"aud":["a"],"nonce":"n","sd_hash":"` + hash + `"}`, false, "a", "n"},
		"lax, no audience":       {sdjwt.KBBadAud, header, `{"iat":1800000000,"nonce":"n","sd_hash":"` + hash + `"}`, true, "", ""},
		"lax, empty nonce":       {sdjwt.KBBadNonce, header, `{"iat":1800000000,"aud":"a","nonce":"","sd_hash":"` + hash + `"}`, true, "", ""},
		"other text":             {sdjwt.KBBadSDHash, header, `{"iat":1800000000,"aud":"a","nonce":"n","sd_hash":"x"}`, false, "a", "n"},
		"no hash":                {sdjwt.KBBadSDHash, header, `{"iat":1800000000,"aud":"a","nonce":"n"}`, false, "a", "n"},
		"audience before hash":   {sdjwt.KBBadAud, header, `{"iat":1800000000,"aud":"","nonce":"n"}`, false, "a", "n"},
		"typ before forbidden":   {sdjwt.KBBadTyp, `{"alg":"ES256","typ":"x","jwk":1}`, good, false, "a", "n"},
		"alg before typ":         {sdjwt.KBBadAlg, `{"alg":"x","typ":"x"}`, good, false, "a", "n"},
		"staleness before aud":   {sdjwt.KBStale, header, `{"iat":1,"aud":"x"}`, false, "a", "n"},
		"iat far in the future":  {sdjwt.KBIatInFuture, header, payload("253402300799", ""), false, "a", "n"},
		"iat beyond every date":  {sdjwt.KBBadIat, header, payload("253402300800", ""), false, "a", "n"},
		"iat with a fraction":    {sdjwt.KBBadIat, header, payload("1800000000.0", ""), false, "a", "n"},
		"nonce is a number":      {sdjwt.KBBadNonce, header, `{"iat":1800000000,"aud":"a","nonce":1,"sd_hash":"` + hash + `"}`, false, "a", "n"},
		"hash of another length": {sdjwt.KBBadSDHash, header, `{"iat":1800000000,"aud":"a","nonce":"n","sd_hash":"` + hash + `="}`, false, "a", "n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tok, err := sdjwt.Split(bound+sign(t, c.header, c.payload, holder), true)
			require.NoError(t, err)
			b := sdjwt.Binding{Key: &holder.PublicKey, Now: now, Skew: 60, MaxAge: 300, Audience: c.audience, Nonce: c.nonce, Lax: c.lax}
			claims, err := tok.VerifyBinding(b)
			requireReason(t, c.reason, err)
			require.Equal(t, err == nil, claims != nil)
			if err == nil {
				b.Key = &other.PublicKey
				_, err = tok.VerifyBinding(b)
				requireReason(t, sdjwt.KBBadSignature, err)
			}
		})
	}
}

func TestVerifyBindingWithoutOne(t *testing.T) {
	t.Parallel()
	tok, err := sdjwt.Split("YQ.Yg.Yw~", false)
	require.NoError(t, err)
	claims, err := tok.VerifyBinding(sdjwt.Binding{})
	require.NoError(t, err)
	require.Nil(t, claims)
}
