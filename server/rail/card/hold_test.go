package card_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// refund is a refund of half a dollar.
func refund(reference, charge string) rail.Refund {
	return rail.Refund{Reference: reference, Charge: charge, Amount: dollar / 2, Description: "a test"}
}

// hold authorizes a dollar, which must succeed.
func hold(t *testing.T, r *card.Rail, reference, name string) rail.Charge {
	t.Helper()
	c := charge(reference, connect(t, r, name))
	outcome, err := r.Authorize(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, rail.Held, outcome.Status)
	return c
}

// TestFaultsStopHoldsCapturesAndRefundsWithoutDoublingThem: each call fails once at its worst
// moment, and repeating it finishes it.
func TestFaultsStopHoldsCapturesAndRefundsWithoutDoublingThem(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]card.Faults{
		"error": {ErrorPercent: 100}, "stop": {StopPercent: 100}, "lose": {LosePercent: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateways(t, func(t *testing.T, s *setup, gateway card.Gateway) {
				r := newRail(t, gateway)
				c := charge("txn_1.fiatrail", connect(t, r, "card_visa"))
				part := c
				part.Amount = dollar * 3 / 4
				for _, call := range []struct {
					run    func(context.Context) (rail.Outcome, error)
					status rail.Status
				}{
					{func(ctx context.Context) (rail.Outcome, error) { return r.Authorize(ctx, c) }, rail.Held},
					{func(ctx context.Context) (rail.Outcome, error) { return r.Capture(ctx, part) }, rail.Succeeded},
					{func(ctx context.Context) (rail.Outcome, error) { return r.Refund(ctx, refund("rfd_1", c.Reference)) }, rail.Succeeded},
				} {
					require.NoError(t, s.processor.SetFaults(faults))
					for range 2 {
						outcome, err := call.run(t.Context())
						require.ErrorIs(t, err, card.ErrUnavailable)
						require.Empty(t, outcome)
					}
					require.NoError(t, s.processor.SetFaults(card.Faults{}))
					outcome, err := call.run(t.Context())
					require.NoError(t, err)
					require.Equal(t, call.status, outcome.Status)
				}
				totals, err := s.processor.Totals(t.Context())
				require.NoError(t, err)
				require.Equal(t, card.Totals{Payments: 1, CapturedCents: 75, Refunds: 1, RefundedCents: 50}, totals)
			})
		})
	}
}

// TestStoppedRefundReservesItsAmount: no other refund takes what a pending one will move.
func TestStoppedRefundReservesItsAmount(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	_, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, s.processor.SetFaults(card.Faults{StopPercent: 100}))
	pending := refund("rfd_1", c.Reference)
	_, err = s.rail.Refund(t.Context(), pending)
	require.ErrorIs(t, err, card.ErrUnavailable)
	require.NoError(t, s.processor.SetFaults(card.Faults{}))
	whole := refund("rfd_2", c.Reference)
	whole.Amount = dollar
	outcome, err := s.rail.Refund(t.Context(), whole)
	require.NoError(t, err)
	require.Equal(t, rail.Refused, outcome.Status)
	require.Equal(t, rail.Unavailable, outcome.Reason)
	outcome, err = s.rail.LookupRefund(t.Context(), pending.Reference)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status, "the lookup finishes it")
	payment, err := s.processor.Payment(t.Context(), c.Reference)
	require.NoError(t, err)
	require.EqualValues(t, 50, payment.RefundedCents)
}

// TestNothingButCaptureHeldCapturesAHold: neither the calls of earlier programs nor a repeated
// authorization capture what is held.
func TestNothingButCaptureHeldCapturesAHold(t *testing.T) {
	t.Parallel()
	gateways(t, func(t *testing.T, s *setup, gateway card.Gateway) {
		r := newRail(t, gateway)
		c := hold(t, r, "txn_1.fiatrail", "card_visa")
		asked := params(c)
		_, err := gateway.Pay(t.Context(), asked)
		require.ErrorIs(t, err, card.ErrReferenceReused)
		asked.Capture = card.CaptureManual
		for _, call := range []func() (card.Payment, error){
			func() (card.Payment, error) { return gateway.Pay(t.Context(), asked) },
			func() (card.Payment, error) { return gateway.Capture(t.Context(), c.Reference) },
			func() (card.Payment, error) { return gateway.Payment(t.Context(), c.Reference) },
		} {
			payment, err := call()
			require.NoError(t, err)
			require.Equal(t, card.RequiresCapture, payment.State)
			require.Equal(t, card.CaptureManual, payment.Capture)
		}
		totals, err := s.processor.Totals(t.Context())
		require.NoError(t, err)
		require.Equal(t, card.Totals{HeldCents: 100}, totals)
	})
}

