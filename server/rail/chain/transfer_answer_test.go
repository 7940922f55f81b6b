package chain_test

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// coded is a JSON-RPC error.
type coded struct {
	code int
	text string
}

func (c coded) Error() string  { return c.text }
func (c coded) ErrorCode() int { return c.code }

// stopping is a node whose simulations fail with an error of one of the clients.
type stopping struct {
	chain.RPC

	err error
	on  bool
}

func (s *stopping) CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error) {
	if s.on && call.To != nil && *call.To == devchain.USDC() && call.From == devchain.Relayer().Address {
		return nil, s.err
	}
	return s.RPC.CallContract(ctx, call, block)
}

// withData is a revert with a text as its reason: Error("stop").
type withData struct{ coded }

func (withData) ErrorData() any {
	return "0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000047374" +
		"6f7000000000000000000000000000000000000000000000000000000000"
}

// TestHaltsAreRecognizedByCodes checks that a failed contract is a refusal in the words
// of every client, and that a failed node is none.
func TestHaltsAreRecognizedByCodes(t *testing.T) {
	t.Parallel()
	node := &stopping{}
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		node.RPC = c.RPC
		c.RPC = node
	})
	node.on = true
	e := w.authorize(t, devchain.Wallets()[0])
	for _, err := range []error{
		coded{3, "whatever"},
		coded{-32015, "VM execution error"},
		coded{-32000, "out of gas"},
		coded{-32000, "EVM error: OutOfGas"},
		coded{-32000, "EVM error: InvalidJump"},
		coded{-32000, "invalid opcode: INVALID"},
		withData{coded{-32000, "VM Exception"}},
	} {
		node.err = err
		v, verifyErr := w.rail.VerifyAuthorization(t.Context(), e, resource)
		require.NoError(t, verifyErr, "%d %s", err, err)
		require.Equal(t, chain.ReasonSimulation, v.InvalidReason)
	}
	for _, err := range []error{errors.New("execution reverted"), coded{-32000, "header not found"}, coded{-32603, "out of gas"}, coded{-32005, "limit exceeded"}} {
		node.err = err
		_, verifyErr := w.rail.VerifyAuthorization(t.Context(), e, resource)
		require.Error(t, verifyErr, "%s", err)
	}
}

// TestFirstChargeOfAMonthWaitsForItsBlock checks that a charge is not refused while the
// newest block is of the last month, whose limit is used up.
func TestFirstChargeOfAMonthWaitsForItsBlock(t *testing.T) {
	t.Parallel()
	clock := &steady{now: time.Now()}
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		c.Clock = clock.Now
		c.Sandbox.Terms = chain.Terms{MaxPerCharge: dollar, MaxPerMonth: dollar, ExpiresAt: time.Now().AddDate(0, 6, 0)}
	})
	in := w.connect(t, "setup", chain.MethodWallet)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("last month", in)).Status)
	require.Equal(t, rail.AllowanceMissing, w.pay(t, charge("over", in)).Reason)
	clock.advance(32 * 24 * time.Hour)
	_, err := w.rail.Charge(t.Context(), charge("this month", in))
	require.ErrorContains(t, err, "month")
	require.NoError(t, w.chain.AdvanceTime(32*24*time.Hour))
	require.Equal(t, rail.Succeeded, w.pay(t, charge("this month", in)).Status)
}
