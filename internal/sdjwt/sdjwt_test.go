package sdjwt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return k
}

func sign(t testing.TB, header, payload string, key *ecdsa.PrivateKey) string {
	t.Helper()
	jwt, err := sdjwt.Sign([]byte(header), []byte(payload), key)
	require.NoError(t, err)
	return jwt
}

func requireReason(t testing.TB, want sdjwt.Reason, err error) {
	t.Helper()
	var e *sdjwt.Error
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Reason)
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		bound  bool
		reason sdjwt.Reason
	}{
		"plain":                       {"YQ.Yg.Yw~", false, ""},
		"disclosures":                 {"YQ.Yg.Yw~ZA~ZQ~", false, ""},
		"binding":                     {"YQ.Yg.Yw~ZA~Zg.Zw.aA", true, ""},
		"no tilde":                    {"YQ.Yg.Yw", false, sdjwt.BadFormat},
		"nothing":                     {"", false, sdjwt.BadFormat},
		"tilde alone":                 {"~", false, sdjwt.BadFormat},
		"two parts":                   {"YQ.Yg~", false, sdjwt.BadFormat},
		"four parts":                  {"YQ.Yg.Yw.ZA~", false, sdjwt.BadFormat},
		"empty header":                {".Yg.Yw~", false, sdjwt.BadFormat},
		"empty payload":               {"YQ..Yw~", false, sdjwt.BadFormat},
		"empty signature":             {"YQ.Yg.~", false, sdjwt.BadFormat},
		"empty first disclosure":      {"YQ.Yg.Yw~~", false, sdjwt.BadFormat},
		"empty second disclosure":     {"YQ.Yg.Yw~ZA~~", false, sdjwt.BadFormat},
		"dot in a disclosure":         {"YQ.Yg.Yw~Z.A~", false, sdjwt.BadFormat},
		"binding of two parts":        {"YQ.Yg.Yw~Zg.Zw", false, sdjwt.BadFormat},
		"two bindings":                {"YQ.Yg.Yw~Zg.Zw.aA~Zg.Zw.aA", false, sdjwt.BadFormat},
		"binding wanted":              {"YQ.Yg.Yw~ZA~", true, sdjwt.KBMissing},
		"format before binding":       {"YQ.Yg~", true, sdjwt.BadFormat},
		"binding before base64":       {"Y=.Yg.Yw~", true, sdjwt.KBMissing},
		"padding":                     {"YQ==.Yg.Yw~", false, sdjwt.BadBase64URL},
		"line feed":                   {"YQ.Yg.Yw\n~", false, sdjwt.BadBase64URL},
		"carriage return":             {"YQ\r.Yg.Yw~", false, sdjwt.BadBase64URL},
		"impossible length":           {"YQ.Yg.Y~", false, sdjwt.BadBase64URL},
		"unused bits of one byte":     {"YR.Yg.Yw~", false, sdjwt.BadBase64URL},
		"unused bits of two bytes":    {"YWJ.Yg.Yw~", false, sdjwt.BadBase64URL},
		"other alphabet":              {"YQ.Y+.Yw~", false, sdjwt.BadBase64URL},
		"base64 in a disclosure":      {"YQ.Yg.Yw~Z/~", false, sdjwt.BadBase64URL},
		"base64 in a binding":         {"YQ.Yg.Yw~Zg.Zw.a*", false, sdjwt.BadBase64URL},
		"longest":                     {"YQ.Yg." + strings.Repeat("A", 8180) + "~", false, ""},
		"too long":                    {"YQ.Yg." + strings.Repeat("A", 8186) + "~", false, sdjwt.TooLarge},
		"size before everything else": {strings.Repeat("~", 8193), false, sdjwt.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tok, err := sdjwt.Split(c.text, c.bound)
			requireReason(t, c.reason, err)
			if err == nil {
				require.Equal(t, c.text[:strings.LastIndexByte(c.text, '~')+1], tok.Bound())
			}
		})
	}
}

