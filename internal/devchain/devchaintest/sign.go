package devchaintest

import (
	"encoding/json"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/paywarrant/paywarrant/internal/devchain"
)

// SignTyped signs typed data (EIP-712) as a browser's wallet does, by go-ethereum's
// general encoder. What goes wrong ends the test.
func SignTyped(t testing.TB, by devchain.Wallet, message json.RawMessage) string {
	t.Helper()
	var typed apitypes.TypedData
	if err := json.Unmarshal(message, &typed); err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	digest, _, err := apitypes.TypedDataAndHash(typed)
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	signature, err := crypto.Sign(digest, by.Key())
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	return hexutil.Encode(signature)
}