// TestStoppedChargeIsNotCapturedInPart: a charge moves its whole amount or nothing.
func TestStoppedChargeIsNotCapturedInPart(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	require.NoError(t, s.processor.SetFaults(card.Faults{StopPercent: 100}))
	_, err := s.rail.Charge(t.Context(), c)
	require.ErrorIs(t, err, card.ErrUnavailable)
	require.NoError(t, s.processor.SetFaults(card.Faults{}))
	part := c
	part.Amount = dollar / 2
	_, err = s.rail.Capture(t.Context(), part)
	require.ErrorIs(t, err, rail.ErrReferenceReused)
	outcome, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.EqualValues(t, 100, movedCents(t, s.processor))
}

// TestSlowAndLostAnswersOfHoldsCapturesAndRefunds: the work is done, and a repeat is answered.
func TestSlowAndLostAnswersOfHoldsCapturesAndRefunds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"card_slow", "card_lost_answer"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			impatient, err := card.New(card.Config{Gateway: s.processor, Timeout: 300 * time.Millisecond})
			require.NoError(t, err)
			c := charge("txn_1.fiatrail", connect(t, s.rail, name))
			for _, call := range []func() (rail.Outcome, error){
				func() (rail.Outcome, error) { return impatient.Authorize(t.Context(), c) },
				func() (rail.Outcome, error) { return impatient.Capture(t.Context(), c) },
				func() (rail.Outcome, error) { return impatient.Refund(t.Context(), refund("rfd_1", c.Reference)) },
			} {
				_, err := call()
				require.Error(t, err)
				_, err = call()
				require.NoError(t, err)
			}
			totals, err := s.processor.Totals(t.Context())
			require.NoError(t, err)
			require.Equal(t, card.Totals{Payments: 1, CapturedCents: 100, Refunds: 1, RefundedCents: 50}, totals)
		})
	}
}

func TestAmountsThatNoCardCanCaptureOrRefund(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := hold(t, s.rail, "txn_1.fiatrail", "card_visa")
	for _, amount := range []rail.Micros{0, -dollar, money.MicrosPerCent / 10, money.MicrosPerCent + 1, dollar + money.MicrosPerCent} {
		changed := c
		changed.Amount = amount
		_, err := s.rail.Capture(t.Context(), changed)
		require.ErrorIs(t, err, rail.ErrInvalidAmount, "%d", amount)
	}
	_, err := s.rail.Capture(t.Context(), c)
	require.NoError(t, err)
	for _, amount := range []rail.Micros{0, -dollar, money.MicrosPerCent / 10, money.MicrosPerCent + 1} {
		outcome, err := s.rail.Refund(t.Context(), rail.Refund{Reference: "rfd_1", Charge: c.Reference, Amount: amount})
		require.NoError(t, err)
		require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, outcome, "%d", amount)
	}
	outcome, err := s.rail.LookupRefund(t.Context(), "rfd_1")
	require.NoError(t, err)
	require.Equal(t, rail.Unseen, outcome.Status, "the processor was not asked")
}

func TestHandlerRefusesMalformedHoldsAndRefunds(t *testing.T) {
	t.Parallel()
	handler := newSetup(t).processor.Handler()
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code, message      string
	}{
		"an unknown capture":     {"POST", "/v1/payments", `{"reference":"a","amountCents":1,"capture":"later"}`, 400, "invalid_parameters", "capture"},
		"nothing held":           {"POST", "/v1/authorizations", `{"reference":"a"}`, 400, "invalid_parameters", "amountCents"},
		"nothing captured":       {"POST", "/v1/captures", `{"reference":"a","amountCents":0}`, 400, "invalid_parameters", "amountCents"},
		"capture of nothing":     {"POST", "/v1/captures", `{"reference":"a","amountCents":1}`, 404, "unknown_payment", ""},
		"capture without name":   {"POST", "/v1/captures", `{"amountCents":1}`, 400, "invalid_parameters", "reference"},
		"nothing refunded":       {"POST", "/v1/refunds", `{"reference":"a","payment":"b"}`, 400, "invalid_parameters", "amountCents"},
		"refund of no payment":   {"POST", "/v1/refunds", `{"reference":"a","amountCents":1}`, 400, "invalid_parameters", "payment"},
		"long description":       {"POST", "/v1/refunds", `{"reference":"a","payment":"b","amountCents":1,"description":"` + strings.Repeat("a", 501) + `"}`, 400, "invalid_parameters", "description"},
		"refund without name":    {"POST", "/v1/refunds", `{"payment":"b","amountCents":1}`, 400, "invalid_parameters", "reference"},
		"a fraction refunded":    {"POST", "/v1/refunds", `{"amountCents":1.0}`, 400, "malformed_request", ""},
		"unknown refund":         {"GET", "/v1/refunds/rfd_1", ``, 404, "unknown_refund", ""},
		"bad reference":          {"GET", "/v1/refunds/a%2Fb", ``, 400, "invalid_parameters", "reference"},
		"refund of what is none": {"POST", "/v1/refunds", `{"reference":"a","payment":"b","amountCents":1}`, 200, "", "payment_not_captured"},
	} {
		status, code, answer := send(t, handler, c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s: %s", name, answer)
		require.Equal(t, c.code, code, "%s: %s", name, answer)
		require.Contains(t, answer, c.message, name)
	}
}

