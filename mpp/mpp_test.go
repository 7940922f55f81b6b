package mpp_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/mpp"
)

const secret = "a secret of at least sixteen bytes"

// challengeID computes the id of a challenge from its definition.
func challengeID(secret []byte, c mpp.Challenge) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strings.Join([]string{c.Realm, c.Method, c.Intent, c.Request, c.Expires, c.Digest, c.Opaque}, "|")))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func signer(t require.TestingT, secrets ...string) *mpp.Signer {
	s, err := mpp.NewSigner(secrets...)
	require.NoError(t, err)
	return s
}

func challenge() mpp.Challenge {
	return mpp.Challenge{
		Realm: "api.example.com", Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: "eyJhIjoxfQ", Description: `say "hi", \ok`,
	}
}

func TestIssuedChallengesParseAndVerify(t *testing.T) {
	t.Parallel()
	s := signer(t, secret)
	for name, c := range map[string]mpp.Challenge{
		"plain":       challenge(),
		"with digest": func() mpp.Challenge { c := challenge(); c.Digest = "sha-256=:X48E9q:"; return c }(),
		"bare":        {Realm: "r", Method: "m", Intent: "i", Request: "cQ"},
	} {
		issuer, err := mpp.NewIssuer(s, c)
		require.NoError(t, err, name)
		end := time.Date(2026, 11, 21, 10, 0, 0, 123_999_999, time.FixedZone("", 3600))
		issued := issuer.Issue(end)
		parsed, err := mpp.ParseChallenges(issued.Header)
		require.NoError(t, err, name)
		require.Len(t, parsed, 1, name)
		got := parsed[0]
		require.Equal(t, issued.ID, got.ID, name)
		require.True(t, s.Verify(got), name)
		require.Equal(t, got.ID, challengeID([]byte(secret), got), name)
		require.Equal(t, "2026-11-21T09:00:00.123Z", got.Expires, name)
		at, err := got.ExpiresAt()
		require.NoError(t, err)
		require.True(t, at.Equal(end.Truncate(time.Millisecond)), name)
		header, err := got.Header()
		require.NoError(t, err)
		require.Equal(t, issued.Header, header, name)
		require.NotEqual(t, issued, issuer.Issue(end), "two of one moment must differ")
	}
}

func TestEveryBoundParameterIsBound(t *testing.T) {
	t.Parallel()
	s := signer(t, secret)
	c := challenge()
	c.Expires, c.Digest, c.Opaque = "2026-11-21T09:00:00Z", "sha-256=:AA:", "b3A"
	require.NoError(t, s.Sign(&c))
	require.True(t, s.Verify(c))
	for name, change := range map[string]func(*mpp.Challenge){
		"id":      func(c *mpp.Challenge) { c.ID = c.ID[1:] + "A" },
		"no id":   func(c *mpp.Challenge) { c.ID = "" },
		"realm":   func(c *mpp.Challenge) { c.Realm += "x" },
		"method":  func(c *mpp.Challenge) { c.Method = "other" },
		"intent":  func(c *mpp.Challenge) { c.Intent = "session" },
		"request": func(c *mpp.Challenge) { c.Request = "eyJhIjoyfQ" },
		"expires": func(c *mpp.Challenge) { c.Expires = "2027-11-21T09:00:00Z" },
		"digest":  func(c *mpp.Challenge) { c.Digest = "" },
		"opaque":  func(c *mpp.Challenge) { c.Opaque = "" },
		"moved":   func(c *mpp.Challenge) { c.Expires, c.Digest = "", c.Expires+"|"+c.Digest },
	} {
		other := c
		change(&other)
		require.False(t, s.Verify(other), name)
	}
	for _, shifted := range []mpp.Challenge{
		{Realm: "a|b", Method: "m", Intent: "i", Request: "q"}, {Realm: "a", Method: "b|m", Intent: "i", Request: "q"},
	} {
		shifted.ID = challengeID([]byte(secret), shifted)
		require.False(t, s.Verify(shifted), "one id for two challenges")
	}
	c.Description = "not bound"
	require.True(t, s.Verify(c))
}

func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	old, both, next := signer(t, secret), signer(t, "the next secret, sixteen or more", secret), signer(t, "the next secret, sixteen or more")
	before, after := challenge(), challenge()
	require.NoError(t, old.Sign(&before))
	require.NoError(t, both.Sign(&after))
	require.True(t, both.Verify(before))
	require.True(t, both.Verify(after))
	require.True(t, next.Verify(after))
	require.False(t, next.Verify(before))
	require.False(t, old.Verify(after))

	_, err := mpp.NewSigner()
	require.Error(t, err)
	_, err = mpp.NewSigner(secret, "short")
	require.ErrorContains(t, err, "secret 1")
	require.NotContains(t, err.Error(), "short:")
}

