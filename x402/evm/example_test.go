package evm_test

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"

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
