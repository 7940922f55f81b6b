package chain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	want := devchain.USDC()
	written := want.Hex()
	for _, good := range []string{written, strings.ToLower(written), "0x" + strings.ToUpper(written[2:])} {
		a, err := chain.ParseAddress(good)
		require.NoError(t, err, good)
		require.Equal(t, want, a)
	}
	for bad, problem := range map[string]string{
		"": "40 hexadecimal digits", written[2:]: "40 hexadecimal digits", "0x" + strings.Repeat("0", 40): "zero address",
		strings.Replace(written, "C", "c", 1): "checksum",
	} {
		_, err := chain.ParseAddress(bad)
		require.ErrorContains(t, err, problem, bad)
	}
}
