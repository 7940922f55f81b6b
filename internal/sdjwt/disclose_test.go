package sdjwt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// profile seals the claim "sealed", but the elements of "open" in it, and reserves "exp".
type profile struct{}

const openList sdjwt.Scope = sdjwt.Sealed + 1

func (profile) Member(object sdjwt.Scope, name string) sdjwt.Scope {
	switch {
	case object == sdjwt.Root && name == "sealed":
		return sdjwt.Sealed
	case object == sdjwt.Sealed && name == "open":
		return openList
	default:
		return object & sdjwt.Sealed
	}
}

func (profile) Element(array sdjwt.Scope) sdjwt.Scope {
	if array == openList {
		return sdjwt.Open
	}
	return array & sdjwt.Sealed
}

func (profile) Reserved(name string) bool { return name == "exp" }

// process puts disclosures (JSON) into a payload. In the payload and in the
// disclosures, #n stands for the digest of disclosure n.
func process(t testing.TB, payload string, disclosures ...string) (string, error) {
	t.Helper()
	encoded := make([]string, len(disclosures))
	for i := len(disclosures) - 1; i >= 0; i-- { // inner ones come last
		d := disclosures[i]
		for j := i + 1; j < len(disclosures); j++ {
			d = strings.ReplaceAll(d, fmt.Sprintf("#%d", j), sdjwt.Digest(encoded[j]))
		}
		encoded[i] = sdjwt.Encode64([]byte(d))
		payload = strings.ReplaceAll(payload, fmt.Sprintf("#%d", i), sdjwt.Digest(encoded[i]))
	}
	text := sign(t, `{}`, payload, newKey(t)) + "~"
	for _, d := range encoded {
		text += d + "~"
	}
	tok, err := sdjwt.Split(text, false)
	require.NoError(t, err)
	claims, err := tok.Issuer.Claims()
	require.NoError(t, err)
	err = tok.Disclose(claims, profile{})
	return string(claims.AppendJSON(nil)), err
}

