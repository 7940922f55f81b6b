package keys

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
)

const (
	// RefreshEvery is how often a running service reads its keys: so soon it
	// signs with a new one, and refuses what a revoked one signed.
	RefreshEvery = 2 * time.Second
	// refreshGap is the least time between two readings. Tokens with made-up keys
	// wait for it instead of asking the store each.
	refreshGap = 100 * time.Millisecond
	// refreshTimeout bounds one reading, whoever waits for it.
	refreshTimeout = 5 * time.Second
)

// Start reads the keys again and again in the background, until Close.
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

// Key implements mandate.KeySource. A key that is not known is looked for in the
// store first: another process may have made it a moment ago.
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

// refresh returns after a reading of the store that began after the call. One at
// a time reads; those who wait meanwhile share the next reading.
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
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// Others may rely on this reading: it does not end with the caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	k.began = time.Now()
	k.last = k.load(ctx)
	return k.last
}
