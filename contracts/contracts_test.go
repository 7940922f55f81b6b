package contracts_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
)

func TestGenesis(t *testing.T) {
	t.Parallel()
	code, storage, err := contracts.Genesis("USDC", "2", map[common.Address]*big.Int{{1}: big.NewInt(7), {2}: big.NewInt(8)})
	require.NoError(t, err)
	require.NotEmpty(t, code)
	require.Equal(t, common.HexToHash("0x0f"), storage[common.HexToHash("0x02")], "the supply is the sum of the balances")
	require.Equal(t, "USDC", strings.TrimRight(string(storage[common.HexToHash("0x03")].Bytes()[:31]), "\x00"))
	require.Len(t, storage, 6)
}

func TestGenesisRefusesLongNames(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{strings.Repeat("x", 32), "2"}, {"USDC", strings.Repeat("x", 32)}} {
		_, _, err := contracts.Genesis(names[0], names[1], nil)
		require.ErrorContains(t, err, "longer than 31 bytes")
	}
}
