package devchain

import (
	"fmt"
	"maps"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// blockGas is the gas limit of a block: some hundreds of transfers.
const blockGas = 60_000_000

// rules returns the chain's configuration: gas as it is on mainnet, with none of the
// forks that it does not have yet.
func rules() *params.ChainConfig {
	config := *params.AllDevChainProtocolChanges
	config.ChainID = big.NewInt(ChainID)
	config.BogotaTime, config.AmsterdamTime = nil, nil
	return &config
}

// genesis returns the first block, with the token, the stand-ins of Permit2 and x402's proxy,
// and the funded accounts, unless others replace them.
func genesis(others types.GenesisAlloc) (*core.Genesis, error) {
	alloc := core.SystemContractAllocs()
	balances := map[common.Address]*big.Int{}
	ether := new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))
	for _, w := range Wallets() {
		balances[w.Address] = big.NewInt(WalletMicros)
		alloc[w.Address] = types.Account{Balance: ether}
	}
	for _, w := range []Wallet{Admin(), Relayer(), Operator()} {
		alloc[w.Address] = types.Account{Balance: ether}
	}
	code, storage, err := contracts.Genesis(USDCName, USDCVersion, balances)
	if err != nil {
		return nil, fmt.Errorf("put the token into the genesis: %w", err)
	}
	alloc[USDC()] = types.Account{Code: code, Storage: storage, Balance: new(big.Int)}
	permit2, proxy, err := contracts.UptoGenesis()
	if err != nil {
		return nil, fmt.Errorf("put Permit2 into the genesis: %w", err)
	}
	alloc[evm.Permit2()] = types.Account{Code: permit2, Balance: new(big.Int)}
	alloc[evm.UptoProxy()] = types.Account{Code: proxy, Balance: new(big.Int)}
	maps.Copy(alloc, others)
	return &core.Genesis{Config: rules(), GasLimit: blockGas, Alloc: alloc, Difficulty: new(big.Int)}, nil
}
