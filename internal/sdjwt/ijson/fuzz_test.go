package ijson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// decode reads with encoding/json, numbers by their literal.
func decode(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

// FuzzParse holds the reader against encoding/json: what is accepted here is
// accepted there with the same meaning, and writing it gives it back.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `[1,2.5,-3e7,"x",null,true,false,{"a":{"b":[]}}]`, `{"a":1,"a":2}`, `"\ud83d\ude00"`, `"\ud800"`,
		" {\r\n\t} ", "\"\xff\"", `{"exp":1,"\u0065xp":2}`, `18446744073709551617`, "\"\uffff\"", `[[[[`, `"\u0000"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ijson.Parse(text, ijson.Any)
		if err != nil {
			return
		}
		require.True(t, json.Valid([]byte(text)))
		require.True(t, utf8.ValidString(text))
		out := v.AppendJSON(nil)
		require.Equal(t, decode(t, text), decode(t, string(out)))
		again, err := ijson.Parse(string(out), v.Kind())
		require.NoError(t, err)
		require.Equal(t, string(out), string(again.AppendJSON(nil)))
	})
}
