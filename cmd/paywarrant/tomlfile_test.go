package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestValuesOfAnotherTypeAreReportedInWords, with the line and the key.
func TestValuesOfAnotherTypeAreReportedInWords(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gate.toml")
	for text, want := range map[string]string{
		"upstream = \"x\"\n[[routes]]\nprice = 0.60": `line 3: routes.price must be a text in quotes, such as "0.60"`,
		"test_mode = \"yes\"":                        "line 1: test_mode must be true or false",
		"routes = 3":                                 "line 1: routes must be an array",
		"tls = 3":                                    "line 1: tls must be a section",
		"price = \"0.60\"":                           "unknown key price",
		"upstream = ":                                "line 1: ",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readGateFile(path)
		require.ErrorContains(t, err, path+": "+want)
	}
	require.NoError(t, os.WriteFile(path, []byte("requests_per_second = 1.5"), 0o600))
	_, err := configFile(path).read()
	require.ErrorContains(t, err, "line 1: requests_per_second must be a whole number")
}
