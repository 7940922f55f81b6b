package payment

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// ErrNoRefunds reports a charge whose rail cannot give money back.
var ErrNoRefunds = errors.New("payment: the rail of the charge makes no refunds")

// RefundRequest asks to give back a part of a charge, or what is left of it.
type RefundRequest struct {
	MerchantID     string
	ChargeID       string
	Amount         ledger.Micros // zero: what is left
	Reason         string
	IdempotencyKey string
}

// fingerprint identifies the request under its idempotency key.
func (r RefundRequest) fingerprint() string {
	return hashOf(r.ChargeID, r.Amount, r.Reason)
}

// Refunded is a refund with what it waits for.
type Refunded struct {
	ledger.Refund

	// Proposal is what the payee must sign. Nil: nothing.
	Proposal *rail.RefundProposal
	// Replayed reports whether an earlier request began the refund.
	Replayed bool
}

// Refund gives back a part of a charge by its rail, or by no rail if no card has paid the
// charge yet. It returns the decided refund, or a pending one that recovery finishes. Its errors
// are ErrNoRefunds and those of [ledger.Ledger.Refund].
func (s *Service) Refund(ctx context.Context, r RefundRequest) (Refunded, error) {
	done, err := s.begin()
	if err != nil {
		return Refunded{}, err
	}
	defer done()
	c, err := s.ChargeOf(ctx, r.MerchantID, r.ChargeID)
	if err != nil {
		return Refunded{}, err
	}
	paidBy, err := s.paidBy(ctx, c)
	if err != nil {
		return Refunded{}, err
	}
	if _, able := s.refunder(c.Rail); !able && (c.Status == ledger.ChargeSucceeded || paidBy != "") {
		return Refunded{}, ErrNoRefunds
	}
	refund, replayed, err := s.Ledger.Refund(ctx, ledger.RefundRequest{
		Charge: c, PaidBy: paidBy, MerchantID: r.MerchantID, Amount: r.Amount, Reason: r.Reason, IdempotencyKey: r.IdempotencyKey,
		Fingerprint: r.fingerprint(), Lease: leaseFor,
	})
	if err != nil {
		return Refunded{}, err
	}
	if !replayed && refund.Status == ledger.RefundPending {
		failpoint.Hit(failpoint.RefundBegun)
		// From here on the refund is finished even if the caller goes away.
		if refund, err = s.finishRefund(context.WithoutCancel(ctx), refund, railTimeout); err != nil {
			return Refunded{}, err
		}
	}
	result, err := s.withProposal(ctx, refund)
	if err == nil && !replayed && result.Proposal != nil { // it waits for the payee
		result.Refund, err = s.Ledger.ScheduleRefund(ctx, refund, s.Clock().Add(leaseFor))
	}
	result.Replayed = replayed
	return result, err
}

// paidBy returns the tab that captured a draw that was written off, and an empty string for
// other charges, or if no tab has captured it yet.
func (s *Service) paidBy(ctx context.Context, c ledger.Charge) (tabID string, err error) {
	if c.Status != ledger.ChargeWrittenOff {
		return "", nil
	}
	tabID, err = s.Ledger.PaidBy(ctx, c)
	if errors.Is(err, ledger.ErrNotFound) {
		return "", nil
	}
	return tabID, err
}

// refunder returns the rail of a name if it can give money back.
func (s *Service) refunder(name rail.Name) (rail.Refunder, bool) {
	one, ok := s.Rails.Rail(name)
	if !ok {
		return nil, false
	}
	r, ok := one.(rail.Refunder)
	return r, ok
}

// finishRefund asks the rail and settles the refund. If the outcome is unknown, the refund
// stays pending, and recovery asks again when its lease has expired.
func (s *Service) finishRefund(ctx context.Context, r ledger.Refund, within time.Duration) (ledger.Refund, error) {
	log := s.Logger.With(slog.String("refundId", r.ID), slog.String("transactionId", r.ChargeID), slog.String("rail", string(r.Rail)))
	one, able := s.refunder(r.Rail)
	if !able {
		log.ErrorContext(ctx, "refund not finished", slog.String("error", ErrNoRefunds.Error()))
		return r, nil
	}
	railCtx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	outcome, err := s.askRefund(railCtx, one, r)
	if err != nil {
		log.WarnContext(ctx, "outcome of refund unknown, will ask again", slog.String("error", err.Error()))
		return r, nil
	}
	return s.settleRefund(ctx, r, outcome)
}

