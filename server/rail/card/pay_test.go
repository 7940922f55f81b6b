package card_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// stopped leaves a payment authorized and not captured, as a crash between the
// two steps does.
func stopped(t *testing.T, s *setup, c rail.Charge) {
	t.Helper()
	require.NoError(t, s.processor.SetFaults(card.Faults{StopPercent: 100}))
	_, err := s.rail.Charge(t.Context(), c)
	require.ErrorIs(t, err, card.ErrUnavailable)
	payment, err := s.processor.Payment(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, card.RequiresCapture, payment.State)
	require.Zero(t, movedCents(t, s.processor))
}

func TestCrashBetweenTheStepsIsFinishedByTheSameReference(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*testing.T, *setup, rail.Charge) (rail.Outcome, error){
		"charge again": func(t *testing.T, s *setup, c rail.Charge) (rail.Outcome, error) {
			t.Helper()
			return s.rail.Charge(t.Context(), c)
		},
		"look up": func(t *testing.T, s *setup, c rail.Charge) (rail.Outcome, error) {
			t.Helper()
			return s.rail.Lookup(t.Context(), c.Reference)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
			stopped(t, s, c)
			s.reopen(t)
			for range 2 {
				outcome, err := ask(t, s, c)
				require.NoError(t, err)
				require.Equal(t, rail.Succeeded, outcome.Status)
				require.EqualValues(t, 100, movedCents(t, s.processor))
			}
		})
	}
}

func TestAuthorizedReferenceIsBoundToItsParameters(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	stopped(t, s, c)
	s.reopen(t)
	c.Amount *= 2
	_, err := s.rail.Charge(t.Context(), c)
	require.ErrorIs(t, err, rail.ErrReferenceReused)
	require.Zero(t, movedCents(t, s.processor))
}

func TestAnotherDescriptionIsTheSameCharge(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	first, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	c.Description = "another text"
	again, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestVoidLeavesATombstone(t *testing.T) {
	t.Parallel()
	gateways(t, func(t *testing.T, s *setup, gateway card.Gateway) {
		r := newRail(t, gateway)
		c := charge("txn_1.fiatrail", connect(t, r, "card_visa"))
		for range 2 {
			payment, err := gateway.Void(t.Context(), c.Reference)
			require.NoError(t, err)
			require.Equal(t, card.Voided, payment.State)
		}
		s.reopen(t)
		outcome, err := r.Charge(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, rail.Refused, outcome.Status, "a charge that comes late")
		require.Equal(t, rail.Unavailable, outcome.Reason)
		found, err := r.Lookup(t.Context(), c.Reference)
		require.NoError(t, err)
		require.Equal(t, outcome, found)
		require.Zero(t, movedCents(t, s.processor))
	})
}

func TestVoidOfAnAuthorizationReleasesIt(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	stopped(t, s, c)
	s.reopen(t)
	outcome, err := s.rail.Void(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, rail.Refused, outcome.Status)
	payment, err := s.processor.Capture(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, card.Voided, payment.State, "what is voided cannot be captured")
	outcome, err = s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, rail.Refused, outcome.Status)
	require.Zero(t, movedCents(t, s.processor))
}

func TestVoidDoesNotTakeMovedMoneyBack(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	paid, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	outcome, err := s.rail.Void(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, paid, outcome)
}

func TestVoidRacingChargesHasOneEnd(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	other := open(t, card.ProcessorConfig{Path: s.path}) // a second process, as it were
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	var group sync.WaitGroup
	var mu sync.Mutex
	ends := map[rail.Status]int{}
	for i := range 40 {
		r := newRail(t, s.processor)
		if i%2 == 0 {
			r = newRail(t, other)
		}
		group.Go(func() {
			var outcome rail.Outcome
			var err error
			if i%4 < 2 {
				outcome, err = r.Charge(t.Context(), c)
			} else {
				outcome, err = r.Void(t.Context(), c.Reference)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ends[outcome.Status]++
			}
		})
	}
	group.Wait()
	require.Len(t, ends, 1, "%v", ends)
	moved := movedCents(t, s.processor)
	if ends[rail.Succeeded] == 40 {
		require.EqualValues(t, 100, moved)
	} else {
		require.Equal(t, 40, ends[rail.Refused])
		require.Zero(t, moved)
	}
}

func TestCaptureOfNothing(t *testing.T) {
	t.Parallel()
	gateways(t, func(t *testing.T, _ *setup, gateway card.Gateway) {
		_, err := gateway.Capture(t.Context(), "txn_1.fiatrail")
		require.ErrorIs(t, err, card.ErrUnknownPayment)
		_, err = gateway.Payment(t.Context(), "txn_1.fiatrail")
		require.ErrorIs(t, err, card.ErrUnknownPayment)
	})
}

func TestAnotherPayersMethodIsRefused(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	mine := connect(t, s.rail, "card_visa")
	theirs := connect(t, s.rail, "card_slow")
	mine.Method = theirs.Method
	outcome, err := s.rail.Charge(t.Context(), charge("txn_1.fiatrail", mine))
	require.NoError(t, err)
	require.Equal(t, rail.Refused, outcome.Status)
	require.Equal(t, rail.ProcessorError, outcome.Reason)
}

func TestRefusedMethodCannotBeCharged(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	customer, err := s.processor.CreateCustomer(t.Context(), card.CustomerParams{Reference: "c1"})
	require.NoError(t, err)
	method, err := s.processor.CreateMethod(t.Context(), card.MethodParams{Reference: "c1", Customer: customer.ID, Card: "card_declined"})
	require.NoError(t, err)
	require.Equal(t, card.MethodRefused, method.State)
	payment, err := s.processor.Pay(t.Context(), card.PaymentParams{
		Reference: "p1", Customer: customer.ID, Method: method.ID, Payee: "mer_1", AmountCents: 1,
	})
	require.NoError(t, err)
	require.Equal(t, card.Declined, payment.State)
}

func TestSettlementIsDatedOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	first, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	s.clock.millis.Add((31 * 24 * time.Hour).Milliseconds())
	again, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first, again)
}