func TestDisclose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload, want string
		disclosures   []string
	}{
		"nothing hidden":       {`{"a":1}`, `{"a":1}`, nil},
		"a member":             {`{"a":1,"_sd":["#0"],"_sd_alg":"sha-256"}`, `{"a":1,"b":{"c":null}}`, []string{`["s","b",{"c":null}]`}},
		"withheld":             {`{"_sd":["x","y"],"a":[{"...":"z"},1]}`, `{"a":[1]}`, nil},
		"an element":           {`{"a":[0,{"...":"#0"},2]}`, `{"a":[0,1,2]}`, []string{`["s",1]`}},
		"nested":               {`{"_sd":["#0"]}`, `{"a":{"b":[7]}}`, []string{`["s","a",{"_sd":["#1"]}]`, `["s","b",[{"...":"#2"}]]`, `["s",7]`}},
		"array in array":       {`{"a":[[{"...":"#0"}]]}`, `{"a":[[true]]}`, []string{`["s",true]`}},
		"reserved deeper":      {`{"a":{"_sd":["#0"]}}`, `{"a":{"exp":1}}`, []string{`["s","exp",1]`}},
		"open in the sealed":   {`{"sealed":{"open":[{"...":"#0"}]}}`, `{"sealed":{"open":[{"w":1}]}}`, []string{`["s",{"_sd":["#1"]}]`, `["s","w",1]`}},
		"only the own members": {`{"_sd":[],"a":{"_sd":[]},"_sd_alg":"sha-256"}`, `{"a":{}}`, nil},
		"seal only at its top": {`{"a":{"sealed":{"_sd":["#0"]}}}`, `{"a":{"sealed":{"b":1}}}`, []string{`["s","b",1]`}},
		"disclosed array":      {`{"_sd":["#0"]}`, `{"a":[1]}`, []string{`["s","a",[1,{"...":"decoy"}]]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := process(t, c.payload, c.disclosures...)
			require.NoError(t, err)
			require.JSONEq(t, c.want, got)
		})
	}
}

func TestDiscloseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason      sdjwt.Reason
		payload     string
		disclosures []string
	}{
		"other digest":                {sdjwt.BadSDAlg, `{"_sd_alg":"sha-512"}`, nil},
		"digest alg is no string":     {sdjwt.BadSDAlg, `{"_sd_alg":null}`, nil},
		"digest alg deeper":           {sdjwt.BadSDAlg, `{"a":{"_sd_alg":"sha-256"}}`, nil},
		"digest alg disclosed":        {sdjwt.BadSDAlg, `{"_sd":["#0"]}`, []string{`["s","a",{"_sd_alg":"sha-256"}]`}},
		"alg before disclosures":      {sdjwt.BadSDAlg, `{"_sd_alg":"md5"}`, []string{`{`}},
		"disclosure no JSON":          {sdjwt.BadJSON, `{}`, []string{`["s"`}},
		"disclosure twice a name":     {sdjwt.DuplicateKey, `{"_sd":["#0"]}`, []string{`["s","a",{"b":1,"b":2}]`}},
		"disclosure no array":         {sdjwt.BadDisclosure, `{}`, []string{`{"a":1,"b":2}`}},
		"one element":                 {sdjwt.BadDisclosure, `{}`, []string{`["s"]`}},
		"four elements":               {sdjwt.BadDisclosure, `{}`, []string{`["s","a",1,2]`}},
		"salt is no string":           {sdjwt.BadDisclosure, `{}`, []string{`[1,"a",1]`}},
		"name is no string":           {sdjwt.BadDisclosure, `{}`, []string{`["s",1,1]`}},
		"member in an array":          {sdjwt.BadDisclosure, `{"a":[{"...":"#0"}]}`, []string{`["s","b",1]`}},
		"element in an object":        {sdjwt.BadDisclosure, `{"_sd":["#0"]}`, []string{`["s",1]`}},
		"name _sd":                    {sdjwt.DisclosureNameForbidden, `{"_sd":["#0"]}`, []string{`["s","_sd",[]]`}},
		"name dots":                   {sdjwt.DisclosureNameForbidden, `{"_sd":["#0"]}`, []string{`["s","...",1]`}},
		"sent twice":                  {sdjwt.DisclosureRepeated, `{"_sd":["#0"]}`, []string{`["s","a",1]`, `["s","a",1]`}},
		"_sd is an object":            {sdjwt.BadSD, `{"_sd":{}}`, nil},
		"_sd holds a number":          {sdjwt.BadSD, `{"_sd":["x",1]}`, nil},
		"dots at the top":             {sdjwt.BadSD, `{"...":"x"}`, nil},
		"dots in an object":           {sdjwt.BadSD, `{"a":{"...":"x"}}`, nil},
		"dots hold a number":          {sdjwt.BadSD, `{"a":[{"...":1}]}`, nil},
		"dots in company":             {sdjwt.BadSD, `{"a":[{"...":"x","b":1}]}`, nil},
		"disclosed value is hidden":   {sdjwt.BadSD, `{"a":[{"...":"#0"}]}`, []string{`["s",{"...":"x"}]`}},
		"sealed object":               {sdjwt.SDInProtectedClaim, `{"sealed":{"_sd":["x"]}}`, nil},
		"sealed and empty":            {sdjwt.SDInProtectedClaim, `{"sealed":{"_sd":[]}}`, nil},
		"sealed deeper":               {sdjwt.SDInProtectedClaim, `{"sealed":{"a":[{"b":{"_sd":["x"]}}]}}`, nil},
		"sealed array":                {sdjwt.SDInProtectedClaim, `{"sealed":{"a":[{"...":"x"}]}}`, nil},
		"open list that is an object": {sdjwt.SDInProtectedClaim, `{"sealed":{"open":{"_sd":["x"]}}}`, nil},
		"digest twice":                {sdjwt.DigestRepeated, `{"_sd":["x","x"]}`, nil},
		"digest in two places":        {sdjwt.DigestRepeated, `{"_sd":["x"],"a":[{"...":"x"}]}`, nil},
		"digest again in a value":     {sdjwt.DigestRepeated, `{"_sd":["#0","x"]}`, []string{`["s","a",{"_sd":["x"]}]`}},
		"reserved":                    {sdjwt.DisclosureReserved, `{"_sd":["#0"]}`, []string{`["s","exp",1]`}},
		"reserved before conflict":    {sdjwt.DisclosureReserved, `{"exp":1,"_sd":["#0"]}`, []string{`["s","exp",1]`}},
		"conflict":                    {sdjwt.DisclosureConflict, `{"a":1,"_sd":["#0"]}`, []string{`["s","a",2]`}},
		"conflict of two":             {sdjwt.DisclosureConflict, `{"_sd":["#0","#1"]}`, []string{`["s","a",2]`, `["t","a",2]`}},
		"unreferenced":                {sdjwt.DisclosureUnreferenced, `{}`, []string{`["s","a",2]`}},
		"child without parent":        {sdjwt.DisclosureUnreferenced, `{"_sd":["x"]}`, []string{`["s","a",2]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := process(t, c.payload, c.disclosures...)
			requireReason(t, c.reason, err)
		})
	}
}
