// Package upkeep looks after the ledger while the service runs: it checks what
// changed, and deletes what has been kept for long enough.
package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/telemetry"
)

const (
	// Defaults of Config.
	checkEvery  = time.Minute
	expireEvery = time.Hour
	// look is how often the clock is looked at, in real time: it may be moved.
	look = time.Second
)

// ErrUnsound tells that the ledger breaks one of its rules.
var ErrUnsound = errors.New("upkeep: the ledger is not sound")

// Config configures [New].
type Config struct {
	Ledger *ledger.Ledger
	Clock  ledger.Clock
	Logger *slog.Logger
	// Telemetry is told of the checks.
	Telemetry *telemetry.Telemetry
	// CheckEvery and ExpireEvery are the pauses, by Clock. Default: a minute, an hour.
	CheckEvery, ExpireEvery time.Duration
}

// Upkeep runs in the background from Start to Close.
type Upkeep struct {
	Config

	checker *ledger.Checker
	unsound atomic.Bool
	stop    context.CancelFunc
	loop    sync.WaitGroup
}

// New returns upkeep of a ledger.
func New(cfg Config) *Upkeep {
	if cfg.CheckEvery == 0 {
		cfg.CheckEvery = checkEvery
	}
	if cfg.ExpireEvery == 0 {
		cfg.ExpireEvery = expireEvery
	}
	return &Upkeep{Config: cfg, checker: ledger.NewChecker(cfg.Ledger)}
}

// Sound returns [ErrUnsound] from the first broken rule on, until a restart: a
// fault is for people to look at.
func (u *Upkeep) Sound() error {
	if u.unsound.Load() {
		return ErrUnsound
	}
	return nil
}

// Start begins the work.
func (u *Upkeep) Start(ctx context.Context) {
	ctx, u.stop = context.WithCancel(context.WithoutCancel(ctx))
	u.every(ctx, u.CheckEvery, u.check)
	u.every(ctx, u.ExpireEvery, u.expire)
}

// Close ends it. It may be called twice, and without Start.
func (u *Upkeep) Close() {
	if u.stop != nil {
		u.stop()
	}
	u.loop.Wait()
}

func (u *Upkeep) every(ctx context.Context, pause time.Duration, work func(context.Context) error) {
	u.loop.Go(func() {
		tick := time.NewTicker(min(pause, look))
		defer tick.Stop()
		for next := u.Clock.Now().Add(pause); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if u.Clock.Now().Before(next) {
				continue
			}
			if err := work(ctx); err != nil && ctx.Err() == nil {
				u.Logger.ErrorContext(ctx, "upkeep", slog.String("error", err.Error()))
			}
			next = u.Clock.Now().Add(pause)
		}
	})
}

func (u *Upkeep) check(ctx context.Context) error {
	began := time.Now()
	r, err := u.checker.Changed(ctx)
	if err != nil {
		return err
	}
	u.Telemetry.Checked(u.Clock.Now(), time.Since(began), r.Pending, len(r.Faults))
	for _, fault := range r.Faults {
		u.unsound.Store(true)
		u.Logger.ErrorContext(ctx, "the ledger is not sound", slog.String("fault", fault))
	}
	return nil
}

func (u *Upkeep) expire(ctx context.Context) error {
	n, err := u.Ledger.Expire(ctx)
	if n > 0 {
		u.Logger.InfoContext(ctx, "deleted what was kept for long enough", slog.Int("rows", n))
	}
	return err
}
