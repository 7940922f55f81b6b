package evm_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts/contracttest"
)

func addressOf(n byte) common.Address { return crypto.PubkeyToAddress(keyOf(n).PublicKey) }

func parsed(t *testing.T) abi.ABI {
	t.Helper()
	a, err := contracttest.SmartWalletFactoryMetaData.ParseABI()
	require.NoError(t, err)
	return *a
}
