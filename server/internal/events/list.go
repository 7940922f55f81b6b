package events

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// keep is how long events are listed and can be sent again.
	keep = ledger.Keep
	// lookEvery is how often the store is asked for somebody who waits: events of this
	// instance wake them, those of another are found so.
	lookEvery = time.Second
)

// Events lists a merchant's events of the last 30 days, the end of their stream first:
// before the one with the id before and after the one with the id after, where they
// are given. Where there is none it waits for one. It returns ledger.ErrNotFound
// where before or after is not one of the merchant's events.
func (s *Service) Events(
	ctx context.Context, merchantID, before, after string, limit int, wait time.Duration,
) ([]ledger.Event, error) {
	under, above, err := s.cursors(ctx, merchantID, before, after)
	if err != nil {
		return nil, err
	}
	if wait == 0 {
		return s.Store.Events(ctx, merchantID, s.oldest(), under, above, limit)
	}
	woken := s.awaken(merchantID)
	defer s.forget(merchantID, woken)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		list, err := s.Store.Events(ctx, merchantID, s.oldest(), under, above, limit)
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return list, nil
		case <-s.ended:
			return list, nil
		case <-woken:
		case <-look.C:
		}
	}
}

// awaken returns a channel that is signaled when something happens to a merchant.
func (s *Service) awaken(merchantID string) chan struct{} {
	waiter := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiters[merchantID] == nil {
		s.waiters[merchantID] = map[chan struct{}]bool{}
	}
	s.waiters[merchantID][waiter] = true
	return waiter
}

func (s *Service) forget(merchantID string, waiter chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.waiters[merchantID], waiter); len(s.waiters[merchantID]) == 0 {
		delete(s.waiters, merchantID)
	}
}

// cursors are the places of two events; without an id zero.
func (s *Service) cursors(ctx context.Context, merchantID, before, after string) (under, above int64, err error) {
	for _, c := range []struct {
		id    string
		place *int64
	}{{before, &under}, {after, &above}} {
		if c.id == "" {
			continue
		}
		e, err := s.event(ctx, merchantID, c.id)
		if err != nil {
			return 0, 0, err
		}
		*c.place = e.Place
	}
	return under, above, nil
}

// Body is an event as it is sent.
func (s *Service) Body(e ledger.Event) []byte { return Body(e, s.Live) }

// oldest is when the oldest events that are listed happened.
func (s *Service) oldest() time.Time { return s.Clock().Add(-keep).Truncate(time.Millisecond) }

// event is an event that would be listed.
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

// Redeliver sends an event again to those of the merchant's endpoints that want
// its type, and returns how many they are. It returns ledger.ErrNotFound.
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
	s.mu.Lock()
	for _, id := range to {
		if q := s.queues[id]; q != nil {
			q.added()
		}
	}
	s.mu.Unlock()
	s.Poke()
	return len(to), nil
}

// Deliveries are what came of sending an event to each of the merchant's endpoints.
// It returns ledger.ErrNotFound.
func (s *Service) Deliveries(ctx context.Context, merchantID, eventID string) ([]ledger.Delivery, error) {
	e, err := s.event(ctx, merchantID, eventID)
	if err != nil {
		return nil, err
	}
	return s.Store.EventDeliveries(ctx, e)
}
