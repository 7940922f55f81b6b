package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/postgres"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

type options struct {
	Kills   int
	Callers int
	Seed    uint64
	// Points kills at each labelled step of a charge, Kills times each, instead of at
	// random moments.
	Points bool
	// Postgres keeps the ledger in a PostgreSQL started for the drill, instead of SQLite.
	Postgres bool
}

// report is what the drill found.
type report struct {
	Kills, Charges, Succeeded, Failed, Refused int
	// Lost charges were answered and are not in the ledger, or not as they were
	// answered. Doubled ones moved money twice. Undecided ones are pending.
	Lost, Doubled, Undecided int
	Faults                   []string
}

func (r report) failed() bool {
	return r.Lost+r.Doubled+r.Undecided+len(r.Faults) > 0 || r.Succeeded == 0
}

func (r report) String() string {
	s := fmt.Sprintf("kills %d, charges %d (succeeded %d, failed %d, refused %d), lost %d, doubled %d, undecided %d",
		r.Kills, r.Charges, r.Succeeded, r.Failed, r.Refused, r.Lost, r.Doubled, r.Undecided)
	for _, f := range r.Faults {
		s += "\nfault: " + f
	}
	return s
}

// drill is one run.
type drill struct {
	options

	dir       string
	store     string
	processor *card.Processor
	service   *service
	merchant  *client.Client
	mandates  []string

	mu      sync.Mutex
	answers map[string]client.Charge // by transaction id
	refused int
	broken  []string
}

// tightCents is the monthly limit of one of the mandates, so that limits refuse too.
const tightCents = 2_000

func run(ctx context.Context, o options) (r report, err error) {
	d := &drill{options: o, answers: map[string]client.Charge{}}
	if d.dir, err = os.MkdirTemp("", "crash-"); err != nil {
		return r, err
	}
	defer os.RemoveAll(d.dir)
	d.processor, err = card.OpenProcessor(ctx, card.ProcessorConfig{
		Path:   filepath.Join(d.dir, "processor.db"),
		Faults: card.Faults{LatencyMillis: 2, ErrorPercent: 3, StopPercent: 3, LosePercent: 3},
		Random: rand.New(rand.NewPCG(o.Seed, 1)), // faults are to be repeatable
	})
	if err != nil {
		return r, err
	}
	gateway := httptest.NewServer(d.processor.Handler())
	defer func() {
		gateway.Close()
		err = errors.Join(err, d.processor.Close())
	}()
	args := []string{"--processor", gateway.URL}
	d.store = filepath.Join(d.dir, "data", "pay.db")
	if o.Postgres {
		cluster, err := pgtest.New(ctx)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		d.store = cluster.URL()
		args = append(args, "--postgres", d.store)
	}
	if d.service, err = build(ctx, d.dir, args...); err != nil {
		return r, err
	}
	if err := d.begin(ctx); err != nil {
		return r, errors.Join(err, d.service.running.Kill())
	}
	kill, kills := d.killAtRandom, o.Kills
	if o.Points {
		kill, kills = d.killAtPoints, o.Kills*len(failpoint.Points())
	}
	if err := d.underLoad(ctx, kill); err != nil {
		return r, errors.Join(err, d.service.running.Kill())
	}
	return d.verify(ctx, kills)
}

// begin starts the service once and makes the mandates.
func (d *drill) begin(ctx context.Context) error {
	line, err := d.service.start(ctx)
	if err != nil {
		return err
	}
	d.merchant, err = client.New(client.Config{
		BaseURL: line.BaseURL, MerchantID: line.Merchant.ID, APIKey: line.Merchant.APIKey, Timeout: 25 * time.Second,
		HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: d.Callers}},
	})
	if err != nil {
		return err
	}
	for _, monthly := range []int64{10_000_000, tightCents} {
		for {
			m, err := d.mandate(ctx, monthly)
			if err == nil {
				d.mandates = append(d.mandates, m)
				break
			}
			if ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

func (d *drill) mandate(ctx context.Context, monthly int64) (string, error) {
	s, err := d.merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: monthly})
	if err != nil {
		return "", err
	}
	done, err := d.merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{})
	return done.IntentMandate, err
}

// underLoad runs kill while callers charge, then lets them end.
func (d *drill) underLoad(ctx context.Context, kill func(context.Context, *rand.Rand) error) error {
	callers, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for i := range d.Callers {
		running.Go(func() { d.call(ctx, callers, rand.New(rand.NewPCG(d.Seed, uint64(i)+10))) }) // repeatable
	}
	err := kill(ctx, rand.New(rand.NewPCG(d.Seed, 2))) // repeatable
	stop()
	running.Wait()
	return errors.Join(err, ctx.Err())
}

