// Package railtest is the contract of [rail.Rail]: what every rail must hold
// before money is trusted to it. A rail's own tests run it over their way of
// making one:
//
//	railtest.Run(t, func(t *testing.T) railtest.Fixture {
//		…
//		return railtest.Fixture{Rail: r, Works: "card_visa", Amount: 1_000_000, Moved: moved, …}
//	})
//
// A new duty of rails gets its test here, never in one rail only. What a rail
// does beyond the seam is its own tests' affair.
package railtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Fixture is a fresh rail with what a test must know of the world behind it.
type Fixture struct {
	// Rail under test, with nothing connected and nothing charged.
	Rail rail.Rail
	// Works is a method that connects and pays Amount as often as the suite asks,
	// some two hundred times. Required.
	Works string
	// RefusedAtConnect is a method that is refused when it is connected, with the
	// reason ConnectReason. Empty: there is none, and its test is skipped.
	RefusedAtConnect string
	ConnectReason    rail.Reason
	// RefusedAtCharge is a method that connects, and whose every charge is refused
	// with ChargeReason. Empty: there is none, and its tests are skipped.
	RefusedAtCharge string
	ChargeReason    rail.Reason
	// Amount of one charge; the rail can also pay twice that much. Required.
	Amount rail.Micros
	// PayTo is the payee's wallet, for rails that pay to one.
	PayTo string
	// Moved tells all that the payee has received, from outside of the rail.
	// Required.
	Moved func(t *testing.T) rail.Micros
	// Restart ends the rail without farewell, and returns one that has only what
	// was durable. Nil: the rail keeps nothing that a restart could lose, and the
	// rail itself is used on.
	Restart func(t *testing.T) rail.Rail
	// Advance lets the outside world go on, say by a block, so that what is Pending
	// may end. Nil: the rail's charges end when they are answered.
	Advance func(t *testing.T)
}

// patience is how often Advance is tried before a charge counts as stuck.
const patience = 50

// Run runs the contract over rails that open makes, a fresh one for each test.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *bench){
		"ConnectsOncePerReference":         connectsOnce,
		"ConnectUnknownMethod":             connectUnknown,
		"ConnectRefusedStaysRefused":       connectRefused,
		"ConnectChangedIsAnError":          connectChanged,
		"ConnectCancelledIsNoRefusal":      connectCancelled,
		"ChargesOncePerReference":          chargesOnce,
		"FiftyCallersMoveTheMoneyOnce":     fiftyCallers,
		"EachReferenceMovesItsOwn":         manyReferences,
		"RefusedStaysRefused":              refusedStays,
		"ChangedParametersAreAnError":      changedParameters,
		"RefusedReferenceIsUsedUp":         refusedIsUsedUp,
		"AmountsNotAboveNothingMoveNone":   worthlessAmounts,
		"UnknownInstrumentMovesNone":       unknownInstrument,
		"LookupUnseen":                     lookupUnseen,
		"LookupTellsWhatChargeTold":        lookupTells,
		"CancelledIsNoRefusal":             cancelledIsNoRefusal,
		"GivenUpMidwayIsFinishedByAsking":  givenUpMidway,
		"RestartForgetsNothing":            restartForgetsNothing,
		"RestartAmidChargesDoublesNothing": restartAmidCharges,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			require.NotEmpty(t, f.Works, "Fixture.Works")
			require.Positive(t, f.Amount, "Fixture.Amount")
			require.NotNil(t, f.Moved, "Fixture.Moved")
			test(t, &bench{Fixture: f})
		})
	}
}

// bench is a fixture with the steps that the tests share.
type bench struct {
	Fixture
	references int
}

// reference returns one that was not used on this bench.
func (b *bench) reference() string {
	b.references++
	return fmt.Sprintf("txn_%d.%s", b.references, b.Rail.Name())
}

// connect connects a method that must connect.
func (b *bench) connect(t *testing.T, method string) rail.Instrument {
	t.Helper()
	instrument, err := b.Rail.Connect(t.Context(), rail.Connection{Reference: b.reference(), Method: method, Email: "payer@example.com"})
	require.NoError(t, err)
	require.Equal(t, b.Rail.Name(), instrument.Rail)
	require.NotEmpty(t, instrument.Method)
	return instrument
}

// charge is a charge of one Amount under a fresh reference.
func (b *bench) charge(instrument rail.Instrument) rail.Charge {
	return rail.Charge{
		Reference: b.reference(), MandateID: "del_railtest", MerchantID: "mer_railtest", PayTo: b.PayTo,
		Instrument: instrument, Amount: b.Amount, Description: "railtest",
	}
}

// pay charges and waits for the end.
func (b *bench) pay(t *testing.T, c rail.Charge) rail.Outcome {
	t.Helper()
	outcome, err := b.Rail.Charge(t.Context(), c)
	require.NoError(t, err)
	return b.end(t, c.Reference, outcome)
}

// end waits until a pending outcome ends.
func (b *bench) end(t *testing.T, reference string, outcome rail.Outcome) rail.Outcome {
	t.Helper()
	for range patience {
		if outcome.Status != rail.Pending {
			return outcome
		}
		if b.Advance != nil {
			b.Advance(t)
		}
		var err error
		outcome, err = b.Rail.Lookup(t.Context(), reference)
		require.NoError(t, err)
	}
	require.NotEqual(t, rail.Pending, outcome.Status, "charge %s never ends", reference)
	return outcome
}

// restart replaces the rail by one with only what was durable.
func (b *bench) restart(t *testing.T) {
	t.Helper()
	if b.Restart != nil {
		b.Rail = b.Restart(t)
	}
}

// together runs n calls at once and waits for them.
func together(n int, call func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			call(i)
		})
	}
	close(start)
	wg.Wait()
}

// requireSucceeded checks an outcome that says that the money has moved.
func requireSucceeded(t *testing.T, outcome rail.Outcome) {
	t.Helper()
	require.Equal(t, rail.Succeeded, outcome.Status, "reason %q", outcome.Reason)
	require.Empty(t, outcome.Reason)
	require.False(t, outcome.SettledAt.IsZero(), "SettledAt")
	require.Equal(t, time.UTC, outcome.SettledAt.Location())
	require.NotEqual(t, outcome.ProcessorID == "", outcome.TxHash == "", "one of ProcessorID and TxHash")
}

// requireUnknown checks an error that must not pass for a refusal.
func requireUnknown(t *testing.T, outcome rail.Outcome, err error) {
	t.Helper()
	require.Error(t, err)
	require.Empty(t, outcome, "an error comes without an outcome")
	var refused *rail.RefusedError
	require.NotErrorAs(t, err, &refused)
}

// cancelled returns a context that is over.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
