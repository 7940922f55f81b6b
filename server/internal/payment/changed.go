package payment

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// ChangedOnRail takes the report of a rail that a charge or refund may have changed. A
// pending one is asked for again at once. A refund that succeeded and has failed since, as
// when the payer's bank returns the money, stays as it is: the contradiction is logged and
// counted, and the reconciliation shows it. A charge or refund that the ledger does not have,
// such as one of another service with the same account, is ignored.
func (s *Service) ChangedOnRail(ctx context.Context, c rail.Changed) error {
	of, ours := strings.CutSuffix(c.Reference, rail.Reference("", c.Rail))
	var err error
	switch {
	case !ours:
	case c.Refund && strings.HasPrefix(of, id.Refund):
		err = s.refundChanged(ctx, of)
	case !c.Refund && strings.HasPrefix(of, id.Charge):
		err = s.chargeChanged(ctx, of)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return err
}

func (s *Service) chargeChanged(ctx context.Context, chargeID string) error {
	c, err := s.Ledger.Charge(ctx, chargeID)
	if err == nil && c.Status == ledger.ChargePending {
		_, err = s.Ledger.Hurry(ctx, c)
	}
	return err
}

func (s *Service) refundChanged(ctx context.Context, refundID string) error {
	r, err := s.Ledger.FindRefund(ctx, refundID)
	if err != nil {
		return err
	}
	switch one, able := s.refunder(r.Rail); {
	case r.Status == ledger.RefundPending && s.Clock().Before(r.LeaseUntil) && r.Asked > 0:
		_, err = s.Ledger.ScheduleRefund(ctx, r, s.Clock().Add(-time.Millisecond))
	case r.Status == ledger.RefundSucceeded && able:
		outcome, e := one.LookupRefund(ctx, rail.Reference(r.ID, r.Rail))
		if e != nil || outcome.Status != rail.Refused {
			return e
		}
		s.Logger.ErrorContext(ctx, "the money of a refund came back; pay the payer another way", slog.String("refundId", r.ID),
			slog.String("transactionId", r.ChargeID), slog.Int64("micros", int64(r.Amount)), slog.String("reason", string(outcome.Reason)))
		if _, err = s.settleRefund(ctx, r, outcome); errors.Is(err, ledger.ErrConflictingOutcome) {
			return nil // it is logged and counted
		}
	}
	return err
}
