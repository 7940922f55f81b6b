package chain

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/x402"
)

// A used authorization can be copied from the chain by anybody. The rail therefore
// counts a transfer that somebody else broadcast as settled only if it recorded the
// authorization while it was unused: as an [authorizationRecord] when it broadcast
// it itself, or as a sighting when it verified it.

const (
	// sightingLifetime is how long a sighting is kept; transfers are looked for no
	// further back (Authorizations.Lookback).
	sightingLifetime = 2 * time.Hour
	// sightingDelay is how long verified authorizations are collected before one
	// transaction of the store writes them.
	sightingDelay = 20 * time.Millisecond
	// maxUnwritten is how many may wait for that; beyond it each is written at once.
	maxUnwritten = 4096
	// sweptAtOnce is how many sightings one sweep looks at.
	sweptAtOnce = 512
	// sweepEvery is how often expired sightings are deleted.
	sweepEvery = 10 * time.Second
)

// sighting is an authorization that was verified and unused.
type sighting struct {
	Resource string    `json:"resource"` // hash of what it was to pay for
	Since    uint64    `json:"since"`    // the newest block then
	At       time.Time `json:"at"`
}

// sightings are those that are not in the store yet.
type sightings struct {
	mu        sync.Mutex
	unwritten map[string]sighting
	wake      chan struct{} // holds one if there are any
	swept     string        // the key up to which the last sweep looked
	sweptAt   time.Time
}

// sight records an authorization that is unused at a block. A started rail writes
// it a moment later, together with others.
func (r *Rail) sight(ctx context.Context, o order, block uint64) error {
	seen := sighting{Resource: o.resource, Since: block, At: r.config.Clock().UTC()}
	if r.stop != nil && r.seen.collect(o.key, seen) {
		return nil
	}
	return r.keepSightings(ctx, map[string]sighting{o.key: seen})
}

// collect reports whether the sighting will be written by the background work.
func (s *sightings) collect(key string, seen sighting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.unwritten[key]; known {
		return true
	}
	if len(s.unwritten) >= maxUnwritten {
		return false
	}
	if s.unwritten == nil {
		s.unwritten = map[string]sighting{}
	}
	s.unwritten[key] = seen
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// keepSightings writes sightings; an earlier one of the same authorization stands.
func (r *Rail) keepSightings(ctx context.Context, fresh map[string]sighting) error {
	return r.config.Store.Update(ctx, func(tx Tx) error {
		for key, seen := range fresh {
			_, found, err := read[sighting](tx, kindSighting, key)
			if err != nil {
				return err
			}
			if found {
				continue
			}
			if err := write(tx, kindSighting, key, seen); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeSightings writes what was collected, until ctx ends, and then once more.
func (r *Rail) writeSightings(ctx context.Context) {
	for ended := false; !ended; {
		select {
		case <-r.seen.wake:
			ended = pause(ctx, nil, sightingDelay) != nil
		case <-ctx.Done():
			ended = true
		}
		fresh := r.seen.take()
		if len(fresh) == 0 {
			continue
		}
		if err := r.keepSightings(context.WithoutCancel(ctx), fresh); err != nil {
			r.config.Logger.WarnContext(ctx, "verified authorizations are not recorded", slog.Int("count", len(fresh)), slog.Any("error", err))
		}
		r.seen.forget(fresh)
	}
}

// take returns what is to be written. It can still be found until forget.
func (s *sightings) take() map[string]sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := make(map[string]sighting, len(s.unwritten))
	for key, seen := range s.unwritten {
		fresh[key] = seen
	}
	return fresh
}

func (s *sightings) forget(written map[string]sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range written {
		delete(s.unwritten, key)
	}
}

// findSighted is [Rail.findOrder] for an authorization that was used before this
// rail broadcast it. It refuses one that the rail did not verify before.
func (r *Rail) findSighted(ctx context.Context, o order) (common.Hash, error) {
	r.seen.mu.Lock()
	seen, found := r.seen.unwritten[o.key]
	r.seen.mu.Unlock()
	if !found {
		var err error
		if seen, found, err = view[sighting](ctx, r.config.Store, kindSighting, o.key); err != nil {
			return common.Hash{}, err
		}
	}
	if !found || seen.Resource != o.resource {
		return common.Hash{}, refuseAuthorization(x402.ReasonNonceUsed, "the authorization was used before it was presented for this payment")
	}
	return r.findOrder(ctx, o.TransferAuthorization, seen.Since)
}

// sweepSightings deletes some of the expired sightings, a few at a time.
func (r *Rail) sweepSightings(ctx context.Context) error {
	now := r.config.Clock()
	s := &r.seen
	s.mu.Lock()
	due, after := now.Sub(s.sweptAt) >= sweepEvery, s.swept
	if due {
		s.sweptAt = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	var kept []Record
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		kept, err = tx.List(kindSighting, after, sweptAtOnce)
		return err
	})
	if err != nil {
		return err
	}
	var expired []string
	for _, one := range kept {
		var seen sighting
		if err := json.Unmarshal(one.Value, &seen); err != nil || now.Sub(seen.At) > sightingLifetime {
			expired = append(expired, one.Key)
		}
	}
	s.mu.Lock()
	s.swept = "" // from the beginning again
	if len(kept) == sweptAtOnce {
		s.swept = kept[len(kept)-1].Key
	}
	s.mu.Unlock()
	if len(expired) == 0 {
		return nil
	}
	return r.config.Store.Update(ctx, func(tx Tx) error {
		for _, key := range expired {
			if err := tx.Delete(kindSighting, key); err != nil {
				return err
			}
		}
		return nil
	})
}