// settleRefund settles a refund if the outcome decides it.
func (s *Service) settleRefund(ctx context.Context, r ledger.Refund, outcome rail.Outcome) (ledger.Refund, error) {
	if outcome.Status != rail.Succeeded && outcome.Status != rail.Refused {
		return r, nil
	}
	failpoint.Hit(failpoint.RefundDecided)
	settled, err := s.Ledger.SettleRefund(ctx, r, outcome)
	if errors.Is(err, ledger.ErrConflictingOutcome) {
		s.Telemetry.Conflicting(string(r.Rail))
		s.Logger.ErrorContext(ctx, "outcome of refund conflicts with its decision", slog.String("refundId", r.ID),
			slog.String("rail", string(r.Rail)), slog.String("error", err.Error()))
	}
	return settled, err
}

// askRefund asks the rail. The payment of a draw is that of its tab, or of the tab that
// captured it after it was written off.
func (s *Service) askRefund(ctx context.Context, one rail.Refunder, r ledger.Refund) (rail.Outcome, error) {
	c, err := s.Ledger.Charge(ctx, r.ChargeID)
	if err != nil {
		return rail.Outcome{}, err
	}
	paidBy, err := s.paidBy(ctx, c)
	if err != nil {
		return rail.Outcome{}, err
	}
	return one.Refund(ctx, rail.Refund{
		Reference: rail.Reference(r.ID, r.Rail), Charge: rail.Reference(cmp.Or(paidBy, c.TabID, c.ID), r.Rail), Amount: r.Amount, Description: r.Reason,
	})
}

// recoverRefunds looks up the pending refunds whose lease has expired, at intervals.
func (s *Service) recoverRefunds(ctx context.Context) {
	p := &pools{byRail: map[rail.Name]*pool{}, idle: make(chan struct{}, 1)}
	defer p.work.Wait()
	tick := time.NewTicker(recoverEvery)
	defer tick.Stop()
	for {
		lapsed, err := s.Ledger.LapsedRefunds(ctx, s.Clock(), p.full(), recoverBatch)
		if err != nil && ctx.Err() == nil {
			s.Logger.ErrorContext(ctx, "list lapsed refunds", slog.String("error", err.Error()))
		}
		for _, r := range lapsed {
			p.add(ctx, r.Rail, r.ID, func() { s.resumeRefund(ctx, r) })
		}
		more := p.idle
		if len(lapsed) < recoverBatch {
			more = nil // there are no others
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		case <-tick.C:
		}
	}
}

// resumeRefund leases one refund and asks its rail.
func (s *Service) resumeRefund(ctx context.Context, r ledger.Refund) {
	leased, taken, err := s.Ledger.LeaseRefund(ctx, r, s.Clock().Add(max(leaseFor, s.refundPutOff(r))))
	if err == nil && taken {
		_, err = s.finishRefund(ctx, leased, recoverTimeout)
	}
	if err != nil && ctx.Err() == nil {
		s.Logger.ErrorContext(ctx, "refund not finished", slog.String("refundId", r.ID), slog.String("error", err.Error()))
	}
}

// ErrNoSuchRefund reports a cursor that is no refund of the charge.
var ErrNoSuchRefund = errors.New("payment: the charge has no such refund")

// Refunds lists the refunds of a merchant's charge, oldest first, beginning after the refund
// with the id after, or with the first. Its errors are ledger.ErrNotFound and ErrNoSuchRefund.
func (s *Service) Refunds(ctx context.Context, merchantID, chargeID, after string, limit int) ([]Refunded, error) {
	c, err := s.ChargeOf(ctx, merchantID, chargeID)
	if err != nil {
		return nil, err
	}
	n := 0
	if after != "" {
		last, err := s.Ledger.RefundOf(ctx, c.ID, after)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil, ErrNoSuchRefund
		}
		if err != nil {
			return nil, err
		}
		n = last.N
	}
	all, err := s.Ledger.RefundsOf(ctx, c.ID, n, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Refunded, len(all))
	for i, r := range all {
		if list[i], err = s.withProposal(ctx, r); err != nil {
			return nil, err
		}
	}
	return list, nil
}
