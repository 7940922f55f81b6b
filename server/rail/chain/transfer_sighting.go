package chain

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// Anyone can copy a used authorization from the chain. The rail therefore counts a
// transfer that another sender broadcast as settled only if it recorded the
// authorization while it was unused: as an [authorizationRecord] when it broadcast it
// itself, or as a sighting when it verified it.

const (
	// sightingLifetime is how long a sighting is kept. The rail looks for transfers no
	// further back (Authorizations.Lookback).
	sightingLifetime = 2 * time.Hour
	// sightingDelay is how long verified authorizations are collected before one
	// transaction of the store writes them.
	sightingDelay = 20 * time.Millisecond
	// maxUnwritten bounds the sightings that wait for that. Beyond it each is written at
	// once.
	maxUnwritten = 4096
	// sweepEvery is how often a page of sightings is searched for expired ones.
	sweepEvery = 10 * time.Second
)

// sighting is an authorization that was verified unused.
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
	swept     string        // the key up to which the last sweep read
	sweptAt   time.Time
}

// recordSighting records that an authorization is unused at a block. A started rail
// writes it a moment later, together with others.
func (r *Rail) recordSighting(ctx context.Context, a authorization, block uint64) error {
	seen := sighting{Resource: a.resource, Since: block, At: r.config.Clock().UTC()}
	if r.stop != nil && r.sightings.collect(a.key, seen) {
		return nil
	}
	return r.storeSightings(ctx, map[string]sighting{a.key: seen})
}

// collect reports whether the background work will write the sighting.
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

// storeSightings writes sightings. An earlier one of the same authorization stands.
func (r *Rail) storeSightings(ctx context.Context, fresh map[string]sighting) error {
	return r.config.Store.Update(ctx, func(tx Tx) error {
		for key, seen := range fresh {
			_, found, err := records.Get[sighting](tx, kindSighting, key)
			if err != nil {
				return err
			}
			if found {
				continue
			}
			if err := records.Put(tx, kindSighting, key, seen); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeSightings writes the collected sightings until ctx ends, and then once more.
func (r *Rail) writeSightings(ctx context.Context) {
	for ended := false; !ended; {
		select {
		case <-r.sightings.wake:
			ended = eth.Pause(ctx, nil, sightingDelay) != nil
		case <-ctx.Done():
			ended = true
		}
		fresh := r.sightings.take()
		if len(fresh) == 0 {
			continue
		}
		if err := r.storeSightings(context.WithoutCancel(ctx), fresh); err != nil {
			r.config.Logger.WarnContext(ctx, "verified authorizations are not recorded", slog.Int("count", len(fresh)), slog.Any("error", err))
		}
		r.sightings.forget(fresh)
	}
}

// take returns the sightings to write. They can still be found until forget.
func (s *sightings) take() map[string]sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.unwritten)
}

func (s *sightings) forget(written map[string]sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range written {
		delete(s.unwritten, key)
	}
}

func (s *sightings) find(key string) (seen sighting, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, found = s.unwritten[key]
	return seen, found
}

// findSighted is [Rail.findTransfer] for an authorization that was used before this
// rail broadcast it. It refuses one that the rail did not verify before.
func (r *Rail) findSighted(ctx context.Context, a authorization) (common.Hash, error) {
	seen, found := r.sightings.find(a.key)
	if !found {
		var err error
		if seen, found, err = records.Load[sighting](ctx, r.config.Store, kindSighting, a.key); err != nil {
			return common.Hash{}, err
		}
	}
	if !found || seen.Resource != a.resource {
		return common.Hash{}, refuseAuthorization(a.reason(x402.ReasonNonceUsed), "the authorization was used before it was presented for this payment")
	}
	return r.findTransfer(ctx, a.signedTransfer, seen.Since)
}

// deleteSightings deletes the expired sightings of the next page.
func (r *Rail) deleteSightings(ctx context.Context) error {
	now := r.config.Clock()
	after, due := r.sightings.beginSweep(now)
	if !due {
		return nil
	}
	kept, err := records.List(ctx, r.config.Store, kindSighting, after, page)
	if err != nil {
		return err
	}
	r.sightings.endSweep(kept)
	var expired []string
	for _, one := range kept {
		seen, err := records.Decode[sighting](kindSighting, one)
		if err != nil || now.Sub(seen.At) > sightingLifetime {
			expired = append(expired, one.Key)
		}
	}
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

// beginSweep reports whether a sweep is due, and returns the key after which it reads.
func (s *sightings) beginSweep(now time.Time) (after string, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.sweptAt) < sweepEvery {
		return "", false
	}
	s.sweptAt = now
	return s.swept, true
}

// endSweep moves the sweep past a page, and back to the beginning after the last one.
func (s *sightings) endSweep(read []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept = ""
	if len(read) == page {
		s.swept = read[len(read)-1].Key
	}
}
