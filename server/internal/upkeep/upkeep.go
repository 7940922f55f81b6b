// Package upkeep maintains the ledger while the service runs: it checks what changed,
// deletes what has been kept for long enough, and watches the backlog and the clock.
//
// The check and the deletion are done by one instance for all, under leases in the
// store. What the check finds is logged and counted; it is for people to look at, and
// does not make an instance unfit to serve.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// Defaults of Config.
	checkEvery  = time.Minute
	expireEvery = time.Hour
	// look is the interval, in real time, at which Clock is read: tests may move it.
	look = time.Second
	// workLease is how long an instance may take for a batch of work before another
	// one takes over.
	workLease = 2 * time.Minute
	// expiring is the name of the deletion's lease.
	expiring = "expire"
)

// Config configures [New]. Ledger, Store, Clock and Logger are required.
type Config struct {
	Ledger *ledger.Ledger
	Store  ledger.Store
	Clock  func() time.Time
	Logger *slog.Logger
	// Telemetry records the results. Default: none.
	Telemetry *recorder.Recorder
	// Movable reports that Clock is a sandbox's, which tests move: retention then goes by
	// it, not by the database's, and the system's clock is compared with the database's.
	Movable bool
	// Reconcile compares the ledger with the rails, logs each difference in what has
	// succeeded since from, and returns their number. Required with ReconcileEvery.
	Reconcile func(ctx context.Context, from time.Time) (differences int64, err error)
	// ReconcileEvery is the pause between two calls of Reconcile, by Clock. Default: it is
	// not called.
	ReconcileEvery time.Duration
	// Follow is called with what the check has read of a merchant's stream of events: see
	// [ledger.Checker]. Default: it is not called.
	Follow func(ctx context.Context, merchantID string, after, through int64) error
	// CheckEvery and ExpireEvery are the pauses, by Clock. Default: a minute, an hour.
	CheckEvery, ExpireEvery time.Duration
}

// Upkeep runs in the background from Start to Close.
type Upkeep struct {
	Config

	owner   string // in leases
	checker *ledger.Checker
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
	checker := ledger.NewChecker(cfg.Store, cfg.Clock)
	checker.Follow = cfg.Follow
	return &Upkeep{Config: cfg, owner: id.NewCapability("own_"), checker: checker}
}

// Start begins the work.
func (u *Upkeep) Start(ctx context.Context) {
	ctx, u.stop = context.WithCancel(context.WithoutCancel(ctx))
	u.every(ctx, u.CheckEvery, u.check)
	u.every(ctx, u.CheckEvery, u.watch)
	u.every(ctx, u.ExpireEvery, u.expire)
	if u.ReconcileEvery > 0 {
		u.every(ctx, min(u.ReconcileEvery, reconcileLook), u.reconcile)
	}
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
		for next := u.Clock().Add(pause); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if u.Clock().Before(next) {
				continue
			}
			if err := work(ctx); err != nil && ctx.Err() == nil {
				u.Logger.ErrorContext(ctx, "upkeep", slog.String("error", err.Error()))
			}
			next = u.Clock().Add(pause)
		}
	})
}

// check runs a round of the check, unless another instance does.
func (u *Upkeep) check(ctx context.Context) error {
	began := time.Now()
	r, led, err := u.checker.Lead(ctx, u.owner, workLease)
	if !led || errors.Is(err, ledger.ErrWorkLost) {
		return err
	}
	for _, fault := range r.Faults {
		u.Logger.ErrorContext(ctx, "the ledger is not sound", slog.String("fault", fault))
	}
	if err != nil {
		return err
	}
	u.Telemetry.Checked(u.Clock(), time.Since(began), len(r.Faults))
	return nil
}

// watch records the backlog of pending charges and how far the clock is off.
func (u *Upkeep) watch(ctx context.Context) error {
	pending, oldest, err := u.Store.Backlog(ctx)
	if err != nil {
		return err
	}
	age := time.Duration(0)
	if pending > 0 {
		age = u.Clock().Sub(oldest)
	}
	u.Telemetry.Backlog(pending, age)
	offset, err := u.compare(ctx)
	u.Telemetry.ClockOffset(offset)
	return err
}

// expire deletes old rows, unless another instance does.
func (u *Upkeep) expire(ctx context.Context) error {
	now := u.Clock()
	_, taken, err := u.Store.TakeWork(ctx, expiring, u.owner, now, now.Add(workLease))
	if err != nil || !taken {
		return err
	}
	at := now
	if !u.Movable {
		at, err = u.Store.Now(ctx)
	}
	n := 0
	if err == nil {
		n, err = u.Ledger.Expire(ctx, at)
	}
	if n > 0 {
		u.Logger.InfoContext(ctx, "deleted rows that were kept for long enough", slog.Int("rows", n))
	}
	return errors.Join(err, u.Store.LeaveWork(context.WithoutCancel(ctx), expiring, u.owner, ""))
}

// MaxClockOffset is how far a clock may be from the database's.
const MaxClockOffset = 2 * time.Second

// ErrClock reports a clock that is too far from the database's. Instances with such a
// clock would disagree about months, leases and expiry.
var ErrClock = errors.New("the clock of this machine is too far from the database's")

// CheckClock compares a clock with the store's. It returns how far the clock is ahead,
// and [ErrClock] if that exceeds [MaxClockOffset] even after allowing for the latency of
// the query.
func CheckClock(ctx context.Context, store interface {
	Now(ctx context.Context) (time.Time, error)
}, clock func() time.Time,
) (ahead time.Duration, err error) {
	began := clock()
	at, err := store.Now(ctx)
	if err != nil {
		return 0, err
	}
	took := clock().Sub(began)
	ahead = began.Add(took / 2).Sub(at)
	if ahead.Abs()-took/2 > MaxClockOffset {
		return ahead, fmt.Errorf("%w: %s ahead, at most %s are allowed", ErrClock, ahead.Round(time.Millisecond), MaxClockOffset)
	}
	return ahead, nil
}

// compare compares the clock that this instance goes by with the database's.
func (u *Upkeep) compare(ctx context.Context) (time.Duration, error) {
	if u.Movable {
		return CheckClock(ctx, u.Store, time.Now)
	}
	return CheckClock(ctx, u.Store, u.Clock)
}
