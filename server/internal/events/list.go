package events

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// pollEvery is how often the store is asked while somebody waits for events: those of this
// instance wake the waiter, those of another one are found so.
const pollEvery = time.Second

// Events lists a merchant's events of the last 30 days, the end of their stream first:
// before the one with the id before and after the one with the id after, if they are
// given. If there is none, it waits for one. It returns ledger.ErrNotFound if before or
// after is not one of the merchant's events.
func (s *Service) Events(
	ctx context.Context, merchantID, before, after string, limit int, wait time.Duration,
) ([]ledger.Event, error) {
	under, err := s.offset(ctx, merchantID, before)
	if err != nil {
		return nil, err
	}
	above, err := s.offset(ctx, merchantID, after)
	if err != nil {
		return nil, err
	}
	if wait == 0 {
		return s.Store.Events(ctx, merchantID, s.oldest(), under, above, limit)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		grown := s.grown(merchantID)
		list, err := s.Store.Events(ctx, merchantID, s.oldest(), under, above, limit)
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return list, nil
		case <-s.drained.Done():
			return list, nil
		case <-grown:
		case <-poll.C:
		}
	}
}

// offset returns the offset of an event; without an id, zero.
func (s *Service) offset(ctx context.Context, merchantID, eventID string) (int64, error) {
	if eventID == "" {
		return 0, nil
	}
	e, err := s.event(ctx, merchantID, eventID)
	return e.StreamOffset, err
}

// Body returns an event as it is sent.
func (s *Service) Body(e ledger.Event) []byte { return s.sender.Body(e) }

// oldest returns since when events are listed and can be sent again.
func (s *Service) oldest() time.Time {
	return s.Clock().Add(-ledger.Keep).Truncate(time.Millisecond)
}

// Event returns an event that would be listed. It returns ledger.ErrNotFound.
func (s *Service) Event(ctx context.Context, merchantID, eventID string) (ledger.Event, error) {
	return s.event(ctx, merchantID, eventID)
}

func (s *Service) event(ctx context.Context, merchantID, eventID string) (ledger.Event, error) {
	e, err := s.Store.Event(ctx, eventID)
	if err == nil && (e.MerchantID != merchantID || e.CreatedAt.Before(s.oldest())) {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return ledger.Event{}, fmt.Errorf("read event: %w", err)
	}
	return e, nil
}

// Redeliver sends an event again to those of the merchant's endpoints that want its
// type, and returns how many there are. It returns ledger.ErrNotFound.
func (s *Service) Redeliver(ctx context.Context, merchantID, eventID string) (int, error) {
	e, err := s.event(ctx, merchantID, eventID)
	if err != nil {
		return 0, err
	}
	all, err := s.Store.WebhookEndpoints(ctx, merchantID)
	if err != nil {
		return 0, fmt.Errorf("list webhook endpoints: %w", err)
	}
	var to []string
	for _, w := range all {
		if w.Disabled == "" && w.Wants(e.Type) {
			to = append(to, w.ID)
		}
	}
	if len(to) == 0 {
		return 0, nil
	}
	if err := s.Store.Redeliver(ctx, e.ID, to, s.Clock()); err != nil {
		return 0, err
	}
	s.deliverer.Poke()
	return len(to), nil
}

// Deliveries lists the deliveries of an event to the merchant's endpoints. It returns
// ledger.ErrNotFound.
func (s *Service) Deliveries(ctx context.Context, merchantID, eventID string) ([]store.Delivery, error) {
	e, err := s.event(ctx, merchantID, eventID)
	if err != nil {
		return nil, err
	}
	return s.Store.EventDeliveries(ctx, e)
}
