package chain_test

import (
	"crypto/rand"
	rand2 "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

const resource = "https://api.example.com/weather"

// authorize returns a signed transfer of a dollar to the payee, valid for an hour.
func (w *world) authorize(t *testing.T, from devchain.Wallet) x402.Exact {
	t.Helper()
	until := max(time.Now().Unix(), w.chain.Now().Unix()) + 3600
	o := evm.TransferAuthorization{
		From: from.Address, To: devchain.Payee(0).Address, Value: evm.Uint64(uint64(dollar)), ValidBefore: evm.Uint64(uint64(until)),
	}
	_, _ = rand.Read(o.Nonce[:]) // never fails
	domain := evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}
	signature, err := evm.Sign(evm.Digest(domain.Separator(), o), from.Key())
	require.NoError(t, err)
	return x402.Exact{Signature: hexutil.Encode(signature), Authorization: o.Wire()}
}

func (w *world) settle(t *testing.T, e x402.Exact) x402.Settlement {
	t.Helper()
	s, err := w.rail.SettleAuthorization(t.Context(), e, resource)
	require.NoError(t, err)
	return s
}

func impatient(c *chain.Config) { c.Wait = 20 * time.Millisecond }

// TestSettlementThatIsLateIsReconciled checks that a late settlement is pending with its
// transaction, also after a restart, and then settled by that transaction.
func TestSettlementThatIsLateIsReconciled(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	e := w.authorize(t, devchain.Wallets()[0])
	pending := w.settle(t, e)
	require.Equal(t, x402.ReasonPending, pending.ErrorReason)
	require.Regexp(t, "^0x[0-9a-f]{64}$", pending.Transaction)
	require.Equal(t, pending, w.settle(t, e), "nothing else is sent")
	w.restart(t)
	require.Equal(t, pending, w.settle(t, e))
	w.commit(t, 1)
	settled := w.ended(t, e)
	require.True(t, settled.Success)
	require.False(t, settled.Replayed, "nobody was told yet")
	require.Equal(t, pending.Transaction, settled.Transaction)
	w.restart(t)
	again := w.settle(t, e)
	require.Equal(t, []any{false, x402.ReasonDuplicate, settled.Transaction}, []any{again.Success, again.ErrorReason, again.Transaction})
	require.Equal(t, dollar, w.moved(t))
}

// TestSettlementWaitsUntilItIsDeep checks that a block that is not final settles nothing.
func TestSettlementWaitsUntilItIsDeep(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Confirmations = 3
	})
	w.commit(t, 3)
	e := w.authorize(t, devchain.Wallets()[0])
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	w.commit(t, 2)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	require.NoError(t, w.chain.Reorg(t.Context(), 2, true))
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason, "it came undone")
	require.Zero(t, w.moved(t))
	var settled x402.Settlement
	for range 50 {
		w.commit(t, 1)
		if settled = w.settle(t, e); settled.Success {
			break
		}
	}
	require.True(t, settled.Success)
	require.Equal(t, dollar, w.moved(t))
}

// TestManySettlementsLandInOneBlock checks that the relayer does not wait for one
// transaction before it sends the next.
func TestManySettlementsLandInOneBlock(t *testing.T) {
	t.Parallel()
	const many = 200
	w := setup(t, devchain.Config{Manual: true}, impatient)
	require.NoError(t, w.rail.Start(t.Context()))
	wallets := devchain.Wallets()
	signed := make([]x402.Exact, many)
	for i := range signed {
		signed[i] = w.authorize(t, wallets[i%len(wallets)])
	}
	var callers sync.WaitGroup
	began := time.Now()
	for _, e := range signed {
		callers.Go(func() {
			s, err := w.rail.SettleAuthorization(t.Context(), e, resource)
			if err != nil || s.ErrorReason != x402.ReasonPending {
				t.Errorf("not on its way: %v %v", s, err)
			}
		})
	}
	callers.Wait()
	t.Logf("%d settlements submitted in %s", many, time.Since(began))
	w.commit(t, 1)
	blocks := map[uint64]int{}
	for _, e := range signed {
		s := w.settle(t, e)
		require.True(t, s.Success, s.ErrorReason)
		receipt := w.mined(t, common.HexToHash(s.Transaction))
		require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
		blocks[receipt.BlockNumber.Uint64()]++
	}
	require.Len(t, blocks, 1, "%v", blocks)
	require.Equal(t, many*dollar, w.moved(t))
}

// TestGasBudget checks that a payer whose settlements cost too much in an hour is refused
// before gas is spent.
func TestGasBudget(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		c.Authorizations = chain.Authorizations{KeyGas: 100_000, PayerGas: 250_000, PayeeGas: 350_000}
	})
	first, second := devchain.Wallets()[0], devchain.Wallets()[1]
	require.True(t, w.settle(t, w.authorize(t, first)).Success)
	require.True(t, w.settle(t, w.authorize(t, first)).Success)
	require.Equal(t, chain.ReasonGasBudget, w.settle(t, w.authorize(t, first)).ErrorReason, "of the payer")
	require.True(t, w.settle(t, w.authorize(t, second)).Success)
	require.Equal(t, chain.ReasonGasBudget, w.settle(t, w.authorize(t, second)).ErrorReason, "of the payee")
	require.Equal(t, 3*dollar, w.moved(t))
}

// TestSettlementsOverAnUnreliableNode checks that each authorization moves money once.
func TestSettlementsOverAnUnreliableNode(t *testing.T) {
	t.Parallel()
	node := &flaky{}
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		impatient(c)
		node.RPC, node.random = c.RPC, rand2.New(rand2.NewPCG(3, 4))
		c.RPC = node
	})
	node.on.Store(true)
	const many = 20
	for range many {
		e := w.authorize(t, devchain.Wallets()[0])
		settled := false
		for range 2000 {
			s, err := w.rail.SettleAuthorization(t.Context(), e, resource)
			if err == nil && s.Success {
				settled = true
				break
			}
			if err != nil {
				require.ErrorIs(t, err, errNode)
			} else {
				require.Equal(t, x402.ReasonPending, s.ErrorReason)
			}
		}
		require.True(t, settled)
	}
	node.on.Store(false)
	require.Equal(t, many*dollar, w.moved(t))
}
