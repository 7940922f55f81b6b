package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// errMayBeOnItsWay reports that a rail has not seen a charge, but still may.
var errMayBeOnItsWay = errors.New("the rail has not seen the charge, which may still be on its way")

// mayAsk returns the function with which the ledger decides whether a charge may ask the
// next rail. Fallbacks that this service does not have are skipped, unless the charge
// has asked them. Recovery never asks a rail for the first time after the end of the
// mandate.
func (s *Service) mayAsk(c ledger.Charge, how attempt) rail.May {
	return func(ctx context.Context, n int, name rail.Name) (bool, error) {
		one, ok := s.Rails.Rail(name)
		switch {
		case n > c.Attempt && !ok:
			return false, nil
		case n > c.Attempt:
			return s.Ledger.NextRail(ctx, c, n)
		case n == c.Attempt && how.resumed && ok:
			return s.mayResume(ctx, c, one)
		}
		return true, nil
	}
}

// mayResume reports whether recovery may ask the latest rail of a charge, which an
// earlier process was allowed to ask. It may while the mandate is active and not paused, and later
// if the rail knows the charge: then the money may have moved.
func (s *Service) mayResume(ctx context.Context, c ledger.Charge, one rail.Rail) (bool, error) {
	m, err := s.Ledger.Mandate(ctx, c.MandateID)
	if err != nil {
		return false, fmt.Errorf("read mandate: %w", err)
	}
	now := s.Clock()
	if payable(m, now) {
		return true, nil
	}
	end := m.Terms.ExpiresAt
	if m.Status == ledger.MandateRevoked && m.RevokedAt.Before(end) {
		end = m.RevokedAt
	}
	if !m.PausedAt.IsZero() && m.PausedAt.Before(end) {
		end = m.PausedAt
	}
	known, err := one.Lookup(ctx, rail.Reference(c.ID, one.Name()))
	switch {
	case err != nil:
		return false, fmt.Errorf("look up %s: %w", one.Name(), err)
	case known.Status != rail.Unseen:
		return true, nil
	case now.Before(end.Add(unseenAfter)):
		return false, fmt.Errorf("%s: %w", one.Name(), errMayBeOnItsWay)
	}
	return false, nil
}

// payable reports whether a mandate is active, not paused and not expired.
func payable(m ledger.Mandate, now time.Time) bool {
	return m.Status == ledger.MandateActive && m.PausedAt.IsZero() && now.Before(m.Terms.ExpiresAt)
}
