package mandate_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

var b64 = base64.RawURLEncoding

// forge makes tokens that no Issuer would: each field may be changed before text is called.
type forge struct {
	header, payload string
	disclosures     []string // JSON
	kbHeader, kb    string   // JSON; an empty kb means no KB-JWT; #hash stands for the true sd_hash
	issuer, holder  *ecdsa.PrivateKey
}

// forge begins with a valid token of the fixture.
func (f *fixture) forge(t testing.TB) *forge {
	t.Helper()
	jwt, _, _ := strings.Cut(strings.TrimPrefix(f.issue(t).Reveal(), mandate.Prefix), "~")
	parts := strings.Split(jwt, ".")
	g := &forge{header: decode64(t, parts[0]), payload: decode64(t, parts[1]), issuer: f.issuerKey, holder: f.sessionKey}
	g.kbHeader = `{"alg":"ES256","typ":"kb+jwt"}`
	return g
}

func (f *fixture) bind(g *forge) {
	g.kb = fmt.Sprintf(`{"iat":%d,"aud":"%s","nonce":"%s","sd_hash":"#hash","transaction_data":{"amount_micros":10000,"pay_to":"0xabc","network":"base","resource":"https://x.example/"}}`,
		f.now.Unix(), audience, nonce)
}

func decode64(t testing.TB, s string) string {
	t.Helper()
	b, err := b64.DecodeString(s)
	require.NoError(t, err)
	return string(b)
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return b64.EncodeToString(sum[:])
}

// in replaces a piece of JSON that must be there exactly once.
func in(t testing.TB, s *string, old, with string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(*s, old), "%s in %s", old, *s)
	*s = strings.Replace(*s, old, with, 1)
}

// member sets a top-level member of JSON, or removes it if value is empty.
func member(t testing.TB, s *string, name, value string) {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(*s), &m))
	delete(m, name)
	if value != "" {
		m[name] = json.RawMessage(value)
	}
	b, err := json.Marshal(m)
	require.NoError(t, err)
	*s = string(b)
}

// hide moves a top-level claim into a disclosure.
func (g *forge) hide(t testing.TB, name string) {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(g.payload), &m))
	d := fmt.Sprintf(`["salt",%q,%s]`, name, m[name])
	g.disclosures = append(g.disclosures, d)
	member(t, &g.payload, name, "")
	member(t, &g.payload, "_sd", `["`+digestOf(b64.EncodeToString([]byte(d)))+`"]`)
}

func signJWT(t testing.TB, header, payload string, key *ecdsa.PrivateKey) string {
	t.Helper()
	signed := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(payload))
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	require.NoError(t, err)
	return signed + "." + b64.EncodeToString(rawSignature(r, s))
}

func rawSignature(r, s *big.Int) []byte {
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return sig
}

func (g *forge) text(t testing.TB) string {
	t.Helper()
	text := signJWT(t, g.header, g.payload, g.issuer) + "~"
	for _, d := range g.disclosures {
		text += b64.EncodeToString([]byte(d)) + "~"
	}
	if g.kb != "" {
		text += signJWT(t, g.kbHeader, strings.ReplaceAll(g.kb, "#hash", digestOf(text)), g.holder)
	}
	return mandate.Prefix + text
}

// highS turns the issuer's signature into its twin.
func highS(t testing.TB, text string) string {
	t.Helper()
	jwt, rest, _ := strings.Cut(text, "~")
	dot := strings.LastIndexByte(jwt, '.') + 1
	sig := []byte(decode64(t, jwt[dot:]))
	order, _ := new(big.Int).SetString("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", 16)
	s := new(big.Int).SetBytes(sig[32:])
	s.Sub(order, s).FillBytes(sig[32:])
	return jwt[:dot] + b64.EncodeToString(sig) + "~" + rest
}
