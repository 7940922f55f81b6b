package rail_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errUnknown = errors.New("no answer")

// scripted is a rail that answers by a script and keeps what it was asked.
type scripted struct {
	name    rail.Name
	outcome rail.Outcome
	err     error
	asked   []rail.Charge
}

func (s *scripted) Name() rail.Name { return s.name }

func (s *scripted) Connect(context.Context, rail.Connection) (rail.Instrument, error) {
	return rail.Instrument{Rail: s.name}, nil
}

func (s *scripted) Charge(_ context.Context, c rail.Charge) (rail.Outcome, error) {
	s.asked = append(s.asked, c)
	return s.outcome, s.err
}

func (s *scripted) Lookup(context.Context, string) (rail.Outcome, error) { return s.outcome, s.err }

func newRouter(t *testing.T, rails ...rail.Rail) *rail.Router {
	t.Helper()
	router, err := rail.NewRouter(rails)
	require.NoError(t, err)
	return router
}

// both are a payer's instruments of both rails.
func both() []rail.Instrument {
	return []rail.Instrument{{Rail: rail.Chain, Method: "0x01"}, {Rail: rail.Card, Method: "pm_1"}}
}

func refused(why rail.Reason) rail.Outcome { return rail.Outcome{Status: rail.Refused, Reason: why} }

func TestPreferred(t *testing.T) {
	t.Parallel()
	require.Equal(t, []rail.Name{rail.Card, rail.Chain}, rail.Preferred("usd"))
	require.Equal(t, []rail.Name{rail.Chain, rail.Card}, rail.Preferred("usdc"))
	require.Equal(t, []rail.Name{rail.Chain, rail.Card}, rail.Preferred("usdt"))
	for _, unknown := range []string{"", "USD", "eur"} {
		require.Empty(t, rail.Preferred(unknown))
	}
}

func TestNewRouterRefusesAmbiguousRails(t *testing.T) {
	t.Parallel()
	_, err := rail.NewRouter([]rail.Rail{&scripted{name: rail.Card}, &scripted{name: rail.Card}})
	require.ErrorContains(t, err, "twice")
	_, err = rail.NewRouter([]rail.Rail{nil})
	require.ErrorContains(t, err, "nil")
}

func TestRouterKnowsItsRails(t *testing.T) {
	t.Parallel()
	fiat := &scripted{name: rail.Card}
	router := newRouter(t, &scripted{name: rail.Chain}, fiat)
	require.Equal(t, []rail.Name{rail.Chain, rail.Card}, router.Names())
	got, ok := router.Rail(rail.Card)
	require.True(t, ok)
	require.Same(t, fiat, got)
	_, ok = newRouter(t).Rail(rail.Card)
	require.False(t, ok)
}

// TestFallback is the table of what follows from the first rail's answer.
func TestFallback(t *testing.T) {
	t.Parallel()
	paid := rail.Outcome{Status: rail.Succeeded, TxHash: "0x02"}
	for name, c := range map[string]struct {
		first, second rail.Outcome
		firstErr      error
		secondErr     error
		used          rail.Name
		outcome       rail.Outcome
		wantErr       error
		secondAsked   bool
	}{
		"first succeeds":            {first: paid, used: rail.Card, outcome: paid},
		"first is pending":          {first: rail.Outcome{Status: rail.Pending}, used: rail.Card, outcome: rail.Outcome{Status: rail.Pending}},
		"first is unknown":          {firstErr: errUnknown, used: rail.Card, wantErr: errUnknown},
		"reference reused":          {firstErr: rail.ErrReferenceReused, used: rail.Card, wantErr: rail.ErrReferenceReused},
		"first refuses":             {first: refused(rail.CardDeclined), second: paid, used: rail.Chain, outcome: paid, secondAsked: true},
		"first is unavailable":      {first: refused(rail.Unavailable), second: paid, used: rail.Chain, outcome: paid, secondAsked: true},
		"second is pending":         {first: refused(rail.CardDeclined), second: rail.Outcome{Status: rail.Pending}, used: rail.Chain, outcome: rail.Outcome{Status: rail.Pending}, secondAsked: true},
		"second is unknown":         {first: refused(rail.CardDeclined), secondErr: errUnknown, used: rail.Chain, wantErr: errUnknown, secondAsked: true},
		"both refuse":               {first: refused(rail.CardDeclined), second: refused(rail.Reverted), used: rail.Card, outcome: refused(rail.CardDeclined), secondAsked: true},
		"unavailable, then refused": {first: refused(rail.Unavailable), second: refused(rail.Reverted), used: rail.Chain, outcome: refused(rail.Reverted), secondAsked: true},
		"refused, then unavailable": {first: refused(rail.ExpiredCard), second: refused(rail.Unavailable), used: rail.Card, outcome: refused(rail.ExpiredCard), secondAsked: true},
		"both unavailable":          {first: refused(rail.Unavailable), second: refused(rail.Unavailable), used: rail.Card, outcome: refused(rail.Unavailable), secondAsked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fiat := &scripted{name: rail.Card, outcome: c.first, err: c.firstErr}
			chain := &scripted{name: rail.Chain, outcome: c.second, err: c.secondErr}
			used, outcome, err := newRouter(t, chain, fiat).Charge(t.Context(), rail.Preferred("usd"), both(), rail.Charge{Reference: "txn_1"}, nil)
			require.ErrorIs(t, err, c.wantErr)
			require.Equal(t, c.used, used)
			require.Equal(t, c.outcome, outcome)
			require.Len(t, fiat.asked, 1)
			require.Equal(t, "txn_1.fiatrail", fiat.asked[0].Reference)
			require.Equal(t, both()[1], fiat.asked[0].Instrument)
			require.Equal(t, c.secondAsked, len(chain.asked) == 1)
			if c.secondAsked {
				require.Equal(t, "txn_1.chainrail", chain.asked[0].Reference)
				require.Equal(t, both()[0], chain.asked[0].Instrument)
			}
		})
	}
}

