package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

type options struct {
	Kills   int
	Callers int
	Seed    uint64
	// Points kills at each labelled step of a charge, Kills times each, instead of at
	// random moments.
	Points bool
	// Only are the points to kill at; nil: all of them.
	Only []failpoint.Point
	// Answers is how many charges are answered between two kills at random at most.
	Answers int
	// History is how many charges and reads each mandate with a tight limit gets;
	// then callers go on with another.
	History int
	// Postgres keeps the ledger in a PostgreSQL started for the drill, instead of SQLite.
	Postgres bool
}

func (o options) only(points []failpoint.Point) []failpoint.Point {
	if o.Only != nil {
		return o.Only
	}
	return points
}

// report is what the drill found.
type report struct {
	Kills, Charges, Succeeded, Failed, Refused int
	// Voided charges were held, and given back.
	Voided int
	// Tabs are the tabs, and Draws the payments from them that were answered.
	Tabs, Draws int
	// Refunds succeeded.
	Refunds int
	// Lost charges were answered and are not in the ledger, or not as they were
	// answered. Doubled ones moved money twice. Undecided ones are pending or held.
	Lost, Doubled, Undecided int
	// Reconciled are the movements that were compared with the ledger.
	Reconciled int64
	// Histories of mandates with a tight limit; Illegal ones no order of the calls
	// explains.
	Histories, Illegal int
	Faults             []string
}

func (r report) failed() bool {
	return r.Lost+r.Doubled+r.Undecided+r.Illegal+len(r.Faults) > 0 || r.Succeeded == 0 || r.Reconciled == 0 || r.Voided+r.Refunds == 0
}

func (r report) String() string {
	s := fmt.Sprintf("kills %d, charges %d (succeeded %d, failed %d, voided %d, refused %d), refunds %d, movements %d, lost %d, doubled %d, undecided %d",
		r.Kills, r.Charges, r.Succeeded, r.Failed, r.Voided, r.Refused, r.Refunds, r.Reconciled, r.Lost, r.Doubled, r.Undecided)
	if r.Tabs > 0 {
		s += fmt.Sprintf("; tabs %d, draws %d", r.Tabs, r.Draws)
	}
	if r.Histories > 0 {
		s += fmt.Sprintf("; histories %d, illegal %d", r.Histories, r.Illegal)
	}
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
	baseURL   string // of the service, the same after a restart
	merchant  *client.Client
	// credentials are the merchant's, as headers.
	credentials http.Header
	roomy       string // a mandate whose limit is never reached

	mu        sync.Mutex
	answers   map[string]client.Charge // by transaction id
	drawn     map[string]int64         // cents of draws that were answered, by transaction id
	refunds   map[string]given         // by the refund's id
	refused   int
	histories []*history // of mandates with a tight limit; the last one is in use
	broken    []string

	closers []func() error // of what is around the service
}

const (
	// roomyCents is a limit that is never reached, tightCents one for each call of a
	// history, which about half of its charges fit into.
	roomyCents = 10_000_000
	tightCents = 20
)

func run(ctx context.Context, o options) (r report, err error) {
	d := &drill{options: o, answers: map[string]client.Charge{}, drawn: map[string]int64{}, refunds: map[string]given{}}
	defer func() { err = errors.Join(err, d.clear()) }()
	if err := d.surround(ctx, card.Faults{LatencyMillis: 2, ErrorPercent: 3, StopPercent: 3, LosePercent: 3}); err != nil {
		return r, err
	}
	if err := d.begin(ctx); err != nil {
		return r, err
	}
	kill, kills := d.killAtRandom, o.Kills
	if o.Points {
		steps := labels{points: o.only(cardPoints()), passes: func(failpoint.Point) int { return 4 }}
		kill = func(ctx context.Context, random *rand.Rand) error { return d.killAtPoints(ctx, random, steps) }
		kills *= len(steps.points)
	}
	if err := d.underLoad(ctx, kill); err != nil {
		return r, err
	}
	r.Kills, r.Refused = kills, d.refused
	if err := d.closeTabs(ctx); err != nil {
		return r, err
	}
	err = d.healed(ctx, func() (int, error) { err := d.compare(ctx, &r); return r.Undecided, err })
	return r, err
}

