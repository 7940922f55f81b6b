package dashboard

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// shownDays is the number of days in the charts.
	shownDays = 30
	// sumWithin is the time for which a page waits for sums that are not known yet.
	sumWithin = 25 * time.Millisecond
	// freshFor is how long the sums of today and yesterday are kept, and keptFor those of
	// earlier days, whose charges rarely change.
	freshFor, keptFor = time.Second, 10 * time.Minute
	// sumTimeout limits the time to sum one day.
	sumTimeout = 30 * time.Second
	// keptMerchants limits the merchants whose sums are kept.
	keptMerchants = 1000
)

// days keeps the sums of merchants' charges by day, so that a page does not read the charges
// of a month. Missing days are summed in the background, newest first.
type days struct {
	reports store.Reports
	clock   func() time.Time
	logger  *slog.Logger

	mu     sync.Mutex
	known  map[string]map[int64]daySum // by merchant and day
	busy   map[string]chan struct{}    // closed when a merchant's sums are complete
	closed bool
	work   sync.WaitGroup
	ctx    context.Context
	stop   context.CancelFunc
}

// daySum holds the sums of one day.
type daySum struct {
	totals []store.ChargeTotal
	until  time.Time // of the wall clock: then it is summed again
}

func newDays(r store.Reports, clock func() time.Time, logger *slog.Logger) *days {
	d := &days{reports: r, clock: clock, logger: logger, known: map[string]map[int64]daySum{}, busy: map[string]chan struct{}{}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

func (d *days) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.work.Wait()
}

// of returns the sums of the last days including today, which is the first, and whether all
// of them are there.
func (d *days) of(ctx context.Context, merchantID string) (sums [shownDays][]store.ChargeTotal, complete bool) {
	wait := time.NewTimer(sumWithin)
	defer wait.Stop()
	select {
	case <-d.sum(merchantID):
	case <-wait.C:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	today, complete := dayOf(d.clock()), true
	for i := range sums {
		s, ok := d.known[merchantID][today-int64(i)]
		sums[i], complete = s.totals, complete && ok
	}
	return sums, complete
}

const secondsOfADay = int64(24 * time.Hour / time.Second)

func dayOf(t time.Time) int64 { return t.Unix() / secondsOfADay }

func startOf(day int64) time.Time { return time.Unix(day*secondsOfADay, 0).UTC() }

// sum begins to sum the days that are missing or stale. The channel is closed when that is
// done.
func (d *days) sum(merchantID string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if done := d.busy[merchantID]; done != nil {
		return done
	}
	done := make(chan struct{})
	today, now := dayOf(d.clock()), time.Now()
	var missing []int64
	for i := range int64(shownDays) {
		if s, ok := d.known[merchantID][today-i]; !ok || now.After(s.until) {
			missing = append(missing, today-i)
		}
	}
	if len(missing) == 0 || d.closed {
		close(done)
		return done
	}
	d.busy[merchantID] = done
	d.work.Go(func() {
		defer d.finish(merchantID, done)
		for _, day := range missing {
			if !d.sumDay(merchantID, day) {
				return
			}
		}
	})
	return done
}

func (d *days) finish(merchantID string, done chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, merchantID)
	close(done)
}

// sumDay sums one day and reports whether it did.
func (d *days) sumDay(merchantID string, day int64) bool {
	ctx, cancel := context.WithTimeout(d.ctx, sumTimeout)
	defer cancel()
	totals, err := d.reports.ChargeTotals(ctx, merchantID, startOf(day), startOf(day+1))
	if err != nil {
		if d.ctx.Err() == nil {
			d.logger.WarnContext(ctx, "charges of a day not summed", slog.String("merchantId", merchantID), slog.String("error", err.Error()))
		}
		return false
	}
	keep := keptFor
	if day >= dayOf(d.clock())-1 {
		keep = freshFor
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[merchantID] == nil {
		if len(d.known) >= keptMerchants {
			clear(d.known)
		}
		d.known[merchantID] = map[int64]daySum{}
	}
	for old := range d.known[merchantID] {
		if old <= day-2*shownDays {
			delete(d.known[merchantID], old)
		}
	}
	d.known[merchantID][day] = daySum{totals: totals, until: time.Now().Add(keep)}
	return true
}
