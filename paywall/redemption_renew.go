package paywall

import (
	"context"
	"log/slog"
	"time"
)

// renewal renews the claims of one request until it is stopped. A nil renewal does nothing.
type renewal struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// renew starts renewing the claims if the store is a [Renewer].
func (h *hold) renew(ctx context.Context) *renewal {
	store, ok := h.redemptions.(Renewer)
	if !ok || len(h.held) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &renewal{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		tick := time.NewTicker(store.RenewEvery())
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.renewOnce(ctx, store)
			}
		}
	}()
	return r
}

func (h *hold) renewOnce(ctx context.Context, store Renewer) {
	bounded, cancel := context.WithTimeout(ctx, bookkeeping)
	defer cancel()
	for _, c := range h.held {
		if err := store.Renew(bounded, c.key); err != nil && ctx.Err() == nil {
			h.logger.ErrorContext(ctx, "paywall: renew redemption", slog.String("request_id", h.id), slog.Any("error", err))
		}
	}
}

// stop stops the renewal and waits until it has ended.
func (r *renewal) stop() {
	if r == nil {
		return
	}
	r.cancel()
	<-r.done
}
