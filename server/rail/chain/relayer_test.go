package chain_test

import (
	"context"
	"log/slog"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
)

// undoneReports collects the calls of OnUndone.
type undoneReports struct {
	mu  sync.Mutex
	all []chain.Undone
}

func (u *undoneReports) take(_ context.Context, one chain.Undone) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, one)
	return nil
}

func (u *undoneReports) get() []chain.Undone {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]chain.Undone{}, u.all...)
}

// gauge returns the value of one of the rail's gauges.
func (w *world) gauge(t *testing.T, name string) float64 {
	t.Helper()
	for _, g := range w.rail.Gauges() {
		if g.Name == name {
			return g.Value()
		}
	}
	require.Fail(t, "no gauge", name)
	return 0
}

// TestSettlementUndoneByADeepReorganizationIsReported has the payer spend the money first
// on the other branch, so that the relayer's transaction reverts there.
func TestSettlementUndoneByADeepReorganizationIsReported(t *testing.T) {
	t.Parallel()
	told, reports := errorsIn{slog.DiscardHandler, &atomic.Int64{}}, &undoneReports{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Confirmations, c.Logger, c.OnUndone = 3, slog.New(told), reports.take
	})
	w.commit(t, 3)
	from := devchain.Wallets()[0]
	e := w.authorize(t, from)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	w.commit(t, 4)
	settled := w.ended(t, e)
	require.True(t, settled.Success)
	require.NoError(t, w.rail.Start(t.Context()))
	w.spendFirst(t, from)
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return len(reports.get()) > 0
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, chain.Undone{
		TxHash: settled.Transaction, Payer: from.Address, Payee: devchain.Payee(0).Address, Amount: dollar,
	}, reports.get()[0])
	require.InDelta(t, 1, w.gauge(t, "chain_payments_undone"), 0)
	require.NotZero(t, told.n.Load())
	require.Zero(t, w.moved(t))
}

// TestChargeUndoneByADeepReorganizationIsReported is the same for a charge. It is
// reported once.
func TestChargeUndoneByADeepReorganizationIsReported(t *testing.T) {
	t.Parallel()
	reports := &undoneReports{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Confirmations, c.OnUndone = 3, reports.take
	})
	in := w.connectManually(t, "setup", chain.MethodWallet)
	w.commit(t, 8)
	require.Equal(t, rail.Pending, w.pay(t, charge("txn", in)).Status)
	w.commit(t, 4)
	outcome := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.NoError(t, w.rail.Start(t.Context()))
	w.spendFirst(t, ownerOf(t, in))
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return len(reports.get()) > 0
	}, time.Minute, 100*time.Millisecond)
	w.commit(t, 70)
	time.Sleep(time.Second) // rounds of tend
	require.Len(t, reports.get(), 1)
	require.Equal(t, []string{"txn", outcome.TxHash}, []string{reports.get()[0].Reference, reports.get()[0].TxHash})
}

// TestManyOpenTransactionsDoNotHideTheFirst has more transactions in blocks than one
// round reads. The network loses the next one, and it is sent again at once.
func TestManyOpenTransactionsDoNotHideTheFirst(t *testing.T) {
	t.Parallel()
	const many = 540
	w := setup(t, devchain.Config{Manual: true}, impatient)
	require.NoError(t, w.rail.Start(t.Context()))
	orders := make([]x402.Exact, many)
	for i := range orders {
		orders[i] = w.authorize(t, devchain.Wallets()[i%10])
	}
	var callers sync.WaitGroup
	next := make(chan x402.Exact)
	for range 8 {
		callers.Go(func() {
			for e := range next {
				if _, err := w.rail.SettleAuthorization(t.Context(), e, resource); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, e := range orders {
		next <- e
	}
	close(next)
	callers.Wait()
	w.commit(t, 1)
	require.EqualValues(t, many, w.spent(t))
	lost := w.authorize(t, devchain.Wallets()[0])
	require.Equal(t, x402.ReasonPending, w.settle(t, lost).ErrorReason)
	w.chain.Forget()
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return w.spent(t) == many+1
	}, time.Minute, time.Second) // a block a second, so that slow machines have rounds between them
	require.Less(t, w.head(t), uint64(60), "the window is not emptied by age first")
}

// TestTransactionIsReplacedUntilTheHighestFee checks that fees are raised up to the limit,
// and that an alarm is logged there.
func TestTransactionIsReplacedUntilTheHighestFee(t *testing.T) {
	t.Parallel()
	clock := &steady{now: time.Now()}
	told := alarms{slog.DiscardHandler, "transaction waits and cannot be replaced at a higher fee", &atomic.Int64{}}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Clock, c.Logger, c.MaxFeeWei = clock.Now, slog.New(told), big.NewInt(100*params.GWei)
	})
	in := w.connectManually(t, "setup", chain.MethodWallet)
	first := w.pay(t, charge("txn", in))
	last := first.TxHash
	for range 200 {
		clock.advance(time.Minute)
		last = w.pay(t, charge("txn", in)).TxHash
		if told.n.Load() > 0 {
			break
		}
	}
	require.NotZero(t, told.n.Load(), "the alarm")
	tx, _, err := w.chain.Client().TransactionByHash(t.Context(), common.HexToHash(last))
	require.NoError(t, err)
	require.Equal(t, 1, tx.GasFeeCap().Cmp(big.NewInt(85*params.GWei)), "%s", tx.GasFeeCap())
	w.commit(t, 1)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
}

