package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Authorize holds an amount of a mandate for a time, to be captured or voided later. Its
// results and errors are those of [Service.Charge]; the charge is authorized instead of
// succeeded.
func (s *Service) Authorize(ctx context.Context, r ChargeRequest, hold time.Duration) (Charged, error) {
	r.hold, r.kind = hold, ledger.AuthorizeKey
	return s.Charge(ctx, r)
}

// CaptureRequest asks to charge an authorized charge for what was used.
type CaptureRequest struct {
	MerchantID     string
	ChargeID       string
	Amount         ledger.Micros
	Usage          *ledger.Usage
	IdempotencyKey string
	RequestID      string
}

// fingerprint identifies the request under its idempotency key.
func (r CaptureRequest) fingerprint() string {
	return hashOf(r.ChargeID, r.Amount, r.Usage)
}

// Capture charges an authorized charge, and gives back the rest of what it holds. It returns
// the decided charge, or a pending one that recovery finishes; or a voided one if nothing
// was to be captured or the authorization had expired. Its errors are those of
// [ledger.Ledger.Capture].
func (s *Service) Capture(ctx context.Context, r CaptureRequest) (Charged, error) {
	done, err := s.begin()
	if err != nil {
		return Charged{}, err
	}
	defer done()
	c, err := s.ChargeOf(ctx, r.MerchantID, r.ChargeID)
	if err != nil {
		return Charged{}, err
	}
	captured, err := s.Ledger.Capture(ctx, ledger.Capture{
		ChargeID: c.ID, MandateID: c.MandateID, MerchantID: r.MerchantID, Amount: r.Amount, Usage: r.Usage,
		IdempotencyKey: r.IdempotencyKey, Fingerprint: r.fingerprint(), RequestID: r.RequestID, Lease: leaseFor,
	})
	if err != nil {
		return Charged{}, err
	}
	failpoint.Hit(failpoint.CaptureBegun)
	if c = captured.Charge; captured.Replayed {
		reversed, err := s.Reversed(ctx, c)
		return Charged{Charge: c, Replayed: true, Reversed: reversed}, err
	}
	if c.Status == ledger.ChargeVoided {
		s.wakeUnwinding()
		return Charged{Charge: c}, nil
	}
	// From here on the capture is finished even if the caller goes away.
	c, err = s.finish(context.WithoutCancel(ctx), c, attempt{within: railTimeout})
	return Charged{Charge: c}, err
}

// Void gives back what an authorized charge holds. Its errors are those of [ledger.Ledger.Void].
func (s *Service) Void(ctx context.Context, merchantID, chargeID string) (ledger.Charge, error) {
	c, err := s.ChargeOf(ctx, merchantID, chargeID)
	if err != nil {
		return ledger.Charge{}, err
	}
	c, err = s.Ledger.Void(ctx, c)
	if err != nil {
		return ledger.Charge{}, err
	}
	failpoint.Hit(failpoint.VoidRecorded)
	s.wakeUnwinding()
	return c, nil
}

// expireHolds voids the authorizations whose time has passed.
func (s *Service) expireHolds(ctx context.Context) {
	expired, err := s.Ledger.ExpiredHolds(ctx, s.Clock(), recoverBatch)
	for _, c := range expired { // one that fails keeps no other waiting
		if _, one := s.Ledger.Void(ctx, c); one != nil && !errors.Is(one, ledger.ErrNotAuthorized) {
			err = errors.Join(err, one)
		}
		failpoint.Hit(failpoint.HoldExpired)
		s.wakeUnwinding()
	}
	if err != nil && ctx.Err() == nil {
		s.Logger.ErrorContext(ctx, "void expired authorizations", slog.String("error", err.Error()))
	}
}

// unwindHold voids what the rails of an ended charge may hold. A rail that has moved the money
// contradicts the ledger, which records that.
func (s *Service) unwindHold(ctx context.Context, chargeID string) error {
	c, err := s.Ledger.Charge(ctx, chargeID)
	if err != nil {
		return err
	}
	var all error
	for _, name := range c.Rails {
		one, ok := s.Rails.Rail(name)
		if !ok {
			all = errors.Join(all, fmt.Errorf("%s: %w", name, rail.ErrNotConfigured))
			continue
		}
		if holder, ok := one.(rail.Authorizer); ok {
			all = errors.Join(all, s.voidOn(ctx, c, name, holder))
		}
	}
	return all
}

// voidOn voids what one rail may hold of a charge.
func (s *Service) voidOn(ctx context.Context, c ledger.Charge, name rail.Name, holder rail.Authorizer) error {
	outcome, err := holder.Void(ctx, rail.Reference(c.ID, name))
	switch {
	case err != nil:
		return fmt.Errorf("void charge %s: %w", c.ID, err)
	case outcome.Status == rail.Refused:
		failpoint.Hit(failpoint.HoldReleased)
		return nil
	case outcome.Status == rail.Succeeded:
		if _, err = s.settle(ctx, c, ledger.Settlement{Rail: name, Step: c.Step, Outcome: outcome}); errors.Is(err, ledger.ErrConflictingOutcome) {
			return nil // the ledger has recorded it
		}
		return err
	}
	return fmt.Errorf("void charge %s: the rail reports %s", c.ID, outcome.Status)
}
