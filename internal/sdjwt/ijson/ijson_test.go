package ijson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                  "",
		"white space":              " \n",
		"second value":             "{} {}",
		"trailing comma":           `{"a":1,}`,
		"trailing comma in array":  "[1,]",
		"leading comma":            "[,1]",
		"unclosed":                 `{"a":[1`,
		"no colon":                 `{"a" 1}`,
		"name without quotes":      "{a:1}",
		"single quotes":            "{'a':1}",
		"comment":                  "[1]//",
		"byte order mark":          "\xef\xbb\xbf{}",
		"other white space":        "\u00a0{}",
		"vertical tab":             "\v{}",
		"invalid UTF-8":            "\"\xff\"",
		"overlong UTF-8":           "\"\xc0\xaf\"",
		"surrogate in UTF-8":       "\"\xed\xa0\x80\"",
		"lone high surrogate":      `"\ud800"`,
		"high and no escape":       `"\ud800x"`,
		"high and high":            `"\ud800\ud800"`,
		"lone low surrogate":       `"\udc00"`,
		"low before high":          `"\udc00\ud800"`,
		"noncharacter":             "\"\uffff\"",
		"noncharacter by escape":   `"\ufdd0"`,
		"noncharacter in a name":   `{"\ufffe":1}`,
		"noncharacter by pair":     `"\ud83f\udfff"`,
		"control character":        "\"\n\"",
		"control after an escape":  "\"\\n\x01\"",
		"unknown escape":           `"\x41"`,
		"short unicode escape":     `"\u12"`,
		"bad unicode escape":       `"\u12g4"`,
		"unclosed string":          `"abc`,
		"unclosed after an escape": `"abc\n`,
		"backslash at the end":     `"abc\`,
		"leading zero":             "01",
		"plus":                     "+1",
		"point first":              ".5",
		"point last":               "1.",
		"no exponent":              "1e",
		"signed no exponent":       "1e+",
		"minus alone":              "-",
		"infinity":                 "Infinity",
		"word cut":                 "tru",
		"word in capitals":         "True",
		"word with a tail":         "nullx",
		"too deep":                 strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ijson.Parse(text, ijson.Any)
			require.ErrorIs(t, err, ijson.ErrSyntax)
		})
	}
}

func TestParseRefusesEqualNames(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 100 {
		many.WriteString(`"` + strings.Repeat("n", i+1) + `":1,`)
	}
	for name, text := range map[string]string{
		"plain":              `{"a":1,"a":1}`,
		"escaped":            `{"exp":1,"\u0065xp":2}`,
		"empty":              `{"":1,"":2}`,
		"deep":               `[[{"x":{"a":1,"b":2,"a":3}}]]`,
		"first of many":      `{` + many.String() + `"n":2}`,
		"last of many":       `{` + many.String() + `"` + strings.Repeat("n", 100) + `":2}`,
		"two late ones":      `{` + many.String() + `"z":2,"z":3}`,
		"later right member": `{"a":1,"a":1,"b":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ijson.Parse(text, ijson.Object)
			if name == "deep" {
				_, err = ijson.Parse(text, ijson.Any)
			}
			require.ErrorIs(t, err, ijson.ErrDuplicate)
		})
	}
}

func TestSyntaxComesBeforeDuplicates(t *testing.T) {
	t.Parallel()
	_, err := ijson.Parse(`{"a":1,"a":2`, ijson.Object)
	require.ErrorIs(t, err, ijson.ErrSyntax)
	_, err = ijson.Parse(`[{"a":1,"a":2}]`, ijson.Object)
	require.ErrorIs(t, err, ijson.ErrSyntax, "the wrong kind")
}

func TestNamesThatDifferInCaseAreTwo(t *testing.T) {
	t.Parallel()
	v, err := ijson.Parse(`{"exp":1,"EXP":2}`, ijson.Object)
	require.NoError(t, err)
	n, ok := v.Get("exp").Int(0, 9)
	require.True(t, ok)
	require.EqualValues(t, 1, n)
	require.Nil(t, v.Get("Exp"))
}

func TestIntTakesPlainLiteralsInRange(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]bool{
		"1": true, "9": true, "0": false, "10": false, "-1": false, "1.0": false, "1e0": false, "5E0": false,
		"18446744073709551617": false, `"5"`: false, "null": false, "true": false, "[5]": false,
	} {
		v, err := ijson.Parse(literal, ijson.Any)
		require.NoError(t, err)
		_, ok := v.Int(1, 9)
		require.Equal(t, want, ok, literal)
	}
}

func TestAbsentValuesReadAsNothing(t *testing.T) {
	t.Parallel()
	v, err := ijson.Parse(`{"a":"x"}`, ijson.Object)
	require.NoError(t, err)
	absent := v.Get("b").Get("c").Child(3)
	require.Nil(t, absent)
	require.Equal(t, ijson.Absent, absent.Kind())
	require.Zero(t, absent.Len())
	_, ok := absent.Str()
	require.False(t, ok)
	_, ok = absent.Literal()
	require.False(t, ok)
	_, ok = absent.Int(-9, 9)
	require.False(t, ok)
	require.False(t, absent.Is(""))
	require.Nil(t, v.Get("a").Get("x"), "a string has no members")
}

func TestTreeCanBeRewritten(t *testing.T) {
	t.Parallel()
	v, err := ijson.Parse(`{"a":[1,2,3],"b":"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t","c":[{},[],null,true,false,-1.50e+3]}`, ijson.Object)
	require.NoError(t, err)
	require.NoError(t, v.Get("a").Rewrite(func(e *ijson.Value) (*ijson.Value, error) {
		switch n, _ := e.Literal(); n {
		case "1":
			return nil, nil
		case "3":
			return v.Get("c").Child(3), nil
		default:
			return e, nil
		}
	}))
	require.Equal(t, 2, v.Get("a").Len())
	five, err := ijson.Parse("5", ijson.Number)
	require.NoError(t, err)
	v.Append("d", five)
	require.Equal(t, "d", v.Get("d").Name())
	require.Equal(t, `{"a":[2,true],"b":"é😀\"\\/\b\f\n\r\t","c":[{},[],null,true],"d":5}`, string(v.AppendJSON(nil)),
		"a node stands in one place only: what was moved takes its new neighbours along")
}
