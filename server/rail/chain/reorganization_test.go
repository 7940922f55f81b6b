package chain_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/x402"
)

var errNoAnswer = errors.New("the process ends before it answers")

// unanswered is a store that fails when the answer of a settlement is recorded.
type unanswered struct{ chain.Store }

type unansweredTx struct{ chain.Tx }

func (s unanswered) Update(ctx context.Context, run func(chain.Tx) error) error {
	return s.Store.Update(ctx, func(tx chain.Tx) error { return run(unansweredTx{tx}) })
}

func (tx unansweredTx) Put(kind, key string, value []byte) error {
	if kind == "authorization" && strings.Contains(string(value), `"told":true`) {
		return errNoAnswer
	}
	return tx.Tx.Put(kind, key, value)
}

// searched is a node that runs a function once before it returns logs.
type searched struct {
	chain.RPC

	first atomic.Pointer[func()]
}

func (n *searched) FilterLogs(ctx context.Context, q ethereum.FilterQuery) ([]types.Log, error) {
	if len(q.Addresses) == 1 && q.Addresses[0] == devchain.USDC() {
		if first := n.first.Swap(nil); first != nil {
			(*first)()
		}
	}
	return n.RPC.FilterLogs(ctx, q)
}

// records returns all values of a kind in the rail's store.
func (w *world) records(t *testing.T, kind string) (values []string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), w.path)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	require.NoError(t, store.View(t.Context(), func(tx chain.Tx) error {
		values = nil
		all, err := tx.List(kind, "", 100)
		for _, one := range all {
			values = append(values, string(one.Value))
		}
		return err
	}))
	return values
}

// spendFirst reorganizes the chain, and spends the payer's money on the new branch.
func (w *world) spendFirst(t *testing.T, from devchain.Wallet) {
	t.Helper()
	w.commit(t, 1)
	w.sending.Lock() // the rail would send its transaction again at once
	defer w.sending.Unlock()
	require.NoError(t, w.chain.Reorg(t.Context(), 6, true))
	require.Zero(t, w.moved(t))
	w.send(t, from, devchain.USDC(), contracts.NewTestUSDC().PackTransfer(devchain.Payee(3).Address, big.NewInt(devchain.WalletMicros)))
	w.commit(t, 1)
}

// TestUndoneSettlementIsNotAnsweredAsSuccess covers new callers and callers with the first
// one's key. An answer that another instance records meanwhile is kept.
func TestUndoneSettlementIsNotAnsweredAsSuccess(t *testing.T) {
	t.Parallel()
	node := &searched{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		node.RPC, c.Confirmations = c.RPC, 3
		c.RPC = node
	})
	w.commit(t, 3)
	from := devchain.Wallets()[0]
	e := w.authorize(t, from)
	request := rail.SettleRequest{Resource: resource, IdempotencyKey: "first"}
	first, err := w.rail.SettleOnce(t.Context(), e, request)
	require.NoError(t, err)
	require.Equal(t, x402.ReasonPending, first.ErrorReason)
	w.commit(t, 4)
	store, err := sqlite.Open(t.Context(), w.path)
	require.NoError(t, err)
	dying := w.instance(t, unanswered{store}, nil)
	require.Eventually(t, func() bool {
		_, err := dying.SettleOnce(t.Context(), e, request)
		return errors.Is(err, errNoAnswer)
	}, time.Minute, time.Millisecond)
	beside := w.beside(t, nil)
	answered := make(chan x402.Settlement, 1)
	hook := func() {
		s, err := beside.SettleOnce(t.Context(), e, request)
		if err != nil {
			t.Error(err)
		}
		answered <- s
	}
	node.first.Store(&hook)
	require.NoError(t, w.rail.Start(t.Context()))
	w.spendFirst(t, from)
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return w.gauge(t, "chain_payments_undone") == 1
	}, time.Minute, 100*time.Millisecond)
	require.True(t, (<-answered).Success, "it was not judged yet")
	kept := w.records(t, "authorization")
	require.Len(t, kept, 1)
	require.Contains(t, kept[0], `"undone":true`)
	require.Contains(t, kept[0], `"told":true`)
	for _, key := range []string{"", "first", "second"} {
		s, err := w.rail.SettleOnce(t.Context(), e, rail.SettleRequest{Resource: resource, IdempotencyKey: key})
		require.NoError(t, err)
		require.Equal(t, []any{false, x402.ReasonTransactionState}, []any{s.Success, s.ErrorReason}, key)
	}
	v, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
	require.NoError(t, err)
	require.False(t, v.IsValid)
}

// TestUndonePaymentIsReportedUntilThatIsTaken checks that the next process repeats a report
// that failed, and none that was taken.
func TestUndonePaymentIsReportedUntilThatIsTaken(t *testing.T) {
	t.Parallel()
	reports, failed := &undoneReports{}, atomic.Int64{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Confirmations = 3
		c.OnUndone = func(context.Context, chain.Undone) error {
			failed.Add(1)
			return errNoAnswer
		}
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
		return failed.Load() > 0
	}, time.Minute, 100*time.Millisecond)
	require.Len(t, w.records(t, "undone"), 1)
	w.config.OnUndone = reports.take
	w.restart(t)
	told := make(chan rail.Undone, 10)
	w.rail.OnUndone(func(_ context.Context, u rail.Undone) error {
		told <- u
		return nil
	})
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool { return len(reports.get()) > 0 && len(w.records(t, "undone")) == 0 }, time.Minute, 100*time.Millisecond)
	w.commit(t, 1)
	time.Sleep(time.Second) // rounds of tend
	require.Len(t, reports.get(), 1)
	require.Equal(t, rail.Undone{Rail: rail.Chain, Reference: "txn", TxHash: outcome.TxHash}, <-told)
	require.Empty(t, told)
}
