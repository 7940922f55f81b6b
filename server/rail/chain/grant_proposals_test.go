package chain_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
)

// grants counts the grants in the store.
func (w *world) grants(t *testing.T) (n int) {
	t.Helper()
	store, err := sqlite.Open(context.WithoutCancel(t.Context()), w.path)
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, store.View(t.Context(), func(tx chain.Tx) error {
		all, err := tx.List("grant", "", 1000)
		n = len(all)
		return err
	}))
	return n
}

// TestProposalsOfASessionAreBounded checks that a session's link creates a few keys at
// most, and that a person who signs a late proposal can connect.
func TestProposalsOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	owner, limits := devchain.Wallets()[4], someLimits()
	limits.Session = "mine"
	var all []rail.WalletProposal
	for range 20 {
		p, err := w.rail.Propose(t.Context(), owner.Address.Hex(), limits)
		require.NoError(t, err)
		all = append(all, p)
	}
	require.Equal(t, 5, w.grants(t), "keys of the oldest are destroyed")
	_, err := w.rail.Accept(t.Context(), all[0].ID, limits, signed(t, owner, false, all[0].Messages...))
	require.ErrorIs(t, err, rail.ErrNoProposal)
	last := all[len(all)-1]
	method, err := w.rail.Accept(t.Context(), last.ID, limits, signed(t, owner, false, last.Messages...))
	require.NoError(t, err)
	_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "1", Method: method, Session: "mine", Limits: limits})
	require.NoError(t, err)
}

// TestProposalCompletesItsOwnSessionAlone checks that another session with the same terms
// cannot use a signature of this one.
func TestProposalCompletesItsOwnSessionAlone(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	owner, mine := devchain.Wallets()[4], someLimits()
	mine.Session = "mine"
	other := mine
	other.Session = "other"
	p, err := w.rail.Propose(t.Context(), owner.Address.Hex(), mine)
	require.NoError(t, err)
	signatures := signed(t, owner, false, p.Messages...)
	_, err = w.rail.Accept(t.Context(), p.ID, other, signatures)
	require.ErrorIs(t, err, rail.ErrNoProposal)
	method, err := w.rail.Accept(t.Context(), p.ID, mine, signatures)
	require.NoError(t, err)
	_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "1", Method: method, Session: "other", Limits: other})
	require.ErrorIs(t, err, rail.ErrUnknownMethod)
	_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "2", Method: method, Session: "mine", Limits: mine})
	require.NoError(t, err)
}

// TestProposalsThatNobodySignsAreForgotten checks that unsigned proposals are deleted
// with their keys, and a connected one is kept.
func TestProposalsThatNobodySignsAreForgotten(t *testing.T) {
	t.Parallel()
	now := &clock.Movable{}
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.Clock = now.Now })
	owner := devchain.Wallets()[4]
	for _, session := range strings.Split("abcdefgh", "") {
		limits := someLimits()
		limits.Session = session
		p, err := w.rail.Propose(t.Context(), owner.Address.Hex(), limits)
		require.NoError(t, err)
		if session == "d" {
			method, err := w.rail.Accept(t.Context(), p.ID, limits, signed(t, owner, false, p.Messages...))
			require.NoError(t, err)
			_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "1", Method: method, Session: session, Limits: limits})
			require.NoError(t, err)
		}
	}
	require.Equal(t, 8, w.grants(t))
	now.Advance(25 * time.Hour)
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool { return w.grants(t) == 1 }, time.Minute, 20*time.Millisecond)
}
