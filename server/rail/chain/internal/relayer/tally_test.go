package relayer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errUnreadable = errors.New("the disk cannot be read")

// listing is a store that can fail to list open slots, or run a function afterwards.
type listing struct {
	records.Store

	fail  bool
	after func()
}

type listingTx struct {
	records.Tx

	listed *bool
}

func (tx listingTx) List(kind, after string, limit int) ([]records.Record, error) {
	*tx.listed = *tx.listed || kind == "open"
	return tx.Tx.List(kind, after, limit)
}

func (l *listing) View(ctx context.Context, run func(records.Tx) error) error {
	listed := false
	err := l.Store.View(ctx, func(tx records.Tx) error { return run(listingTx{tx, &listed}) })
	switch {
	case err != nil || !listed:
		return err
	case l.fail:
		return errUnreadable
	}
	if after := l.after; after != nil {
		l.after = nil
		after()
	}
	return nil
}

// world is a relayer on a chain that makes no blocks by itself.
type world struct {
	*relayer.Relayer

	chain *devchain.Chain
	store *listing
	jobs  int
	late  time.Duration // by which the relayer's clock is ahead
}

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{chain: devchaintest.Start(t, devchain.Config{Manual: true})}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "chain.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w.store = &listing{Store: store}
	client := w.chain.Client()
	w.Relayer = relayer.New(relayer.Config{
		Node: client, Chain: &eth.Reader{Node: client, Confirmations: 3}, ChainID: devchain.ChainID, Key: devchain.Relayer().Key(),
		Store: w.store, Poll: time.Millisecond, BumpAfter: time.Hour, MaxFeeWei: big.NewInt(500 * params.GWei), LowBalanceWei: new(big.Int),
		Clock: func() time.Time { return time.Now().Add(w.late) }, Logger: slog.New(slog.DiscardHandler),
	})
	return w
}

// submit submits transfers of nothing, which wait for a block.
func (w *world) submit(t *testing.T, n int) {
	t.Helper()
	for range n {
		w.jobs++
		_, err := w.Submit(t.Context(), relayer.Job{Task: fmt.Sprint("test/", w.jobs), To: devchain.Payee(0).Address, Gas: params.TxGas})
		require.NoError(t, err)
	}
}

func (w *world) header(t *testing.T) *types.Header {
	t.Helper()
	header, err := w.chain.Client().HeaderByNumber(t.Context(), nil)
	require.NoError(t, err)
	return header
}

// keeps reports whether the relayer keeps back what n transfers cost: it cannot afford a
// job that leaves less of its balance.
func (w *world) keeps(t *testing.T, n uint64) bool {
	t.Helper()
	var probe relayer.Job
	_, err := w.Afford(t.Context(), &probe)
	require.NoError(t, err)
	balance, err := w.chain.Client().BalanceAt(t.Context(), w.Address(), nil)
	require.NoError(t, err)
	units := new(big.Int).Quo(balance, probe.Offer.Cap).Uint64()
	ok, err := w.Afford(t.Context(), &relayer.Job{Gas: units - (n-1)*params.TxGas})
	require.NoError(t, err)
	return !ok
}

// requireCommitted checks that the relayer keeps back what n transfers cost, no more and
// no less.
func (w *world) requireCommitted(t *testing.T, n uint64) {
	t.Helper()
	require.True(t, w.keeps(t, n), "less than %d transfers cost", n)
	require.False(t, w.keeps(t, n+1), "more than %d transfers cost", n)
}

func (w *world) gauge(t *testing.T, name string) float64 {
	t.Helper()
	for _, g := range w.Gauges() {
		if g.Name == name {
			return g.Value()
		}
	}
	require.Fail(t, "no gauge", name)
	return 0
}

// TestTransactionsBeyondAPageStayCommitted has more transactions waiting than a round
// tends. The relayer must be able to pay for all of them.
func TestTransactionsBeyondAPageStayCommitted(t *testing.T) {
	t.Parallel()
	const many = 530
	w := setup(t)
	w.submit(t, many)
	w.requireCommitted(t, many)
	idle, err := w.Tend(t.Context(), w.header(t))
	require.NoError(t, err)
	require.False(t, idle)
	w.requireCommitted(t, many)
	require.InDelta(t, many, w.gauge(t, "chain_transactions_open"), 0)
}

// TestOldestWaitingTransactionIsFoundBehindAPageOfIncludedOnes has a page of transactions
// in a block that is not final, and one that waits.
func TestOldestWaitingTransactionIsFoundBehindAPageOfIncludedOnes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.submit(t, 520)
	_, err := w.chain.Commit()
	require.NoError(t, err)
	w.submit(t, 1)
	w.late = time.Minute
	_, err = w.Tend(t.Context(), w.header(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t, w.gauge(t, "chain_oldest_open_seconds"), 60.0)
	w.requireCommitted(t, 1)
}

// TestFiguresStayWhenTransactionsCannotBeListed checks that a failed read of the store is
// not taken for a relayer without transactions.
func TestFiguresStayWhenTransactionsCannotBeListed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.submit(t, 3)
	w.late = time.Minute
	_, err := w.Tend(t.Context(), w.header(t))
	require.NoError(t, err)
	w.store.fail = true
	_, err = w.Tend(t.Context(), w.header(t))
	require.ErrorIs(t, err, errUnreadable)
	require.InDelta(t, 3, w.gauge(t, "chain_transactions_open"), 0)
	require.GreaterOrEqual(t, w.gauge(t, "chain_oldest_open_seconds"), 60.0)
	w.requireCommitted(t, 3)
}

// TestTransactionSubmittedWhileOthersAreCountedStaysCommitted submits one after the open
// transactions were listed. It may count twice until the next round.
func TestTransactionSubmittedWhileOthersAreCountedStaysCommitted(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.submit(t, 1)
	w.store.after = func() { w.submit(t, 1) }
	_, err := w.Tend(t.Context(), w.header(t))
	require.NoError(t, err)
	require.True(t, w.keeps(t, 2))
	_, err = w.Tend(t.Context(), w.header(t))
	require.NoError(t, err)
	w.requireCommitted(t, 2)
}
