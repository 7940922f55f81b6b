package row

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestListsAreReadAsTheyWereWritten: the short way of reading a list agrees with
// package json.
func TestListsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "fiat", `","`, `"`, `\`, "*", "<&>"}))).Draw(t, "all")
		text, err := json.Marshal(all)
		require.NoError(t, err)
		var want []string
		require.NoError(t, json.Unmarshal(text, &want))
		require.Equal(t, want, list[string](string(text), &err))
		require.NoError(t, err)
	})
}

func TestOtherListsAreReadByPackageJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`["a", "b"]`, `["a" ]`, `[ "a","b"]`, `["a",null]`, `null`, `[]`} {
		var err error
		var want []string
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		require.Equal(t, want, list[string](text, &err), text)
		require.NoError(t, err)
	}
	for _, text := range []string{``, `["a"`, `["a"],"b"]`, `["a""b"]`, `{"a":"b"}`} {
		var err error
		list[string](text, &err)
		require.Error(t, err, text)
	}
}
