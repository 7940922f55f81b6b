package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// VerifySigned implements [rail.SignatureVerifier]. Contract wallets verify their own
// signatures (ERC-1271).
func (r *Rail) VerifySigned(ctx context.Context, address, text, signature string) error {
	raw, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil || !common.IsHexAddress(address) {
		return rail.ErrSignature
	}
	digest := crypto.Keccak256Hash(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(text), text)) // EIP-191
	_, err = evm.Verifier{Chain: accounts{r.config.RPC}}.Verify(ctx, common.HexToAddress(address), digest, raw)
	if errors.Is(err, evm.ErrSignature) || errors.Is(err, evm.ErrWrapper) {
		return rail.ErrSignature
	}
	return err
}