func TestCRLFAndQuotesInChallengeParameters(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"a\r\nSet-Cookie: x=1", "a\nb", "a\x00b", "a\x7fb"} {
		c := challenge()
		c.ID, c.Description = "i", bad
		_, err := c.Header()
		require.ErrorContains(t, err, "description", bad)
		_, err = mpp.NewIssuer(signer(t, secret), c)
		require.Error(t, err)
	}
	c := challenge()
	c.Realm = "a|b"
	require.Error(t, signer(t, secret).Sign(&c))
	c.Realm = ""
	require.Error(t, signer(t, secret).Sign(&c))
	_, err := c.Header()
	require.Error(t, err)
}

func TestAnyTextSurvivesQuoting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[\t -~é-ÿ"\\,=]{1,40}`)
		c := mpp.Challenge{
			ID: text.Draw(t, "id"), Realm: text.Draw(t, "realm"), Method: text.Draw(t, "method"), Intent: text.Draw(t, "intent"),
			Request: text.Draw(t, "request"), Description: text.Draw(t, "description"),
		}
		header, err := c.Header()
		require.NoError(t, err)
		parsed, err := mpp.ParseChallenges("Basic realm=\"x, Payment id=y\", "+header+", Negotiate abc==", header)
		require.NoError(t, err)
		require.Equal(t, []mpp.Challenge{c, c}, parsed)
	})
}

