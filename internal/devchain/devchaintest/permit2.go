package devchaintest

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// AllowPermit2 lets Permit2 move all tokens of a wallet, on the chain whose node is at a URL.
func AllowPermit2(t testing.TB, rpcURL string, from devchain.Wallet) {
	t.Helper()
	node, err := ethclient.DialContext(t.Context(), rpcURL)
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	defer node.Close()
	nonce, err := node.PendingNonceAt(t.Context(), from.Address)
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	chainID, usdc := big.NewInt(devchain.ChainID), devchain.USDC()
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(chainID), &types.DynamicFeeTx{
		ChainID: chainID, Nonce: nonce, To: &usdc, Gas: 100_000, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Data: contracts.NewTestUSDC().PackApprove(evm.Permit2(), big.NewInt(devchain.WalletMicros)),
	})
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	if err := node.SendTransaction(t.Context(), tx); err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	receipt, err := bind.WaitMined(t.Context(), node, tx.Hash())
	if err != nil || receipt.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("devchaintest: approve Permit2: %v", err)
	}
}

// SignUpto signs a permit of the scheme upto with a wallet's key, and returns the payload of
// the payment as x402 clients send it.
func SignUpto(t testing.TB, by devchain.Wallet, p evm.UptoPermit) json.RawMessage {
	t.Helper()
	domain := evm.Permit2Domain(devchain.ChainID, evm.Permit2())
	signature, err := evm.Sign(evm.Digest(domain.Separator(), p), by.Key())
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	payload, err := json.Marshal(x402.Upto{Signature: hexutil.Encode(signature), Authorization: p.Wire()})
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	return payload
}