// connect starts the service, and has a client call as its merchant.
func (d *drill) connect(ctx context.Context) error {
	line, err := d.service.start(ctx)
	if err != nil {
		return err
	}
	d.baseURL = line.BaseURL
	d.credentials = http.Header{"X-Service-Merchant-Id": {line.Merchant.ID}, "X-Service-Api-Key": {line.Merchant.APIKey}}
	d.merchant, err = client.New(client.Config{
		BaseURL: line.BaseURL, MerchantID: line.Merchant.ID, APIKey: line.Merchant.APIKey, Timeout: 25 * time.Second,
		HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: d.Callers}},
	})
	return err
}

// begin starts the service once and makes the mandates.
func (d *drill) begin(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return err
	}
	var err error
	d.roomy, err = d.mandate(ctx, roomyCents)
	return errors.Join(err, d.begun(ctx))
}

// begun begins a history.
func (d *drill) begun(ctx context.Context) error {
	h := &history{limit: int64(d.History) * tightCents, began: time.Now()}
	var err error
	if h.mandate, err = d.mandate(ctx, h.limit); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.histories = append(d.histories, h)
	return nil
}

// mandate makes a mandate that a card pays, however often the service is killed
// meanwhile.
func (d *drill) mandate(ctx context.Context, monthly int64) (string, error) {
	done, err := d.completed(ctx, client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: monthly}, client.TestCompletion{})
	return done.Mandate, err
}

// completed makes a session and completes it: what is cut off is asked again, of the
// same session. It returns an error if the service refuses.
func (d *drill) completed(ctx context.Context, p client.SessionParams, c client.TestCompletion) (done client.Session, err error) {
	var s client.Session
	err = persist(ctx, func() (err error) { s, err = d.merchant.CreateSession(ctx, p); return err })
	if err != nil {
		return done, err
	}
	err = persist(ctx, func() (err error) {
		done, err = d.merchant.CompleteTestSession(ctx, s.SessionToken, c)
		if errors.Is(err, client.ErrSessionFinished) { // the answer was lost
			done, err = d.merchant.Session(ctx, s.SessionToken)
		}
		return err
	})
	return done, err
}

// persist asks until there is an answer: an error is a refusal, or ctx's.
func persist(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		var answered *client.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &answered) && answered.Status < http.StatusInternalServerError {
			return err
		}
		if err := sleep.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// underLoad runs kill while callers charge, then lets them end.
func (d *drill) underLoad(ctx context.Context, kill func(context.Context, *rand.Rand) error) error {
	callers, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for i := range d.Callers {
		running.Go(func() { d.call(ctx, callers, i, rand.New(rand.NewPCG(d.Seed, uint64(i)+10))) }) // repeatable
	}
	running.Go(func() {
		random := rand.New(rand.NewPCG(d.Seed, 5)) // repeatable
		for callers.Err() == nil && ctx.Err() == nil {
			d.hold(ctx, d.roomy, client.USD, late, random)
		}
	})
	running.Go(func() { d.drawUntilExpired(ctx, callers, rand.New(rand.NewPCG(d.Seed, 6))) }) // repeatable
	err := kill(ctx, rand.New(rand.NewPCG(d.Seed, 2)))                                        // repeatable
	stop()
	running.Wait()
	return errors.Join(err, ctx.Err())
}

