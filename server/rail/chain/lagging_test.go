package chain_test

import (
	"context"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// lagging is a node whose newest state is a block behind its receipts.
type lagging struct{ chain.RPC }

func (l lagging) CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error) {
	if block == nil {
		head, err := l.BlockNumber(ctx)
		if err != nil {
			return nil, err
		}
		block = new(big.Int).SetUint64(head - 1)
	}
	return l.RPC.CallContract(ctx, call, block)
}

// TestConnectAtANodeThatLagsBehind checks that a wallet that has just given its allowance
// is not refused because the node is late with its state.
func TestConnectAtANodeThatLagsBehind(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.RPC = lagging{c.RPC} })
	require.NotEmpty(t, w.connect(t, "setup", chain.MethodWallet).Method)
}
