package main

import (
	"fmt"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
)

// chainInfo is the part of the ready line about the chain.
type chainInfo struct {
	RPCURL  string `json:"rpcUrl"`
	ChainID int64  `json:"chainId"`
	Network string `json:"network"`
	USDC    string `json:"usdc"`
	Router  string `json:"router"`
}

// facilitatorInfo is where x402 servers verify and settle.
type facilitatorInfo struct {
	URL string `json:"url"`
}

type walletInfo struct {
	Address    string `json:"address"`
	PrivateKey string `json:"privateKey"`
}

func infoOf(d *devrail.Dev) *chainInfo {
	return &chainInfo{
		RPCURL: d.RPCURL(), ChainID: devchain.ChainID, Network: fmt.Sprintf("eip155:%d", devchain.ChainID),
		USDC: devchain.USDC().Hex(), Router: devchain.Router().Hex(),
	}
}

func wallets() []walletInfo {
	var all []walletInfo
	for _, w := range devchain.Wallets() {
		all = append(all, walletInfo{Address: w.Address.Hex(), PrivateKey: w.PrivateKey()})
	}
	return all
}