func TestDecode64IsTheStrictStandardWithoutLineBreaks(t *testing.T) {
	t.Parallel()
	strict := base64.RawURLEncoding.Strict()
	for _, prefix := range []string{"", "abcd"} {
		for a := range 256 {
			for b := range 256 {
				for _, tail := range []string{"", "A", "AA"} {
					s := prefix + string([]byte{byte(a), byte(b)}) + tail
					want, err := strict.DecodeString(s)
					got, ok := sdjwt.Decode64(s)
					ok2 := err == nil && !strings.ContainsAny(s, "\r\n")
					require.Equal(t, ok2, ok, "%q", s)
					if ok {
						require.Equal(t, want, got, "%q", s)
					}
				}
			}
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for name, c := range map[string]struct {
		header string
		reason sdjwt.Reason
	}{
		"good":              {`{"alg":"ES256","typ":"a+b","kid":"k","other":1}`, ""},
		"no object":         {`[]`, sdjwt.BadJSON},
		"twice":             {`{"alg":"ES256","alg":"ES256"}`, sdjwt.DuplicateKey},
		"no alg":            {`{"typ":"a+b","kid":"k"}`, sdjwt.BadAlg},
		"none":              {`{"alg":"none","typ":"a+b","kid":"k"}`, sdjwt.BadAlg},
		"lower case":        {`{"alg":"es256","typ":"a+b","kid":"k"}`, sdjwt.BadAlg},
		"alg is a list":     {`{"alg":["ES256"],"typ":"a+b","kid":"k"}`, sdjwt.BadAlg},
		"other typ":         {`{"alg":"ES256","typ":"application/a+b","kid":"k"}`, sdjwt.BadTyp},
		"alg before typ":    {`{"alg":"RS256","typ":"x"}`, sdjwt.BadAlg},
		"crit":              {`{"alg":"ES256","typ":"a+b","kid":"k","crit":[]}`, sdjwt.CritUnsupported},
		"crit before jwk":   {`{"alg":"ES256","typ":"a+b","jwk":{},"crit":null}`, sdjwt.CritUnsupported},
		"jwk":               {`{"alg":"ES256","typ":"a+b","kid":"k","jwk":null}`, sdjwt.HeaderForbidden},
		"jku":               {`{"alg":"ES256","typ":"a+b","kid":"k","jku":""}`, sdjwt.HeaderForbidden},
		"x5u":               {`{"alg":"ES256","typ":"a+b","kid":"k","x5u":""}`, sdjwt.HeaderForbidden},
		"x5c":               {`{"alg":"ES256","typ":"a+b","kid":"k","x5c":[]}`, sdjwt.HeaderForbidden},
		"x5t":               {`{"alg":"ES256","typ":"a+b","kid":"k","x5t":""}`, sdjwt.HeaderForbidden},
		"x5t#S256":          {`{"alg":"ES256","typ":"a+b","kid":"k","x5t#S256":""}`, sdjwt.HeaderForbidden},
		"jwk before kid":    {`{"alg":"ES256","typ":"a+b","jwk":null}`, sdjwt.HeaderForbidden},
		"no kid":            {`{"alg":"ES256","typ":"a+b"}`, sdjwt.KidMissing},
		"empty kid":         {`{"alg":"ES256","typ":"a+b","kid":""}`, sdjwt.KidMissing},
		"kid is no string":  {`{"alg":"ES256","typ":"a+b","kid":1}`, sdjwt.KidMissing},
		"kid of other case": {`{"alg":"ES256","typ":"a+b","KID":"k"}`, sdjwt.KidMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jwt, err := sdjwt.ParseJWT(sign(t, c.header, `{}`, key))
			require.NoError(t, err)
			kid, err := jwt.Header("a+b")
			requireReason(t, c.reason, err)
			if err == nil {
				require.Equal(t, "k", kid)
			}
		})
	}
}

func TestVerifyTakesTheSignersKeyAndNoOther(t *testing.T) {
	t.Parallel()
	key, other := newKey(t), newKey(t)
	for range 300 { // so that r and s begin with a zero byte now and then
		text := sign(t, `{}`, `{"a":1}`, key)
		jwt, err := sdjwt.ParseJWT(text)
		require.NoError(t, err)
		require.NoError(t, jwt.Verify(&key.PublicKey))
		requireReason(t, sdjwt.BadSignature, jwt.Verify(&other.PublicKey))
	}
}

func TestVerifyRefusesSignaturesOfAnotherForm(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	text := sign(t, `{}`, `{"a":1}`, key)
	dot := strings.LastIndexByte(text, '.') + 1
	sig, ok := sdjwt.Decode64(text[dot:])
	require.True(t, ok)
	order := key.Params().N.FillBytes(make([]byte, 32))
	zero := make([]byte, 32)
	for name, forged := range map[string][]byte{
		"63 bytes":        sig[:63],
		"65 bytes":        append(append([]byte{}, sig...), 0),
		"r is zero":       append(append([]byte{}, zero...), sig[32:]...),
		"s is zero":       append(append([]byte{}, sig[:32]...), zero...),
		"r is the order":  append(append([]byte{}, order...), sig[32:]...),
		"s is the order":  append(append([]byte{}, sig[:32]...), order...),
		"both zero":       make([]byte, 64),
		"s before r":      append(append([]byte{}, sig[32:]...), sig[:32]...),
		"one bit":         append(append([]byte{}, sig[:63]...), sig[63]^1),
		"only one number": sig[:32],
	} {
		jwt, err := sdjwt.ParseJWT(text[:dot] + sdjwt.Encode64(forged))
		require.NoError(t, err)
		requireReason(t, sdjwt.BadSignature, jwt.Verify(&key.PublicKey))
		require.NotEmpty(t, name)
	}
}

func TestSignRefusesKeysOfAnotherKind(t *testing.T) {
	t.Parallel()
	k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, err = sdjwt.Sign([]byte(`{}`), []byte(`{}`), k)
	require.Error(t, err)
}

func TestParseJWTRefuses(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]sdjwt.Reason{
		"": sdjwt.BadFormat, "a.b": sdjwt.BadFormat, "YQ.Yg.Yw.ZA": sdjwt.BadFormat, "YQ.Yg.Y*": sdjwt.BadBase64URL,
	} {
		_, err := sdjwt.ParseJWT(text)
		requireReason(t, reason, err)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for payload, reason := range map[string]sdjwt.Reason{
		`{"a":1}`: "", `[1]`: sdjwt.BadJSON, `{"a":1}}`: sdjwt.BadJSON, `{"a":1,"\u0061":2}`: sdjwt.DuplicateKey,
	} {
		jwt, err := sdjwt.ParseJWT(sign(t, `{}`, payload, key))
		require.NoError(t, err)
		claims, err := jwt.Claims()
		requireReason(t, reason, err)
		if err == nil {
			require.Equal(t, ijson.Object, claims.Kind())
		}
	}
}