// killAtRandom kills and restarts the service at random moments: some answers
// later, however long those take, and a little after that.
func (d *drill) killAtRandom(ctx context.Context, random *rand.Rand) error {
	for range d.Kills {
		if err := d.answered(ctx, random.IntN(d.Answers)); err != nil {
			return err
		}
		if err := sleep.For(ctx, time.Duration(random.IntN(20_000))*time.Microsecond); err != nil {
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
		if err := sleep.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// fault notes what must not be.
func (d *drill) fault(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = append(d.broken, what)
}

// call asks until it is to stop, and sees its last charge through.
func (d *drill) call(ctx, until context.Context, caller int, random *rand.Rand) {
	for n := 0; until.Err() == nil && ctx.Err() == nil; n++ {
		d.mu.Lock()
		h := d.histories[len(d.histories)-1]
		d.mu.Unlock()
		switch kind := random.IntN(16); {
		case kind > 12:
			d.draw(ctx, d.roomy, random)
		case kind == 0:
			d.read(ctx, h, caller)
		case kind == 1 && random.IntN(2) == 0:
			d.holdLimited(ctx, h, caller, random)
		case kind == 1:
			d.refundLimited(ctx, h, caller, random)
		case kind == 7:
			d.refund(ctx, d.roomy, client.USD, random)
		case kind < 4:
			d.hold(ctx, d.roomy, client.USD, ending(random.IntN(int(late))), random)
		case kind < 8:
			d.charge(ctx, d.roomy, fmt.Sprintf("%d-%d-%d", d.Seed, caller, n), 1+random.Int64N(100))
		default:
			in, since := asked{cents: 1 + random.Int64N(100)}, time.Now()
			if out, ok := d.charge(ctx, h.mandate, fmt.Sprintf("%d-%d-%d", d.Seed, caller, n), in.cents); ok {
				d.observe(ctx, h, caller, in, since, out)
			}
		}
	}
}

// observe adds an operation to a history. The one that makes it long enough begins the next.
func (d *drill) observe(ctx context.Context, h *history, caller int, in asked, since time.Time, out answer) {
	if h.add(caller, in, since, out) != d.History {
		return
	}
	if err := d.begun(ctx); err != nil && ctx.Err() == nil {
		d.fault(err.Error())
	}
}

// read asks what is left of the month. A call that is cut off has read nothing.
func (d *drill) read(ctx context.Context, h *history, caller int) {
	since := time.Now()
	if b, err := d.merchant.Balance(ctx, h.mandate); err == nil {
		d.observe(ctx, h, caller, asked{}, since, answer{left: b.RemainingMonthlySpendCents})
	}
}

// charge sends a charge until it is answered, always with its key. The answer is
// none if the drill was ended.
func (d *drill) charge(ctx context.Context, mandate, key string, cents int64) (answer, bool) {
	p := client.ChargeParams{Mandate: mandate, AmountCents: cents, Currency: client.USD, Description: "drill", IdempotencyKey: "k" + key}
	for ctx.Err() == nil {
		if out, definite := d.settled(d.merchant.Charge(ctx, p)); definite {
			return out, true
		}
	}
	return answer{}, false
}

// settled records a definite answer, and reports whether it was one.
func (d *drill) settled(c client.Charge, err error) (out answer, definite bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var answered *client.Error
	switch {
	case err == nil && c.Status == client.Pending:
		return answer{}, false
	case err == nil:
		d.answers[c.TransactionID] = c
		return answer{charged: true}, true
	case errors.Is(err, client.ErrUnknownOutcome):
		return answer{}, false
	case errors.Is(err, client.ErrMonthlyLimit) && errors.As(err, &answered) && answered.RemainingMonthlySpendCents != nil:
		d.refused++
		return answer{left: *answered.RemainingMonthlySpendCents}, true
	case errors.As(err, &answered) && answered.Status < http.StatusInternalServerError && answered.Status != http.StatusConflict:
		d.broken = append(d.broken, "unexpected answer: "+err.Error()) // which fails the drill
		return answer{}, true
	}
	return answer{}, false // not reached: nothing was sent
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
	r.Charges, r.Succeeded, r.Failed, r.Voided = check.Charges, check.Succeeded, check.Failed, check.Voided
	r.Undecided, r.Lost = check.Pending+check.Authorized, 0
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
	tabs, draws, err := d.auditTabs(ctx, store, r)
	if err != nil {
		return err
	}
	r.Doubled = int(moved.Payments) - (check.Succeeded - draws) - tabs - check.Pending
	if cents, _ := (check.Volume - check.Advanced).WholeCents(); r.Undecided == 0 && cents != moved.CapturedCents {
		r.Faults = append(r.Faults, fmt.Sprintf("the ledger says %d cents, the processor moved %d", cents, moved.CapturedCents))
	}
	r.Doubled = max(r.Doubled, 0)
	if err := errors.Join(d.auditHolds(ctx, store, r), d.auditCardRefunds(ctx, store, r)); err != nil {
		return err
	}
	if r.Undecided == 0 && moved.HeldCents != 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("the processor still holds %d cents", moved.HeldCents))
	}
	if err := d.reconcile(ctx, store, r); err != nil {
		return err
	}
	d.judge(r)
	return nil
}

// judge looks for an order of calls that explains each history.
func (d *drill) judge(r *report) {
	r.Histories, r.Illegal = len(d.histories), 0
	for _, h := range d.histories {
		switch h.explained() {
		case porcupine.Ok:
		case porcupine.Illegal:
			r.Illegal++
		case porcupine.Unknown:
			r.Faults = append(r.Faults, fmt.Sprintf("a history of %d calls was not judged within %s", h.len(), judgedWithin))
		}
	}
}
