package card

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// maxLatency bounds [Faults.LatencyMillis].
const maxLatency = 10 * time.Minute

// Faults makes a processor slow and unreliable, in the ways in which a foreign
// service is. The zero value is none.
type Faults struct {
	// LatencyMillis is waited before the work begins.
	LatencyMillis int `json:"latencyMillis"`
	// ErrorPercent of the calls fail before any work.
	ErrorPercent int `json:"errorPercent"`
	// StopPercent of the payments stop between authorization and capture, as if
	// the processor had been killed there.
	StopPercent int `json:"stopPercent"`
	// LosePercent of the calls do all the work and do not answer.
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

// errLost is an answer that does not arrive: over HTTP the connection breaks.
var errLost = fmt.Errorf("answer lost: %w", ErrUnavailable)

// trouble draws the faults.
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

// draw tells whether one of the percentages hits.
func (t *trouble) draw(percent func(Faults) int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := percent(t.faults)
	return p > 0 && t.random.IntN(100) < p
}

// before is what happens to a call ahead of the work.
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

// after is what happens to an answer on its way.
func (p *Processor) after() error {
	if p.trouble.draw(func(f Faults) int { return f.LosePercent }) {
		return errLost
	}
	return nil
}

// wait lets time pass, until ctx is done or the processor closes.
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
