// Package railtest is the contract suite of [rail.Rail]: what every rail must guarantee
// before it may move money. The tests of a rail run it with a function that opens one:
//
//	railtest.Run(t, func(t *testing.T) railtest.Fixture {
//		…
//		return railtest.Fixture{Rail: r, Works: "card_visa", Amount: 1_000_000, Moved: moved, …}
//	})
//
// [RunAuthorizer] and [RunRefunder] are the suites of [rail.Authorizer] and
// [rail.Refunder], for rails that implement them.
//
// A new guarantee of rails gets its test here, never in one rail only. The rail's own tests
// cover what it does beyond this interface.
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

// Fixture is a new rail with what the suite must know about its environment.
type Fixture struct {
	// Rail is the rail to test, with nothing connected and nothing charged. Required.
	Rail rail.Rail
	// Works is a method that connects and pays Amount as often as the suite charges, about
	// two hundred times. Required.
	Works string
	// RefusedAtConnect is a method that is refused when it is connected. Default: there
	// is none, and its test is skipped.
	RefusedAtConnect string
	// ConnectReason is the reason for that refusal.
	ConnectReason rail.Reason
	// RefusedAtCharge is a method that connects, but whose every charge is refused.
	// Default: there is none, and its tests are skipped.
	RefusedAtCharge string
	// ChargeReason is the reason for that refusal.
	ChargeReason rail.Reason
	// Amount is the amount of one charge. The rail must also be able to pay twice as much,
	// and to capture and refund a quarter of it. Required.
	Amount rail.Micros
	// RefusedAtCapture is a method that is authorized, but whose every capture is refused.
	// Default: there is none, and its test is skipped.
	RefusedAtCapture string
	// CaptureReason is the reason for that refusal.
	CaptureReason rail.Reason
	// RefusedAtRefund is a method that pays, but whose every refund is refused. Default:
	// there is none, and its test is skipped.
	RefusedAtRefund string
	// RefundReason is the reason for that refusal.
	RefundReason rail.Reason
	// PayTo is the payee's wallet address, for rails that need one. Default: none.
	PayTo string
	// Moved returns the total that the payee has received, less what was refunded, as seen
	// from outside the rail. Required.
	Moved func(t *testing.T) rail.Micros
	// Held returns the total that is held, as seen from outside the rail. [RunAuthorizer]
	// requires it.
	Held func(t *testing.T) rail.Micros
	// Restart ends the rail as a crash does, and returns one that has only what was stored
	// durably. Default: the rail has no state to lose, and is used further.
	Restart func(t *testing.T) rail.Rail
	// Advance lets time pass in the environment, such as by a block, so that pending charges
	// may end. Default: charges end when they are answered.
	Advance func(t *testing.T)
}

// patience is the number of calls of Advance before a charge counts as stuck.
const patience = 50

// Run runs the suite. It calls open for each test, which must return a new rail.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	run(t, open, map[string]func(*testing.T, *bench){
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
	})
}

// run runs tests, each with a rail of its own.
func run(t *testing.T, open func(t *testing.T) Fixture, tests map[string]func(*testing.T, *bench)) {
	t.Helper()
	for name, test := range tests {
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

// reference returns a new reference.
func (b *bench) reference() string {
	b.references++
	return fmt.Sprintf("txn_%d.%s", b.references, b.Rail.Name())
}

// connect connects a method, which must succeed.
func (b *bench) connect(t *testing.T, method string) rail.Instrument {
	t.Helper()
	instrument, err := b.Rail.Connect(t.Context(), rail.Connection{Reference: b.reference(), Method: method, Email: "payer@example.com"})
	require.NoError(t, err)
	require.Equal(t, b.Rail.Name(), instrument.Rail)
	require.NotEmpty(t, instrument.Method)
	return instrument
}

// charge returns a charge of one Amount with a new reference.
func (b *bench) charge(instrument rail.Instrument) rail.Charge {
	return rail.Charge{
		Reference: b.reference(), MandateID: "del_railtest", MerchantID: "mer_railtest", PayTo: b.PayTo,
		Instrument: instrument, Amount: b.Amount, Description: "railtest",
	}
}

// pay charges and waits for the final outcome.
func (b *bench) pay(t *testing.T, c rail.Charge) rail.Outcome {
	t.Helper()
	outcome, err := b.Rail.Charge(t.Context(), c)
	require.NoError(t, err)
	return b.end(t, c.Reference, outcome)
}

// end waits until a pending charge ends.
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

// restart replaces the rail with one that has only what was stored durably.
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

// requireSucceeded checks that the outcome reports a success.
func requireSucceeded(t *testing.T, outcome rail.Outcome) {
	t.Helper()
	require.Equal(t, rail.Succeeded, outcome.Status, "reason %q", outcome.Reason)
	require.Empty(t, outcome.Reason)
	require.False(t, outcome.SettledAt.IsZero(), "SettledAt")
	require.Equal(t, time.UTC, outcome.SettledAt.Location())
	require.NotEqual(t, outcome.ProcessorID == "", outcome.TxHash == "", "one of ProcessorID and TxHash")
}

// requireUnknown checks that the error cannot be mistaken for a refusal.
func requireUnknown(t *testing.T, outcome rail.Outcome, err error) {
	t.Helper()
	require.Error(t, err)
	require.Empty(t, outcome, "an error comes without an outcome")
	var refused *rail.RefusedError
	require.NotErrorAs(t, err, &refused)
}

// cancelled returns a canceled context.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