// TestProcessorWithoutHoldsHoldsAndMovesNothing: an earlier processor refuses the new calls,
// and does not mistake them for charges.
func TestProcessorWithoutHoldsHoldsAndMovesNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	instrument := connect(t, s.rail, "card_visa")
	earlier := http.NewServeMux()
	current := s.processor.Handler()
	for _, pattern := range []string{
		"POST /v1/payments", "GET /v1/payments/{reference}", "POST /v1/payments/{reference}/capture", "POST /v1/payments/{reference}/void",
	} {
		earlier.Handle(pattern, current)
	}
	r := newRail(t, serve(t, earlier, ""))
	c := charge("txn_1.fiatrail", instrument)
	for name, call := range map[string]func() (rail.Outcome, error){
		"authorize":     func() (rail.Outcome, error) { return r.Authorize(t.Context(), c) },
		"capture":       func() (rail.Outcome, error) { return r.Capture(t.Context(), c) },
		"refund":        func() (rail.Outcome, error) { return r.Refund(t.Context(), refund("rfd_1", c.Reference)) },
		"lookup refund": func() (rail.Outcome, error) { return r.LookupRefund(t.Context(), "rfd_1") },
	} {
		outcome, err := call()
		require.ErrorIs(t, err, card.ErrUnavailable, name)
		require.Empty(t, outcome, name)
	}
	require.Zero(t, movedCents(t, s.processor))
}

// otherAnswers is a processor whose responses are about something else than was requested.
type otherAnswers struct{ card.Gateway }

func (g otherAnswers) Authorize(ctx context.Context, p card.PaymentParams) (card.Payment, error) {
	return g.Pay(ctx, p) // which captures
}

func (g otherAnswers) CaptureHeld(ctx context.Context, p card.CaptureParams) (card.Payment, error) {
	payment, err := g.Gateway.CaptureHeld(ctx, p)
	payment.CapturedCents++
	return payment, err
}

func (g otherAnswers) Refund(ctx context.Context, p card.RefundParams) (card.Refund, error) {
	refund, err := g.Gateway.Refund(ctx, p)
	refund.AmountCents++
	return refund, err
}

func TestAnswersAboutOtherHoldsAndRefundsAreErrors(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	r := newRail(t, otherAnswers{s.processor})
	c := hold(t, s.rail, "txn_1.fiatrail", "card_visa")
	_, err := r.Authorize(t.Context(), charge("txn_2.fiatrail", c.Instrument))
	require.ErrorContains(t, err, "captures itself")
	_, err = r.Capture(t.Context(), c)
	require.ErrorContains(t, err, "captured 101 cents")
	_, err = r.Refund(t.Context(), refund("rfd_1", c.Reference))
	require.ErrorContains(t, err, "of 51 cents")
}

// TestProcessorsOfOneFileTogetherCaptureAndRefundOnce: the file decides, and not a process.
func TestProcessorsOfOneFileTogetherCaptureAndRefundOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	rails := []*card.Rail{s.rail, newRail(t, open(t, card.ProcessorConfig{Path: s.path}))}
	var captured, refunds atomic.Int64
	c := hold(t, s.rail, "txn_1.fiatrail", "card_visa")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			r, part := rails[i%2], c
			part.Amount = dollar / rail.Micros(1+i%2)
			if outcome, err := r.Capture(t.Context(), part); err == nil && outcome.Status == rail.Succeeded {
				captured.Store(int64(part.Amount))
			}
			outcome, err := r.Refund(t.Context(), rail.Refund{
				Reference: fmt.Sprintf("rfd_%d", i), Charge: c.Reference, Amount: dollar / 4,
			})
			if err == nil && outcome.Status == rail.Succeeded {
				refunds.Add(1)
			}
		})
	}
	group.Wait()
	totals, err := s.processor.Totals(t.Context())
	require.NoError(t, err)
	cents := money.Cents(captured.Load() / money.MicrosPerCent)
	require.Equal(t, card.Totals{
		Payments: 1, CapturedCents: cents, Refunds: refunds.Load(), RefundedCents: 25 * money.Cents(refunds.Load()),
	}, totals)
	require.Equal(t, cents, totals.RefundedCents, "more refunds were requested than fit")
}
