package devchaintest

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
)

// IssuedUSDC returns the accounts that make a chain's dollar behave like the deployed
// USDC, for [devchain.Config].Genesis: behind a proxy, with an issuer that can pause
// it and block accounts, refusing with texts.
func IssuedUSDC(t testing.TB) types.GenesisAlloc {
	t.Helper()
	balances := map[common.Address]*big.Int{}
	for _, w := range devchain.Wallets() {
		balances[w.Address] = big.NewInt(devchain.WalletMicros)
	}
	implementation := common.HexToAddress("0xdA0000000000000000000000000000000000C0de")
	proxy, storage, code, err := contracts.IssuedGenesis(devchain.USDCName, devchain.USDCVersion, balances, implementation)
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	return types.GenesisAlloc{
		devchain.USDC(): {Code: proxy, Storage: storage, Balance: new(big.Int)},
		implementation:  {Code: code, Balance: new(big.Int)},
	}
}