// steady is a clock that several goroutines can read.
type steady struct {
	mu  sync.Mutex
	now time.Time
}

func (s *steady) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *steady) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// TestDeadWorkIsCanceled checks that an expired authorization and a charge past its
// deadline are replaced by a transfer of nothing, which uses their nonces for the least
// gas.
func TestDeadWorkIsCanceled(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Lifetime = 30 * time.Second
	})
	in := w.connectManually(t, "setup", chain.MethodWallet)
	before := w.spent(t)
	e := w.authorize(t, devchain.Wallets()[0])
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	require.Equal(t, rail.Pending, w.pay(t, charge("txn", in)).Status)
	w.chain.Forget()
	require.NoError(t, w.chain.AdvanceTime(2*time.Hour))
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return w.spent(t) == before+2
	}, time.Minute, 100*time.Millisecond)
	var gas uint64
	for n := uint64(0); n <= w.head(t); n++ {
		block, err := w.chain.Client().BlockByNumber(t.Context(), new(big.Int).SetUint64(n))
		require.NoError(t, err)
		for _, tx := range block.Transactions() {
			from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
			require.NoError(t, err)
			if from == devchain.Relayer().Address && tx.Nonce() >= before {
				gas += tx.Gas()
				require.Equal(t, from, *tx.To())
			}
		}
	}
	require.EqualValues(t, 2*21_000, gas)
	require.Equal(t, x402.ReasonTransactionState, w.ended(t, e).ErrorReason)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, w.pay(t, charge("txn", in)))
	require.Zero(t, w.moved(t))
}

// questionsTo counts the calls of a node.
type questionsTo struct {
	chain.RPC

	n atomic.Int64
}

func (q *questionsTo) TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	q.n.Add(1)
	return q.RPC.TransactionReceipt(ctx, hash)
}

// TestFinalTransactionsAreNotAskedFor checks that new blocks do not cause reads of the
// receipts of final transactions.
func TestFinalTransactionsAreNotAskedFor(t *testing.T) {
	t.Parallel()
	asked := &questionsTo{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		asked.RPC = c.RPC
		c.RPC = asked
	})
	w.connectManually(t, "setup", chain.MethodWallet)
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool { return w.gauge(t, "chain_spent_ether") > 0 }, time.Minute, 10*time.Millisecond)
	time.Sleep(time.Second) // the first look at what is final
	before := asked.n.Load()
	for range 4 {
		w.commit(t, 20)
		time.Sleep(600 * time.Millisecond)
	}
	require.Equal(t, before, asked.n.Load())
}

// TestLargePaymentsWaitForFinalizedBlocks checks that the newest block is not enough for
// charges and settlements above an amount.
func TestLargePaymentsWaitForFinalizedBlocks(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.FinalizedAbove = dollar - 1
	})
	in := w.connectManually(t, "setup", chain.MethodWallet)
	small := charge("small", in)
	small.Amount = dollar / 2
	require.Equal(t, rail.Pending, w.pay(t, small).Status)
	require.Equal(t, rail.Pending, w.pay(t, charge("large", in)).Status)
	e := w.authorize(t, devchain.Wallets()[0])
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	w.commit(t, 2)
	require.Equal(t, rail.Succeeded, w.pay(t, small).Status)
	require.Equal(t, rail.Pending, w.pay(t, charge("large", in)).Status)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	w.commit(t, 70)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("large", in)).Status)
	require.True(t, w.settle(t, e).Success)
}
