package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
)

type options struct {
	Events, Endpoints, Rate, Kills, Instances int

	Seed     uint64
	Postgres bool
	Points   bool
}

// report is what the drill found.
type report struct {
	Kills, Events, Deliveries, Requests       int
	Lost, Invented, Disordered, Bad, Overlaps int
	// Unreached are labelled steps that the service did not reach.
	Unreached []string
	// Alone and Beside are of the endpoints that behave: while all did, and while
	// some did not.
	Alone, Beside latencies
	Took          time.Duration
}

func (r report) failed() bool {
	return r.Events == 0 || r.Lost+r.Invented+r.Disordered+r.Bad+r.Overlaps+len(r.Unreached) > 0
}

func (r report) String() string {
	text := fmt.Sprintf("kills %d, events %d, deliveries %d in %s (%d requests); lost %d, invented %d, out of order %d, unverified %d, twice at a time %d",
		r.Kills, r.Events, r.Deliveries, r.Took.Round(time.Second), r.Requests, r.Lost, r.Invented, r.Disordered, r.Bad, r.Overlaps)
	if len(r.Unreached) > 0 {
		text += fmt.Sprintf("; steps never reached: %v", r.Unreached)
	}
	if r.Beside.happened[1] > 0 {
		text += "; latency of endpoints that behave" + compare("the charge", r.Alone.happened, r.Beside.happened) +
			";" + compare("its answer", r.Alone.answered, r.Beside.answered)
	}
	return text
}

func compare(after string, alone, beside [2]time.Duration) string {
	const exact = 10 * time.Microsecond
	return fmt.Sprintf(" after %s: median %s, p99 %s, beside bad ones %s, %s: %.2fx", after, alone[0].Round(exact), alone[1].Round(exact),
		beside[0].Round(exact), beside[1].Round(exact), float64(beside[1])/float64(alone[1]))
}

const (
	// rounds is how often all receivers behave for a while, and then some do not.
	rounds = 4
	// restartEvery is how often one of the bad receivers is restarted.
	restartEvery = 500 * time.Millisecond
	// advance is how far the service's clock is moved every tick once all has
	// happened and retries of hours are waited for.
	advance, tick = 10 * time.Minute, 250 * time.Millisecond
)

// drill is a service with merchants.
type drill struct {
	options

	service *service
	shops   []*shop
	ahead   atomic.Int64 // of the service's clock
}

func (d *drill) close() error {
	var err error
	for _, s := range d.shops {
		for _, r := range s.receivers {
			err = errors.Join(err, r.stop())
		}
	}
	return errors.Join(err, d.service.close())
}

// deliver is the drill with receivers that behave badly beside others.
func deliver(ctx context.Context, o options) (r report, err error) {
	d := &drill{options: o}
	if d.service, err = startService(ctx, o); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	for i := range max(o.Endpoints/perShop, 1) {
		s, err := open(ctx, d.service, fmt.Sprint("Shop ", i), o.Seed+uint64(i), func() time.Duration { return time.Duration(d.ahead.Load()) })
		d.shops = append(d.shops, s)
		if err != nil {
			return r, err
		}
	}
	began := time.Now()
	var alone, beside []stretch
	n := 1
	if o.Rate > 0 { // latencies are worth reporting: what the machine does beside falls on both
		n = rounds
	}
	for range n {
		a, err := d.stretch(ctx, max(o.Events/4/n, perMandate)) // all behave
		if err != nil {
			return r, err
		}
		b, err := d.trouble(ctx, o.Events/n)
		if err != nil {
			return r, err
		}
		alone, beside = append(alone, a), append(beside, b)
	}
	r.Events, r.Took = o.Events, time.Since(began)
	r.Alone, r.Beside = d.latencies(alone), d.latencies(beside)
	for _, s := range d.shops {
		for _, to := range s.receivers {
			s.judge(&r, to)
		}
	}
	return r, err
}

// stretch is a time in which events happened.
type stretch struct{ from, to time.Time }

