package chain_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
)

// book is a ledger of transfers.
type book struct {
	mu       sync.Mutex
	begun    []rail.SignedTransfer
	outcomes []rail.Outcome
	beginErr error
	endErr   error
}

func (b *book) Begin(_ context.Context, t rail.SignedTransfer) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.beginErr != nil {
		return "", b.beginErr
	}
	b.begun = append(b.begun, t)
	return "txn_1", nil
}

func (b *book) End(_ context.Context, reference string, o rail.Outcome) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.endErr != nil || reference != "txn_1" {
		return errors.Join(b.endErr, errors.New(reference))
	}
	b.outcomes = append(b.outcomes, o)
	return nil
}

func (w *world) settleInto(t *testing.T, e x402.Exact, b *book) (x402.Settlement, error) {
	t.Helper()
	return w.rail.SettleOnce(t.Context(), e, rail.SettleRequest{Resource: resource, Ledger: b})
}

// TestNothingIsSubmittedThatTheLedgerDoesNotHave: and nothing is reported.
func TestNothingIsSubmittedThatTheLedgerDoesNotHave(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	e := w.authorize(t, devchain.Wallets()[0])
	b := &book{beginErr: errors.New("ledger is down")}
	_, err := w.settleInto(t, e, b)
	require.ErrorIs(t, err, b.beginErr)
	before := w.moved(t)
	o, err := w.rail.TransferOutcome(t.Context(), "txn_1")
	require.NoError(t, err)
	require.Equal(t, rail.Unseen, o.Status)

	b.beginErr, b.endErr = nil, errors.New("ledger is down again")
	_, err = w.settleInto(t, e, b)
	require.ErrorIs(t, err, b.endErr)
	require.Greater(t, w.moved(t), before, "it has moved")
	b.endErr = nil
	s, err := w.settleInto(t, e, b)
	require.NoError(t, err)
	require.Equal(t, []any{true, false}, []any{s.Success, s.Replayed}, "nobody was told before")
	require.Len(t, b.begun, 1)
	require.Equal(t, []rail.Outcome{{Status: rail.Succeeded, TxHash: s.Transaction}}, b.outcomes)
	require.Equal(t, []any{devchain.Wallets()[0].Address.Hex(), payTo()}, []any{b.begun[0].Payer, b.begun[0].PayTo})
}

// TestInterruptedTransferIsFollowed: the ledger learns the outcome of a transfer whose
// request ended before.
func TestInterruptedTransferIsFollowed(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	b := &book{}
	s, err := w.settleInto(t, w.authorize(t, devchain.Wallets()[0]), b)
	require.NoError(t, err)
	require.Equal(t, x402.ReasonPending, s.ErrorReason)
	require.Equal(t, []rail.Outcome{{Status: rail.Pending}}, b.outcomes)
	w.restart(t)
	w.commit(t, 1)
	require.Eventually(t, func() bool {
		o, err := w.rail.TransferOutcome(t.Context(), "txn_1")
		require.NoError(t, err)
		return o == rail.Outcome{Status: rail.Succeeded, TxHash: s.Transaction}
	}, 20*time.Second, 10*time.Millisecond)
}
