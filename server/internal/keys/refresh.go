package keys

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/mandate"
)

const (
	// RefreshEvery is the interval at which a running service reads its keys. It bounds
	// the delay of rotations and revocations by other processes.
	RefreshEvery = 2 * time.Second
	// refreshGap is the shortest time between two readings, so that tokens with made-up
	// keys do not each cause a query.
	refreshGap = 100 * time.Millisecond
	// refreshTimeout limits one reading.
	refreshTimeout = 5 * time.Second
)

// Start reads the keys periodically in the background, until Close.
func (k *Keys) Start(ctx context.Context) {
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	k.loop.Go(func() {
		tick := time.NewTicker(RefreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := k.refresh(ctx); err != nil && ctx.Err() == nil {
					k.Logger.ErrorContext(ctx, "signing keys not read, the known ones stay in use", slog.String("error", err.Error()))
				}
			}
		}
	})
}

// Close ends the background work. It may be called twice, and without Start.
func (k *Keys) Close() {
	if k.stop != nil {
		k.stop()
	}
	k.loop.Wait()
}

// Key implements mandate.KeySource. It reads the store before it reports a key as unknown,
// since another process may just have added it.
func (k *Keys) Key(ctx context.Context, kid string) (mandate.PublicKey, error) {
	key, err := k.Set.Key(ctx, kid)
	if !errors.Is(err, mandate.ErrKeyUnknown) {
		return key, err
	}
	if err := k.refresh(ctx); err != nil {
		return mandate.PublicKey{}, err
	}
	return k.Set.Key(ctx, kid)
}

// refresh returns after a reading of the store that began after the call. Concurrent
// callers share one reading.
func (k *Keys) refresh(ctx context.Context) error {
	asked := time.Now()
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-k.turn }()
	if k.began.After(asked) {
		return k.last
	}
	if wait := refreshGap - time.Since(k.began); wait > 0 {
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
	}
	// Other callers may wait for this reading: it outlives the caller's context.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	k.began = time.Now()
	k.last = k.load(ctx)
	return k.last
}