func TestStatusThatIsNoAnswerIsAnError(t *testing.T) {
	t.Parallel()
	for _, status := range []rail.Status{rail.Unseen, rail.Held, "", "done"} {
		fiat, chain := &scripted{name: rail.Card, outcome: rail.Outcome{Status: status}}, &scripted{name: rail.Chain}
		_, outcome, err := newRouter(t, fiat, chain).Charge(t.Context(), rail.Preferred("usd"), both(), rail.Charge{Reference: "txn_1"}, nil)
		require.ErrorContains(t, err, "not a result of a charge")
		require.Empty(t, outcome)
		require.Empty(t, chain.asked)
	}
}

func TestOnlyConnectedRailsAreAsked(t *testing.T) {
	t.Parallel()
	fiat := &scripted{name: rail.Card, outcome: refused(rail.CardDeclined)}
	chain := &scripted{name: rail.Chain, outcome: rail.Outcome{Status: rail.Succeeded}}
	router := newRouter(t, fiat, chain)
	used, outcome, err := router.Charge(t.Context(), []rail.Name{rail.Card, rail.Chain, rail.Card}, both()[1:], rail.Charge{Reference: "txn_1"}, nil)
	require.NoError(t, err)
	require.Equal(t, rail.Card, used)
	require.Equal(t, refused(rail.CardDeclined), outcome)
	require.Len(t, fiat.asked, 1, "a rail named twice is asked once")
	require.Empty(t, chain.asked)
	for _, none := range [][]rail.Instrument{nil, {{Rail: "other"}}} {
		used, outcome, err = router.Charge(t.Context(), rail.Preferred("usd"), none, rail.Charge{Reference: "txn_2"}, nil)
		require.NoError(t, err)
		require.Empty(t, used)
		require.Equal(t, refused(rail.Unavailable), outcome)
	}
}

func TestOneFallbackAtMost(t *testing.T) {
	t.Parallel()
	var rails []rail.Rail
	var instruments []rail.Instrument
	var order []rail.Name
	for _, name := range []rail.Name{"a", "b", "c"} {
		rails = append(rails, &scripted{name: name, outcome: refused(rail.CardDeclined)})
		instruments = append(instruments, rail.Instrument{Rail: name})
		order = append(order, name)
	}
	router := newRouter(t, rails...)
	_, _, err := router.Charge(t.Context(), order, instruments, rail.Charge{Reference: "txn_1"}, nil)
	require.NoError(t, err)
	require.Empty(t, rails[2].(*scripted).asked)
	require.Equal(t, order[:2], router.Plan(order, instruments))
}

func TestRailThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	paid := rail.Outcome{Status: rail.Succeeded}
	fiat := &scripted{name: rail.Card, outcome: paid}
	router := newRouter(t, fiat)
	// A plan made now leaves the chain out, and so the card takes its place.
	plan := router.Plan(rail.Preferred("usdc"), both())
	require.Equal(t, []rail.Name{rail.Card}, plan)
	used, outcome, err := router.Charge(t.Context(), plan, both(), rail.Charge{Reference: "txn_1"}, nil)
	require.NoError(t, err)
	require.Equal(t, rail.Card, used)
	require.Equal(t, paid, outcome)
	// A plan of another configuration may have moved money on the chain already.
	fiat.asked = nil
	_, outcome, err = router.Charge(t.Context(), rail.Preferred("usdc"), both(), rail.Charge{Reference: "txn_2"}, nil)
	require.ErrorIs(t, err, rail.ErrNotConfigured)
	require.Empty(t, outcome)
	require.Empty(t, fiat.asked)
	// Nothing configured at all: a plan of nothing, and a refusal.
	empty := newRouter(t)
	require.Empty(t, empty.Plan(rail.Preferred("usd"), both()))
	_, outcome, err = empty.Charge(t.Context(), nil, both(), rail.Charge{Reference: "txn_3"}, nil)
	require.NoError(t, err)
	require.Equal(t, refused(rail.Unavailable), outcome)
}

func TestCancelledChargeAsksNobody(t *testing.T) {
	t.Parallel()
	fiat := &scripted{name: rail.Card, outcome: refused(rail.CardDeclined)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, outcome, err := newRouter(t, fiat).Charge(ctx, rail.Preferred("usd"), both(), rail.Charge{Reference: "txn_1"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, outcome)
	require.Empty(t, fiat.asked)
}

// renamed is a card rail in the place of the chain.
type renamed struct{ *card.Rail }

func (renamed) Name() rail.Name { return rail.Chain }

func (r renamed) Connect(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	in, err := r.Rail.Connect(ctx, c)
	in.Rail = rail.Chain
	return in, err
}

func (r renamed) Charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	c.Instrument.Rail = rail.Card
	return r.Rail.Charge(ctx, c)
}

// TestRunAgainUntilAnsweredMovesTheMoneyOnce runs charges over two unreliable
// processors, repeated after each error as recovery does, with new rails, and compares
// the outcome with what the cards promise.
func TestRunAgainUntilAnsweredMovesTheMoneyOnce(t *testing.T) {
	t.Parallel()
	open := func(seed uint64) *card.Processor {
		p, err := card.OpenProcessor(t.Context(), card.ProcessorConfig{
			Path: filepath.Join(t.TempDir(), "card.db"), Random: rand.NewPCG(seed, seed),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	}
	processors := []*card.Processor{open(1), open(2)}
	rails := func() []rail.Rail {
		fiat, err := card.New(card.Config{Gateway: processors[0]})
		require.NoError(t, err)
		chain, err := card.New(card.Config{Gateway: processors[1]})
		require.NoError(t, err)
		return []rail.Rail{fiat, renamed{chain}}
	}
	moved := func() (payments int64) {
		for _, p := range processors {
			totals, err := p.Totals(t.Context())
			require.NoError(t, err)
			payments += totals.Payments
		}
		return payments
	}
	names := []string{"card_visa", "card_expired", "card_lost_answer"}
	instruments := [2]map[string]rail.Instrument{{}, {}}
	for i, r := range rails() {
		for _, name := range names {
			in, err := r.Connect(t.Context(), rail.Connection{Reference: name, Method: name})
			require.NoError(t, err)
			instruments[i][name] = in
		}
		require.NoError(t, processors[i].SetFaults(card.Faults{ErrorPercent: 20, StopPercent: 30, LosePercent: 20}))
	}
	charges := 0
	rapid.Check(t, func(rt *rapid.T) {
		charges++
		first, second := rapid.SampledFrom(names).Draw(rt, "fiat"), rapid.SampledFrom(names).Draw(rt, "chain")
		payers := []rail.Instrument{instruments[0][first], instruments[1][second]}
		c := rail.Charge{Reference: fmt.Sprintf("txn_%d", charges), MerchantID: "mer_1", Amount: 10_000}
		before, tries := moved(), 0
		used, outcome, err := rail.Name(""), rail.Outcome{}, errUnknown
		for ; err != nil; tries++ {
			require.Less(rt, tries, 1000)
			router, newErr := rail.NewRouter(rails())
			require.NoError(rt, newErr)
			used, outcome, err = router.Charge(context.Background(), rail.Preferred("usd"), payers, c, nil)
		}
		switch {
		case first != "card_expired":
			require.Equal(rt, rail.Card, used)
			require.Equal(rt, rail.Succeeded, outcome.Status)
		case second != "card_expired":
			require.Equal(rt, rail.Chain, used)
			require.Equal(rt, rail.Succeeded, outcome.Status)
		default:
			require.Equal(rt, rail.Card, used)
			require.Equal(rt, rail.ExpiredCard, outcome.Reason)
		}
		want := before
		if outcome.Status == rail.Succeeded {
			want++
		}
		require.Equal(rt, want, moved())
	})
	require.GreaterOrEqual(t, charges, 50)
}
