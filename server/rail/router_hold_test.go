package rail_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// holder is a scripted rail that holds amounts, and records which of its calls were made.
type holder struct {
	scripted

	calls []string
}

func (h *holder) Authorize(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	h.calls = append(h.calls, "authorize")
	return h.Charge(ctx, c)
}

func (h *holder) Capture(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	h.calls = append(h.calls, "capture")
	return h.Charge(ctx, c)
}

func (h *holder) Void(context.Context, string) (rail.Outcome, error) { return h.outcome, h.err }

// TestRailThatHoldsNothingIsAskedAtTheCapture: the caller holds the amount, and the rail moves
// it when it is captured.
func TestRailThatHoldsNothingIsAskedAtTheCapture(t *testing.T) {
	t.Parallel()
	chain := &scripted{name: rail.Chain, outcome: rail.Outcome{Status: rail.Succeeded}}
	router, order := newRouter(t, chain), []rail.Name{rail.Chain}
	used, outcome, err := router.Authorize(t.Context(), order, both(), rail.Charge{Reference: "txn_1"}, nil)
	require.NoError(t, err)
	require.Equal(t, rail.Chain, used)
	require.Equal(t, rail.Outcome{Status: rail.Held}, outcome)
	require.Empty(t, chain.asked)
	_, outcome, err = router.Capture(t.Context(), order, both(), rail.Charge{Reference: "txn_1", Amount: 5}, nil)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.Len(t, chain.asked, 1)
	require.Equal(t, "txn_1.chainrail", chain.asked[0].Reference)
	require.EqualValues(t, 5, chain.asked[0].Amount)
}

// networked is a scripted rail on a chain.
type networked struct{ scripted }

func (*networked) Network() string { return "eip155:1" }

// TestChainHoldsNothingForAPayeeWithoutWallet: its capture could not succeed.
func TestChainHoldsNothingForAPayeeWithoutWallet(t *testing.T) {
	t.Parallel()
	router := newRouter(t, &networked{scripted{name: rail.Chain}})
	for payTo, want := range map[string]rail.Outcome{
		"": {Status: rail.Refused, Reason: rail.Unavailable}, "0x0000000000000000000000000000000000000001": {Status: rail.Held},
	} {
		_, outcome, err := router.Authorize(t.Context(), []rail.Name{rail.Chain}, both(), rail.Charge{Reference: "txn_1", PayTo: payTo}, nil)
		require.NoError(t, err)
		require.Equal(t, want, outcome)
	}
}

// TestRefusedHoldIsAskedOfTheOtherRail: as for a charge, the second rail is asked after a
// definite refusal, and after nothing else.
func TestRefusedHoldIsAskedOfTheOtherRail(t *testing.T) {
	t.Parallel()
	fiat := &holder{scripted: scripted{name: rail.Card, outcome: refused(rail.CardDeclined)}}
	chain := &scripted{name: rail.Chain}
	used, outcome, err := newRouter(t, fiat, chain).Authorize(t.Context(), rail.Preferred("usd"), both(), rail.Charge{Reference: "txn_1"}, nil)
	require.NoError(t, err)
	require.Equal(t, rail.Chain, used)
	require.Equal(t, rail.Held, outcome.Status)
	require.Equal(t, []string{"authorize"}, fiat.calls)
	fiat.err = errUnknown
	_, outcome, err = newRouter(t, fiat, chain).Authorize(t.Context(), rail.Preferred("usd"), both(), rail.Charge{Reference: "txn_2"}, nil)
	require.ErrorIs(t, err, errUnknown)
	require.Empty(t, outcome)
}

// TestHolderCapturesAndIsNotCharged: a charge under the reference of a hold would be an error.
func TestHolderCapturesAndIsNotCharged(t *testing.T) {
	t.Parallel()
	fiat := &holder{scripted: scripted{name: rail.Card, outcome: rail.Outcome{Status: rail.Succeeded}}}
	_, outcome, err := newRouter(t, fiat).Capture(t.Context(), []rail.Name{rail.Card}, both(), rail.Charge{Reference: "txn_1"}, nil)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.Equal(t, []string{"capture"}, fiat.calls)
	require.Equal(t, "txn_1.fiatrail", fiat.asked[0].Reference)
}

// TestStatusOfAnotherCallIsAnError: a hold has not moved money, and a capture holds none.
func TestStatusOfAnotherCallIsAnError(t *testing.T) {
	t.Parallel()
	fiat := &holder{scripted: scripted{name: rail.Card}}
	router, order := newRouter(t, fiat), []rail.Name{rail.Card}
	for _, status := range []rail.Status{rail.Held, rail.Succeeded} {
		fiat.outcome.Status = status
		call := router.Capture
		if status == rail.Succeeded {
			call = router.Authorize
		}
		_, outcome, err := call(t.Context(), order, both(), rail.Charge{Reference: "txn_1"}, nil)
		require.ErrorContains(t, err, "not a result")
		require.Empty(t, outcome)
	}
}
