package payment

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// settle records the outcome of a charge, in a span of its own. A rail that contradicts an
// earlier outcome may have moved money that the ledger does not have: settle then logs an
// error and counts a conflict.
func (s *Service) settle(ctx context.Context, c ledger.Charge, d ledger.Settlement) (ledger.Charge, error) {
	within, span := s.Telemetry.Span(ctx, "ledger.settle", slog.String("transactionId", c.ID))
	settled, err := s.Ledger.Settle(within, c, d)
	span.Set(slog.String("rail", string(settled.Rail)), slog.String("status", string(settled.Status)))
	span.End(spanError(err))
	if errors.Is(err, ledger.ErrConflictingOutcome) {
		s.Telemetry.Conflicting(string(d.Rail))
		s.Logger.ErrorContext(ctx, "outcome of charge conflicts with its decision", slog.String("transactionId", c.ID),
			slog.String("status", string(settled.Status)), slog.String("rail", string(d.Rail)), slog.String("reported", string(d.Outcome.Status)),
			slog.String("txHash", d.Outcome.TxHash), slog.String("processorId", d.Outcome.ProcessorID))
	}
	return settled, err
}

// ReverseTest reverses a succeeded charge of the sandbox as its rail would. It returns
// [ledger.ErrNotFound] if there is no such charge, or if it did not succeed.
func (s *Service) ReverseTest(ctx context.Context, transactionID string) error {
	c, err := s.Ledger.Charge(ctx, transactionID)
	if err != nil {
		return err
	}
	if c.Status != ledger.ChargeSucceeded {
		return ledger.ErrNotFound
	}
	return s.UndoneOnRail(ctx, rail.Undone{Reference: rail.Reference(c.ID, c.Rail), Rail: c.Rail, TxHash: c.TxHash})
}

// UndoneOnRail records that a rail has undone a payment that it reported as succeeded.
// The ledger stores an outcome conflict and emits one payment.reversed event, and the
// charge stays as it is; a charge that is still pending fails. A payment without a
// reference is not in the ledger, and is ignored.
func (s *Service) UndoneOnRail(ctx context.Context, u rail.Undone) error {
	if u.Reference == "" {
		return nil
	}
	c, err := s.Ledger.Charge(ctx, strings.TrimSuffix(u.Reference, rail.Reference("", u.Rail)))
	if errors.Is(err, ledger.ErrNotFound) {
		s.Logger.ErrorContext(ctx, "the charge of an undone payment is not in the ledger",
			slog.String("reference", u.Reference), slog.String("rail", string(u.Rail)), slog.String("txHash", u.TxHash))
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.settle(ctx, c, ledger.Settlement{
		Rail: u.Rail, Step: c.Step, Reversed: true, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Reverted, TxHash: u.TxHash},
	})
	if errors.Is(err, ledger.ErrConflictingOutcome) {
		return nil // the ledger has recorded it
	}
	return err
}

// outcomeLabel returns the label of a request to charge for metrics: the rule that refused
// it, or the outcome.
func outcomeLabel(c Charged, err error) string {
	var refused *ledger.Refusal
	var presented *PresentationError
	switch {
	case errors.As(err, &refused):
		return string(refused.Code)
	case errors.As(err, &presented), errors.Is(err, mandate.ErrMalformed), errors.Is(err, errBound), errors.Is(err, ledger.ErrIdempotencyMismatch):
		return "invalid"
	case errors.Is(err, ledger.ErrIdempotencyInProgress):
		return "in_progress"
	case errors.Is(err, ledger.ErrBusy), errors.Is(err, ledger.ErrUnavailable), errors.Is(err, ledger.ErrClosed):
		return "unavailable"
	case err != nil:
		return "error"
	case c.Replayed:
		return "replayed"
	}
	return "accepted"
}

// spanError returns the error text of a span. It is empty for a refusal, which is not a
// failure of the service.
func spanError(err error) string {
	var refused *ledger.Refusal
	if err == nil || errors.As(err, &refused) {
		return ""
	}
	return err.Error()
}
