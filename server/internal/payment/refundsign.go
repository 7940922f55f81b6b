package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// ErrNothingToSign reports a refund that waits for no signature.
var ErrNothingToSign = errors.New("payment: the refund waits for no signature")

// RefundSignatureError reports a signed refund that its rail would not move now.
type RefundSignatureError struct {
	// Reason is the rail's.
	Reason rail.Reason
	// Refund is the refund, which still waits.
	Refund ledger.Refund
}

// Error returns the reason.
func (e *RefundSignatureError) Error() string {
	return fmt.Sprintf("payment: refund %s refused: %s", e.Refund.ID, e.Reason)
}

// signedRefunder returns the rail of a name if its payees sign refunds.
func (s *Service) signedRefunder(name rail.Name) (rail.SignedRefunder, bool) {
	one, _ := s.refunder(name)
	r, ok := one.(rail.SignedRefunder)
	return r, ok
}

// withProposal adds what a pending refund waits for.
func (s *Service) withProposal(ctx context.Context, r ledger.Refund) (Refunded, error) {
	one, ok := s.signedRefunder(r.Rail)
	if !ok || r.Status != ledger.RefundPending {
		return Refunded{Refund: r}, nil
	}
	p, waits, err := one.RefundProposal(ctx, rail.Reference(r.ID, r.Rail))
	if err != nil {
		return Refunded{}, fmt.Errorf("read proposal of refund %s: %w", r.ID, err)
	}
	if !waits {
		return Refunded{Refund: r}, nil
	}
	return Refunded{Refund: r, Proposal: &p}, nil
}

// SignRefund hands the payee's signature of a refund to its rail, and returns the refund. A
// refund that is decided, or signed already, does not change.
//
// Its errors are ErrNothingToSign, [rail.ErrSignature], a [*RefundSignatureError], and those of
// the ledger and the rail, after which the outcome is unknown.
func (s *Service) SignRefund(ctx context.Context, merchantID, chargeID, refundID, signature string) (Refunded, error) {
	done, err := s.begin()
	if err != nil {
		return Refunded{}, err
	}
	defer done()
	c, err := s.ChargeOf(ctx, merchantID, chargeID)
	if err != nil {
		return Refunded{}, err
	}
	r, err := s.Ledger.RefundOf(ctx, c.ID, refundID)
	if err != nil {
		return Refunded{}, err
	}
	one, able := s.signedRefunder(r.Rail)
	if !able {
		return Refunded{}, ErrNothingToSign
	}
	if r.Status != ledger.RefundPending {
		return Refunded{Refund: r}, nil
	}
	// If this process dies after the rail has accepted the signature, recovery asks soon.
	if r, err = s.Ledger.ScheduleRefund(ctx, r, s.Clock().Add(leaseFor)); err != nil {
		return Refunded{}, err
	}
	// From here on the refund is finished even if the caller goes away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), railTimeout)
	defer cancel()
	outcome, err := one.SignRefund(ctx, rail.Reference(r.ID, r.Rail), signature)
	var refused *rail.RefusedError
	switch {
	case errors.As(err, &refused):
		return Refunded{}, &RefundSignatureError{Reason: refused.Reason, Refund: r}
	case errors.Is(err, rail.ErrNoProposal):
		return Refunded{}, ErrNothingToSign
	case err != nil:
		return Refunded{}, err
	}
	if r, err = s.settleRefund(ctx, r, outcome); err != nil {
		return Refunded{}, err
	}
	return s.withProposal(ctx, r)
}

// maxSignPutOff is the longest pause between two requests to a rail for a refund that its
// payee signs, which may take a day.
const maxSignPutOff = 30 * time.Minute

// refundPutOff returns the pause before the rail is asked for a refund again.
func (s *Service) refundPutOff(r ledger.Refund) time.Duration {
	if _, signed := s.signedRefunder(r.Rail); signed {
		return min(time.Second<<min(r.Asked, 16), maxSignPutOff)
	}
	return putOff(r.Asked)
}