func TestMalformedChallengesAreSyntaxErrors(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`Payment id="a`, `Payment id="a\`, `Payment id="a" realm="b"`, `Payment id="a", realm=`, `id="a"`, `Payment id="a", ="b"`, "Payment id=\"a\x01\"",
		`Basic abc def`, `Payment ` + strings.Repeat("a", mpp.MaxChallengeHeader), `"x"`,
	} {
		_, err := mpp.ParseChallenges(bad)
		require.ErrorIs(t, err, mpp.ErrSyntax, bad)
	}
	_, err := mpp.ParseChallenges()
	require.ErrorIs(t, err, mpp.ErrNoChallenge)
	many := strings.Repeat(`Payment id=a, realm=r, method=m, intent=i, request=q, `, 65)
	_, err = mpp.ParseChallenges(many)
	require.ErrorIs(t, err, mpp.ErrSyntax)
}

func credential(t require.TestingT) string {
	c := challenge()
	c.ID = "i"
	header, err := mpp.Credential{Challenge: c, Source: "did:pkh:eip155:1:0x", Payload: json.RawMessage(`{"a":1}`)}.Header()
	require.NoError(t, err)
	return header
}

func TestExactlyOneCredential(t *testing.T) {
	t.Parallel()
	good := credential(t)
	for name, tc := range map[string]struct {
		header http.Header
		want   error
	}{
		"one":                       {http.Header{"Authorization": {good}}, nil},
		"lower case":                {http.Header{"Authorization": {"payment" + good[7:]}}, nil},
		"beside another scheme":     {http.Header{"Authorization": {"Bearer abc", good}}, nil},
		"joined to another scheme":  {http.Header{"Authorization": {`Digest username="Payment a, Payment b", ` + good}}, nil},
		"aside":                     {http.Header{"Authorization": {"Bearer abc"}, "Payment-Authorization": {good}}, nil},
		"none":                      {http.Header{"Authorization": {"Bearer abc"}}, mpp.ErrNoCredential},
		"empty":                     {http.Header{}, mpp.ErrNoCredential},
		"two headers":               {http.Header{"Authorization": {good, good}}, mpp.ErrMultipleCredentials},
		"two joined":                {http.Header{"Authorization": {good + ", " + good}}, mpp.ErrMultipleCredentials},
		"one here and one aside":    {http.Header{"Authorization": {good}, "Payment-Authorization": {good}}, mpp.ErrMultipleCredentials},
		"a good and a bad one":      {http.Header{"Authorization": {good, "Payment x"}}, mpp.ErrMultipleCredentials},
		"scheme alone":              {http.Header{"Authorization": {"Payment"}}, mpp.ErrMalformedCredential},
		"parameters":                {http.Header{"Authorization": {`Payment id="a"`}}, mpp.ErrMalformedCredential},
		"too long":                  {http.Header{"Authorization": {"Payment " + strings.Repeat("A", mpp.MaxCredentialHeader)}}, mpp.ErrMalformedCredential},
		"garbage":                   {http.Header{"Authorization": {"Payment dGhpcyBpcyBnYXJiYWdl"}}, mpp.ErrMalformedCredential},
		"a scheme of a longer name": {http.Header{"Authorization": {"Payments abc"}}, mpp.ErrNoCredential},
	} {
		c, err := mpp.CredentialFrom(tc.header)
		require.ErrorIs(t, err, tc.want, name)
		if tc.want == nil {
			require.Equal(t, "i", c.Challenge.ID, name)
			require.JSONEq(t, `{"a":1}`, string(c.Payload), name)
		}
	}
}

func TestCredentialJSONIsStrict(t *testing.T) {
	t.Parallel()
	const good = `{"challenge":{"id":"i","realm":"r","method":"m","intent":"c","request":"q"},"payload":{}}`
	parse := func(s string) error {
		_, err := mpp.ParseCredential("Payment " + base64.RawURLEncoding.EncodeToString([]byte(s)))
		return err
	}
	require.NoError(t, parse(good))
	for old, bad := range map[string]string{
		`"id":"i"`:      `"id":"i","id":"j"`,
		`"realm":"r"`:   `"Realm":"r"`,
		`"method":"m"`:  `"method":1`,
		`"intent":"c"`:  `"intent":null`,
		`"request":"q"`: `"request":{}`,
		`"payload":{}`:  `"payload":"x"`,
		`}}`:            `}}x`,
		`{"challenge"`:  `{"source":5,"challenge"`,
	} {
		require.ErrorIs(t, parse(strings.Replace(good, old, bad, 1)), mpp.ErrMalformedCredential, bad)
	}
}

func TestLongCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	parse := func(source int) error {
		c := mpp.Credential{
			Challenge: mpp.Challenge{ID: "i", Realm: "r", Method: "m", Intent: "c", Request: "q"},
			Source:    strings.Repeat("s", source), Payload: []byte("{}"),
		}
		header, err := c.Header()
		require.NoError(t, err)
		_, err = mpp.ParseCredential(header)
		return err
	}
	require.NoError(t, parse(mpp.MaxCredentialHeader/2))
	require.ErrorIs(t, parse(mpp.MaxCredentialHeader), mpp.ErrMalformedCredential)
}

func TestReceiptSurvives(t *testing.T) {
	t.Parallel()
	want := mpp.Receipt{
		Method: "evm", Reference: "0xabc", Status: mpp.StatusSuccess, ChallengeID: "c", Timestamp: time.Date(2026, 11, 21, 9, 0, 0, 5e6, time.UTC),
	}
	header, err := want.Header()
	require.NoError(t, err)
	got, err := mpp.ParseReceipt(header)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = mpp.Receipt{Method: "evm"}.Header()
	require.Error(t, err)
	for _, bad := range []string{``, `{}`, `{"method":"m","reference":"r","status":"failed","timestamp":"2026-11-21T09:00:00Z"}`, `{"method":"m","reference":"r","status":"success","timestamp":"yesterday"}`} {
		_, err := mpp.ParseReceipt(base64.RawURLEncoding.EncodeToString([]byte(bad)))
		require.Error(t, err, bad)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	require.Equal(t, mpp.Problem{
		Type: "https://paymentauth.org/problems/method-unsupported", Title: "Method Unsupported", Status: 400, Detail: "d",
	}, mpp.NewProblem(mpp.ProblemMethodUnsupported, "d"))
	seen := map[string]bool{}
	for _, p := range []mpp.ProblemType{
		mpp.ProblemPaymentRequired, mpp.ProblemPaymentInsufficient, mpp.ProblemPaymentExpired, mpp.ProblemVerificationFailed,
		mpp.ProblemMalformedCredential, mpp.ProblemInvalidChallenge,
	} {
		require.Equal(t, 402, p.Status())
		require.False(t, seen[p.Title()], p)
		seen[p.Title()] = true
	}
}

func TestMostSpecificPreferenceDecides(t *testing.T) {
	t.Parallel()
	weights := func(header string) (w [3]int) {
		wanted, err := mpp.ParseAccept(header)
		require.NoError(t, err, header)
		for i, method := range []string{"evm", "tempo", "stripe"} {
			w[i] = mpp.Weight(wanted, method, "charge")
		}
		return w
	}
	require.Equal(t, [3]int{1000, 0, 0}, weights("evm/charge"))
	require.Equal(t, [3]int{500, 1000, 0}, weights("evm/charge;q=0.5, tempo/*"))
	require.Equal(t, [3]int{1000, 0, 1000}, weights("*/*, tempo/charge;q=0"))
	require.Equal(t, [3]int{0, 0, 1}, weights(" , */charge ; q=0 , stripe/charge ; a=b ; q=0.001"))
	require.Zero(t, weights("evm/session"))
	require.Equal(t, 1000, mpp.Weight(nil, "evm", "charge"))
	for _, bad := range []string{"", " , ", "evm", "evm/", "/charge", "EVM/charge", "evm/charge;q", "evm/charge;q=2", "evm/charge;q=1.001", "evm/charge;q=0.1234", "evm/charge;q=a", "evm/charge;q=0.+1", strings.Repeat("a/b,", 65)} {
		_, err := mpp.ParseAccept(bad)
		require.ErrorIs(t, err, mpp.ErrAccept, bad)
	}
}

func TestAuthorizationPayload(t *testing.T) {
	t.Parallel()
	const good = `{"type":"authorization","from":"a","to":"b","value":"1","validAfter":"0","validBefore":"2","nonce":"n","signature":"s"}`
	p, err := mpp.DecodeAuthorization(json.RawMessage(good))
	require.NoError(t, err)
	require.Equal(t, mpp.AuthorizationPayload{Type: "authorization", From: "a", To: "b", Value: "1", ValidAfter: "0", ValidBefore: "2", Nonce: "n", Signature: "s"}, p)
	for _, bad := range []string{
		strings.Replace(good, "authorization", "hash", 1), strings.Replace(good, `"value":"1"`, `"value":1`, 1),
		strings.Replace(good, `"value"`, `"Value"`, 1), `[]`, `{`,
	} {
		_, err := mpp.DecodeAuthorization(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
}

func TestNonceIsTheHashOfIDAndRealm(t *testing.T) {
	t.Parallel()
	// keccak256 of "abc", a published test vector.
	require.Equal(t, "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45", mpp.Challenge{ID: "a", Realm: "bc"}.Nonce())
}

func FuzzParseChallenges(f *testing.F) {
	f.Add(`Payment id="a", realm="r", method="m", intent="c", request="q", description="\"x\""`)
	f.Add(`Basic abc==, Payment id=a,realm=r ,method = m, intent=c, request=q`)
	f.Fuzz(func(t *testing.T, s string) {
		list, err := mpp.ParseChallenges(s)
		if err != nil {
			return
		}
		for _, c := range list {
			header, err := c.Header()
			require.NoError(t, err)
			require.NotContains(t, header, "\n")
			again, err := mpp.ParseChallenges(header)
			require.NoError(t, err)
			require.Equal(t, []mpp.Challenge{c}, again)
		}
	})
}

func FuzzCredentialFrom(f *testing.F) {
	f.Add(credential(f), "")
	f.Add("Bearer x", credential(f))
	f.Fuzz(func(t *testing.T, a, b string) {
		c, err := mpp.CredentialFrom(http.Header{"Authorization": {a}, "Payment-Authorization": {b}})
		if err != nil {
			return
		}
		header, err := c.Header()
		require.NoError(t, err)
		again, err := mpp.ParseCredential(header)
		require.NoError(t, err)
		require.Equal(t, c.Challenge, again.Challenge)
	})
}

func FuzzParseReceipt(f *testing.F) {
	f.Add("eyJtZXRob2QiOiJtIiwicmVmZXJlbmNlIjoiciIsInN0YXR1cyI6InN1Y2Nlc3MiLCJ0aW1lc3RhbXAiOiIyMDI2LTExLTIxVDA5OjAwOjAwWiJ9")
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := mpp.ParseReceipt(s); err == nil {
			require.Equal(t, mpp.StatusSuccess, r.Status)
		}
	})
}

func FuzzParseAccept(f *testing.F) {
	f.Add("evm/charge;q=0.5, */*")
	f.Fuzz(func(t *testing.T, s string) {
		list, err := mpp.ParseAccept(s)
		if err != nil {
			return
		}
		for _, p := range list {
			require.True(t, p.Milli >= 0 && p.Milli <= 1000)
		}
	})
}

func TestCredentialsAreRemovedBesideOthers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ sent, kept []string }{
		"alone":            {[]string{"Payment abc"}, nil},
		"another scheme":   {[]string{"Bearer x, y"}, []string{"Bearer x, y"}},
		"two headers":      {[]string{"Bearer x", "payment abc"}, []string{"Bearer x"}},
		"one header":       {[]string{`Digest a="Payment x, y", Payment abc, Basic q`}, []string{`Digest a="Payment x, y", Basic q`}},
		"several payments": {[]string{"Payment a, PAYMENT b", "Payment c"}, nil},
		"without a token":  {[]string{"Payment"}, nil},
		"a longer scheme":  {[]string{"Payments abc"}, []string{"Payments abc"}},
	} {
		h := http.Header{"Authorization": tc.sent, "Payment-Authorization": {"Payment abc"}, "Accept": {"*/*"}}
		mpp.RemoveCredential(h)
		require.Equal(t, tc.kept, h["Authorization"], name)
		require.NotContains(t, h, "Payment-Authorization", name)
		require.Contains(t, h, "Accept", name)
	}
}
