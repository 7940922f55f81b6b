package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// reachedWithin is how long the service may take to reach a point under load.
const reachedWithin = 3 * time.Minute

// cardPoints returns the steps of charges by card, in one step or two, and of tabs. Revocations
// share the last two, which release holds.
func cardPoints() []failpoint.Point {
	return slices.Concat(failpoint.Points(), failpoint.HoldPoints(), failpoint.TabPoints(), failpoint.RefundPoints(),
		[]failpoint.Point{failpoint.UnwindingTaken, failpoint.UnwindingEnded})
}

// labels are the points that a drill kills at.
type labels struct {
	points []failpoint.Point
	// passes is at which time the service ends at a point, at most.
	passes func(failpoint.Point) int
	// around brings about what a point needs, until ctx ends. Nil: nothing.
	around func(ctx context.Context, p failpoint.Point) error
}

// killAtPoints has the service end at each labelled step, by turns. A step that it
// does not reach is a fault: the drill would prove nothing about it.
func (d *drill) killAtPoints(ctx context.Context, random *rand.Rand, l labels) error {
	if err := d.service.running.Kill(); err != nil {
		return err
	}
	for range d.Kills {
		for _, p := range l.points {
			if err := d.killAtPoint(ctx, p, 1+random.IntN(l.passes(p)), l.around); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
	}
	_, err := d.service.start(ctx)
	return err
}

func (d *drill) killAtPoint(ctx context.Context, p failpoint.Point, times int, around func(context.Context, failpoint.Point) error) error {
	armed, over := context.WithCancel(ctx)
	var meddling sync.WaitGroup
	var failed error
	if around != nil {
		meddling.Go(func() { failed = around(armed, p) })
	}
	died, err := d.service.endAt(ctx, p, times, reachedWithin)
	over()
	meddling.Wait()
	if err != nil {
		return err
	}
	if !died {
		d.fault(fmt.Sprintf("%s was not reached within %s", p, reachedWithin))
	}
	return failed
}
