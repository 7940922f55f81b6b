package evm_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func Example() {
	usdc := common.HexToAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e")
	domain := evm.Domain{Name: "USDC", Version: "2", ChainID: 84532, Contract: usdc}.Separator()
	digest := evm.Digest(domain, evm.TransferAuthorization{
		From: addressOf(1), To: addressOf(2), Value: evm.Uint64(10_000), ValidBefore: evm.Uint64(1_900_000_000), Nonce: common.Hash{1},
	})
	signature, err := evm.Sign(digest, keyOf(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	signer, err := evm.Recover(digest, signature)
	fmt.Println(signer == addressOf(1), err)
	// Output: true <nil>
}

// A wallet with a key in memory signs a payment of x402.
func ExampleWallet() {
	key, err := evm.ParseKey("0x0000000000000000000000000000000000000000000000000000000000000001")
	if err != nil {
		fmt.Println(err)
		return
	}
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	usdc, _ := wallet.Asset(84532)
	signature, err := wallet.SignTransfer(context.Background(), 84532, usdc, x402.Authorization{
		From: wallet.Address(), To: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Value: "10000",
		ValidAfter: "0", ValidBefore: "1900000000", Nonce: "0x" + strings.Repeat("22", 32),
	})
	fmt.Println(wallet, len(signature), err)
	// Output: 0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf 132 <nil>
}
