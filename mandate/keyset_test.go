package mandate_test

import (
	"crypto"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func get(t testing.TB, h http.Handler, method string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/.well-known/jwks.json", http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestKeyLife(t *testing.T) {
	t.Parallel()
	a, b := public(t, newKey(t)), public(t, newKey(t))
	s, err := mandate.NewKeySet()
	require.NoError(t, err)
	_, ok := s.Current()
	require.False(t, ok)
	require.NoError(t, s.Add(a))
	require.ErrorIs(t, s.Add(a), mandate.ErrKeyExists)
	require.ErrorIs(t, s.Add(mandate.PublicKey{}), mandate.ErrBadKey)
	_, ok = s.Current()
	require.False(t, ok, "a next key does not sign")
	_, err = s.Key(t.Context(), a.ID())
	require.NoError(t, err, "and is known before it does")
	require.NoError(t, s.Promote(a.ID()))
	require.ErrorIs(t, s.Promote(a.ID()), mandate.ErrKeyState)
	require.NoError(t, s.Add(b))
	require.NoError(t, s.Promote(b.ID()))
	current, ok := s.Current()
	require.True(t, ok)
	require.True(t, current.Equal(b))
	require.Equal(t, []mandate.Key{{PublicKey: a, State: mandate.KeyRetired}, {PublicKey: b, State: mandate.KeyCurrent}}, s.Keys())
	require.ErrorIs(t, s.Promote(a.ID()), mandate.ErrKeyState, "no way back")
	_, err = s.Key(t.Context(), a.ID())
	require.NoError(t, err, "what it signed stays valid")
	require.NoError(t, s.Revoke(a.ID()))
	require.NoError(t, s.Revoke(a.ID()))
	_, err = s.Key(t.Context(), a.ID())
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
	require.ErrorIs(t, s.Add(a), mandate.ErrKeyExists, "a revoked key never comes back")
	require.ErrorIs(t, s.Promote("x"), mandate.ErrKeyUnknown)
	require.ErrorIs(t, s.Revoke("x"), mandate.ErrKeyUnknown)
	before := s.Keys()
	require.ErrorIs(t, s.Replace(mandate.Key{PublicKey: a, State: mandate.KeyCurrent}, mandate.Key{PublicKey: b, State: mandate.KeyCurrent}), mandate.ErrKeyState)
	require.ErrorIs(t, s.Replace(mandate.Key{PublicKey: a, State: "old"}), mandate.ErrKeyState)
	require.Equal(t, before, s.Keys())
}

func TestRotationKeepsWhatWasSigned(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s, err := mandate.NewKeySet(mandate.Key{PublicKey: public(t, f.issuerKey), State: mandate.KeyCurrent})
	require.NoError(t, err)
	v := f.verifier()
	v.Keys = s
	old := f.issue(t).Reveal()
	next := newKey(t)
	require.NoError(t, s.Add(public(t, next)))
	require.NoError(t, s.Promote(public(t, next).ID()))
	f.issuer.Signer = mandate.FixedSigner(next)
	for _, text := range []string{old, f.issue(t).Reveal()} {
		_, err := v.Verify(t.Context(), text)
		require.NoError(t, err)
	}
	require.NoError(t, s.Revoke(public(t, f.issuerKey).ID()))
	_, err = v.Verify(t.Context(), old)
	require.Equal(t, mandate.KidUnknown, reasonOf(t, err))
}

func TestHandlerServesTheSet(t *testing.T) {
	t.Parallel()
	next, current, retired, revoked := public(t, newKey(t)), public(t, newKey(t)), public(t, newKey(t)), public(t, newKey(t))
	s, err := mandate.NewKeySet(
		mandate.Key{PublicKey: revoked, State: mandate.KeyRevoked}, mandate.Key{PublicKey: next, State: mandate.KeyNext},
		mandate.Key{PublicKey: current, State: mandate.KeyCurrent}, mandate.Key{PublicKey: retired, State: mandate.KeyRetired})
	require.NoError(t, err)
	h := s.Handler()
	w := get(t, h, http.MethodGet)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/jwk-set+json", w.Header().Get("Content-Type"))
	require.Equal(t, "public, max-age=300", w.Header().Get("Cache-Control"))
	keys, err := mandate.ParseJWKS(w.Body.Bytes())
	require.NoError(t, err)
	require.Equal(t, []mandate.PublicKey{current, next, retired}, keys)
	require.NotContains(t, w.Body.String(), revoked.ID())
	require.NotContains(t, w.Body.String(), `"d"`)
	etag := w.Header().Get("ETag")
	require.Regexp(t, `^"[A-Za-z0-9_-]{22}"$`, etag)

	head := get(t, h, http.MethodHead)
	require.Equal(t, http.StatusOK, head.Code)
	require.Empty(t, head.Body.Bytes())
	require.Equal(t, fmt.Sprint(w.Body.Len()), head.Header().Get("Content-Length"))
	for _, match := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
		w := get(t, h, http.MethodGet, "If-None-Match", match)
		require.Equal(t, http.StatusNotModified, w.Code, match)
		require.Empty(t, w.Body.Bytes())
		require.Equal(t, etag, w.Header().Get("ETag"))
	}
	require.Equal(t, http.StatusOK, get(t, h, http.MethodGet, "If-None-Match", `"x"`).Code)
	post := get(t, h, http.MethodPost)
	require.Equal(t, http.StatusMethodNotAllowed, post.Code)
	require.Equal(t, "GET, HEAD", post.Header().Get("Allow"))

	require.NoError(t, s.Revoke(next.ID()))
	w = get(t, h, http.MethodGet, "If-None-Match", etag)
	require.Equal(t, http.StatusOK, w.Code, "the set has changed")
	require.NotContains(t, w.Body.String(), next.ID())
}