// killAtRandom kills and restarts the service at random moments: some answers
// later, however long those take, and a little after that.
func (d *drill) killAtRandom(ctx context.Context, random *rand.Rand) error {
	for range d.Kills {
		if err := d.answered(ctx, random.IntN(maxAnswers)); err != nil {
			return err
		}
		if err := sleep(ctx, time.Duration(random.IntN(20_000))*time.Microsecond); err != nil {
			return err
		}
		if err := d.service.running.Kill(); err != nil {
			return err
		}
		if _, err := d.service.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxAnswers is how many charges are answered between two kills at most.
const maxAnswers = 60

// answered waits until n more charges were answered or refused.
func (d *drill) answered(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reachedWithin, errors.New("the service answers no charges"))
	defer cancel()
	so := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.answers) + d.refused + len(d.broken)
	}
	for from := so(); so() < from+n; {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reachedWithin is how long the service may take to come to a point under load.
const reachedWithin = time.Minute

// killAtPoints has the service end at each labelled step, by turns. A step that it
// does not come to is a fault: the drill would prove nothing about it.
func (d *drill) killAtPoints(ctx context.Context, random *rand.Rand) error {
	if err := d.service.running.Kill(); err != nil {
		return err
	}
	for range d.Kills {
		for _, p := range failpoint.Points() {
			died, err := d.service.endAt(ctx, p, 1+random.IntN(4), reachedWithin)
			if err != nil {
				return err
			}
			if !died {
				d.fault(fmt.Sprintf("%s was not reached within %s", p, reachedWithin))
			}
		}
	}
	_, err := d.service.start(ctx)
	return err
}

// fault notes what must not be.
func (d *drill) fault(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = append(d.broken, what)
}

// call charges until it is to stop, and sees its last charge through.
func (d *drill) call(ctx, until context.Context, random *rand.Rand) {
	for n := 0; until.Err() == nil && ctx.Err() == nil; n++ {
		p := client.ChargeParams{
			Mandate: d.mandates[random.IntN(len(d.mandates))], AmountCents: int64(1 + random.IntN(100)), Currency: client.USD,
			Description: "drill", IdempotencyKey: fmt.Sprintf("k%d-%d", random.Uint64(), n),
		}
		for ctx.Err() == nil && !d.settled(d.merchant.Charge(ctx, p)) {
			continue
		}
	}
}

// settled records a definite answer, and tells whether it was one.
func (d *drill) settled(c client.Charge, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil && c.Status == client.Pending:
		return false
	case err == nil:
		d.answers[c.TransactionID] = c
		return true
	case errors.Is(err, client.ErrUnknownOutcome):
		return false
	case errors.Is(err, client.ErrMonthlyLimit):
		d.refused++
		return true
	}
	var answered *client.Error
	if errors.As(err, &answered) && answered.Status < http.StatusInternalServerError && answered.Status != http.StatusConflict {
		d.broken = append(d.broken, "unexpected answer: "+err.Error())
		return true
	}
	return false // not reached: nothing was sent
}

// decidedWithin is how long recovery may take after the last restart.
const decidedWithin = 30 * time.Second

// verify waits until recovery has nothing left to do, stops the service, and
// compares answers, ledger and processor.
func (d *drill) verify(ctx context.Context, kills int) (report, error) {
	r := report{Kills: kills, Refused: d.refused, Faults: d.broken}
	if err := d.service.running.Stop(); err != nil {
		return r, err
	}
	for deadline := time.Now().Add(decidedWithin); ; {
		if err := d.compare(ctx, &r); err != nil || r.Undecided == 0 || time.Now().After(deadline) {
			return r, err
		}
		if _, err := d.service.start(ctx); err != nil {
			return r, err
		}
		if err := sleep(ctx, 3*time.Second); err != nil {
			return r, errors.Join(err, d.service.running.Kill())
		}
		if err := d.service.running.Stop(); err != nil {
			return r, err
		}
	}
}

func (d *drill) open(ctx context.Context) (ledger.Store, error) {
	if d.Postgres {
		return postgres.Open(ctx, d.store)
	}
	return sqlite.Open(ctx, d.store)
}

func (d *drill) compare(ctx context.Context, r *report) (err error) {
	store, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	check, err := ledger.Check(ctx, store)
	if err != nil {
		return err
	}
	moved, err := d.processor.Totals(ctx)
	if err != nil {
		return err
	}
	r.Faults = append(d.broken[:len(d.broken):len(d.broken)], check.Faults...)
	r.Charges, r.Succeeded, r.Failed, r.Undecided, r.Lost = check.Charges, check.Succeeded, check.Failed, check.Pending, 0
	for id, answer := range d.answers {
		c, err := store.Charge(ctx, id)
		status := client.Status(c.Status)
		if status == client.Succeeded {
			status = client.Completed
		}
		if err != nil || status != answer.Status || int64(c.Amount.CentsDown()) != answer.AmountCents {
			r.Lost++
		}
	}
	r.Doubled = int(moved.Payments) - check.Succeeded - check.Pending
	if cents, _ := check.Volume.WholeCents(); r.Undecided == 0 && cents != moved.CapturedCents {
		r.Faults = append(r.Faults, fmt.Sprintf("the ledger says %d cents, the processor moved %d", cents, moved.CapturedCents))
	}
	r.Doubled = max(r.Doubled, 0)
	return nil
}
