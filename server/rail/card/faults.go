package card

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// maxLatency is the maximum of [Faults.LatencyMillis].
const maxLatency = 10 * time.Minute

// Faults make a processor slow and unreliable in the ways of an external service. The zero
// value is no faults.
type Faults struct {
	// LatencyMillis is the delay before each call, in milliseconds: 0 to 600,000.
	LatencyMillis int `json:"latencyMillis"`
	// ErrorPercent is the share of calls that fail before any work: 0 to 100.
	ErrorPercent int `json:"errorPercent"`
	// StopPercent is the share of payments that stop after authorization, of captures that
	// stop before the money moves, and of refunds that stop after they were accepted, as
	// if the processor had been killed: 0 to 100.
	StopPercent int `json:"stopPercent"`
	// LosePercent is the share of calls that do all the work and do not respond: 0 to 100.
	LosePercent int `json:"losePercent"`
}

func (f Faults) validate() error {
	if f.LatencyMillis < 0 || f.LatencyMillis > int(maxLatency/time.Millisecond) {
		return fmt.Errorf("latencyMillis %d, 0 to %d are allowed: %w", f.LatencyMillis, maxLatency/time.Millisecond, ErrInvalid)
	}
	for name, percent := range map[string]int{"errorPercent": f.ErrorPercent, "stopPercent": f.StopPercent, "losePercent": f.LosePercent} {
		if percent < 0 || percent > 100 {
			return fmt.Errorf("%s %d, 0 to 100 are allowed: %w", name, percent, ErrInvalid)
		}
	}
	return nil
}

// errLost is a response that does not arrive: over HTTP the connection is closed.
var errLost = fmt.Errorf("answer lost: %w", ErrUnavailable)

// trouble decides at random which faults occur.
type trouble struct {
	mu     sync.Mutex
	faults Faults
	random *rand.Rand
}

func (t *trouble) set(f Faults) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = f
}

func (t *trouble) get() Faults {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.faults
}

// draw reports whether the fault with that percentage occurs.
func (t *trouble) draw(percent func(Faults) int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := percent(t.faults)
	return p > 0 && t.random.IntN(100) < p
}

// before applies the faults that precede the work.
func (p *Processor) before(ctx context.Context) error {
	select {
	case <-p.writer.closing:
		return ErrClosed
	default:
	}
	if latency := p.trouble.get().LatencyMillis; latency > 0 {
		if err := p.wait(ctx, time.Duration(latency)*time.Millisecond); err != nil {
			return err
		}
	}
	if p.trouble.draw(func(f Faults) int { return f.ErrorPercent }) {
		return fmt.Errorf("before the work: %w", ErrUnavailable)
	}
	return ctx.Err()
}

// after applies the faults that follow the work.
func (p *Processor) after() error {
	if p.trouble.draw(func(f Faults) int { return f.LosePercent }) {
		return errLost
	}
	return nil
}

// wait sleeps until d has passed, ctx is done, or the processor closes.
func (p *Processor) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.writer.closing:
		return ErrClosed
	}
}