func TestIssuerHandler(t *testing.T) {
	t.Parallel()
	w := get(t, mandate.IssuerHandler(issuerURL, issuerURL+"/.well-known/jwks.json"), http.MethodGet)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.JSONEq(t, `{"issuer":"https://pay.example","jwks_uri":"https://pay.example/.well-known/jwks.json"}`, w.Body.String())
}

func TestOtherLibrariesAgree(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s, err := mandate.NewKeySet(mandate.Key{PublicKey: public(t, f.issuerKey), State: mandate.KeyCurrent}, mandate.Key{PublicKey: public(t, newKey(t)), State: mandate.KeyNext})
	require.NoError(t, err)
	set, err := jwk.Parse(get(t, s.Handler(), http.MethodGet).Body.Bytes())
	require.NoError(t, err)
	require.Equal(t, 2, set.Len())
	for i := range set.Len() {
		k, _ := set.Key(i)
		sum, err := k.Thumbprint(crypto.SHA256)
		require.NoError(t, err)
		kid, _ := k.KeyID()
		require.Equal(t, base64.RawURLEncoding.EncodeToString(sum), kid)
		alg, _ := k.Algorithm()
		require.Equal(t, "ES256", alg.String())
	}
	text := f.present(t, f.issue(t)).Reveal()
	issued, _, _ := strings.Cut(strings.TrimPrefix(text, mandate.Prefix), "~")
	bound := text[strings.LastIndexByte(text, '~')+1:]
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}), jwt.WithoutClaimsValidation())
	_, err = parser.Parse(issued, func(token *jwt.Token) (any, error) {
		kid, _ := token.Header["kid"].(string)
		k, ok := set.LookupKeyID(kid)
		require.True(t, ok)
		var raw ecdsa.PublicKey
		return &raw, jwk.Export(k, &raw)
	})
	require.NoError(t, err)
	_, err = parser.Parse(bound, func(*jwt.Token) (any, error) { return &f.sessionKey.PublicKey, nil })
	require.NoError(t, err)

	// and the other way round: a key set that it wrote is read here
	theirs, err := jwk.Import(&f.issuerKey.PublicKey)
	require.NoError(t, err)
	require.NoError(t, jwk.AssignKeyID(theirs))
	b, err := json.Marshal(map[string]any{"keys": []any{theirs}})
	require.NoError(t, err)
	keys, err := mandate.ParseJWKS(b)
	require.NoError(t, err)
	require.Equal(t, []mandate.PublicKey{public(t, f.issuerKey)}, keys)
}

func TestParseJWKS(t *testing.T) {
	t.Parallel()
	k := public(t, newKey(t))
	b, err := json.Marshal(k)
	require.NoError(t, err)
	entry := strings.TrimSuffix(string(b), "}") + `,"kid":"` + k.ID() + `"`
	for body, usable := range map[string]int{
		`{"keys":[` + entry + `}]}`:                             1,
		`{"keys":[` + entry + `,"use":"sig","alg":"ES256"}]}`:   1,
		`{"keys":[` + entry + `,"use":"enc"}]}`:                 0,
		`{"keys":[` + entry + `,"use":null}]}`:                  0,
		`{"keys":[` + entry + `,"alg":"ES384"}]}`:               0,
		`{"keys":[` + entry + `,"d":"x"}]}`:                     0,
		`{"keys":[` + string(b) + `]}`:                          0,
		`{"keys":[1,"x",null,{}]}`:                              0,
		`{"keys":[]}`:                                           0,
		`{"keys":[` + strings.Repeat("{},", 99) + entry + `}]}`: 1,
	} {
		keys, err := mandate.ParseJWKS([]byte(body))
		require.NoError(t, err, body)
		require.Len(t, keys, usable, body)
	}
	for _, body := range []string{
		"", "[]", "{}", `{"keys":{}}`, `{"keys":[]}x`, `{"keys":[],"keys":[]}`, "\ufeff{\"keys\":[]}",
		`{"keys":[` + strings.Repeat("{},", 100) + `{}]}`,
	} {
		_, err := mandate.ParseJWKS([]byte(body))
		require.Error(t, err, body)
	}
}

func TestPublicKeyJSON(t *testing.T) {
	t.Parallel()
	k := public(t, newKey(t))
	b, err := json.Marshal(k)
	require.NoError(t, err)
	var back mandate.PublicKey
	require.NoError(t, json.Unmarshal(b, &back))
	require.True(t, k.Equal(back))
	require.Equal(t, k.ID(), back.ID())
	for _, bad := range []string{`{}`, `[]`, `"x"`, strings.Replace(string(b), "P-256", "P-384", 1), strings.Replace(string(b), `"kty"`, `"d":"","kty"`, 1)} {
		require.ErrorIs(t, json.Unmarshal([]byte(bad), &back), mandate.ErrBadKey, bad)
	}
	zero, err := json.Marshal(mandate.PublicKey{})
	require.NoError(t, err)
	require.Equal(t, "null", string(zero))
	require.Nil(t, mandate.PublicKey{}.ECDSA())
	require.Empty(t, mandate.PublicKey{}.ID())
	require.True(t, mandate.PublicKey{}.Equal(mandate.PublicKey{}))
	require.False(t, k.Equal(mandate.PublicKey{}))
}