// stretch has so many events happen, and waits until all are delivered.
func (d *drill) stretch(ctx context.Context, events int) (s stretch, err error) {
	s.from = time.Now()
	if err := d.happen(ctx, events); err != nil {
		return s, err
	}
	s.to = time.Now()
	return s, until(ctx, d.told)
}

// trouble has so many events happen while the bad receivers behave badly, until all
// are delivered in the end.
func (d *drill) trouble(ctx context.Context, events int) (s stretch, err error) {
	d.all(func(m *mood) { m.bad.Store(true) })
	chaos, end := context.WithCancel(ctx)
	restarts := make(chan error, 1)
	go func() { restarts <- d.restart(chaos) }()
	defer func() {
		end()
		err = errors.Join(err, <-restarts)
		d.all(func(m *mood) { m.bad.Store(false); m.quick.Store(false) })
	}()
	s.from = time.Now()
	if err := d.happen(ctx, events); err != nil {
		return s, err
	}
	s.to = time.Now()
	d.all(func(m *mood) { m.quick.Store(true) })
	return s, d.hurry(ctx)
}

// all changes the moods of the bad receivers.
func (d *drill) all(change func(*mood)) {
	for _, s := range d.shops {
		change(&s.bad().mood)
	}
}

// happen has so many events happen, at the rate if there is one.
func (d *drill) happen(ctx context.Context, events int) error {
	work := make(chan int, events/perMandate+1)
	for n := events; n > 0; n -= perMandate {
		work <- min(n, perMandate)
	}
	close(work)
	turn := func(context.Context) {}
	if d.Rate > 0 {
		t := time.NewTicker(time.Second / time.Duration(d.Rate))
		defer t.Stop()
		turn = func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-t.C:
			}
		}
	}
	var all sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for n := range work {
				s := d.shops[int(next.Add(1))%len(d.shops)]
				if err := s.live(ctx, n, turn); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

func (d *drill) told() bool { return d.missing() == 0 }

// missing is how many deliveries have not come yet.
func (d *drill) missing() (n int) {
	for _, s := range d.shops {
		n += s.missing()
	}
	return n
}

// hurry moves the service's clock until all has come.
func (d *drill) hurry(ctx context.Context) error {
	c, err := d.service.client(client.Merchant{ID: "mer_none", APIKey: "sk_test_none"})
	if err != nil {
		return err
	}
	deadline, last := time.Now().Add(patience), 0
	for missing := d.missing(); missing > 0; missing = d.missing() {
		if missing != last {
			deadline, last = time.Now().Add(patience), missing
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d deliveries did not come in time", missing)
		}
		d.ahead.Add(int64(advance))
		if _, err := c.AdvanceTestClock(ctx, advance); err != nil {
			return err
		}
		_ = sleep.For(ctx, tick)
	}
	return nil
}

// restart restarts bad receivers now and then.
func (d *drill) restart(ctx context.Context) error {
	random := rand.New(rand.NewPCG(d.Seed, 3)) // repeatable
	for ctx.Err() == nil {
		_ = sleep.For(ctx, restartEvery)
		if err := d.shops[random.IntN(len(d.shops))].bad().restart(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// latencies are those of what happened in some stretches.
func (d *drill) latencies(within []stretch) latencies {
	var happened, answered []time.Duration
	for _, in := range within {
		for _, s := range d.shops {
			h, a := s.latencies(in.from, in.to)
			happened, answered = append(happened, h...), append(answered, a...)
		}
	}
	return latencies{quantiles(happened), quantiles(answered)}
}

// latencies are the median and the 99th of 100 of the times from a change, and from
// the answer that reported it, to its event.
type latencies struct{ happened, answered [2]time.Duration }

func quantiles(all []time.Duration) [2]time.Duration {
	if len(all) == 0 {
		return [2]time.Duration{}
	}
	slices.Sort(all)
	return [2]time.Duration{all[len(all)/2], all[len(all)*99/100]}
}
