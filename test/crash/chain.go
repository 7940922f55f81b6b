package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/x402"
)

// The drill on the chain: the service is killed between the broadcast of a charge
// and its receipt. The chain lives on in this process. In the end each charge that
// succeeded has moved money once on the chain, and no card was charged in its stead.

const (
	// maxLead lets blocks follow each other faster than one a second.
	maxLead = 24 * time.Hour
	// comesWithin is how long a moment may take to come.
	comesWithin = 2 * time.Minute
	// endsWithin is how long the callers may take to end after the last restart.
	endsWithin = 3 * time.Minute
)

// chainReport is what the drill found.
type chainReport struct {
	report

	Hit map[moment]int // how often the service was killed where; nil: at points
	// Of a run at points: mandates that were made and those of them that ended,
	// signed transfers, those of them that settled a part of a permit, and transactions of the
	// relayer.
	Grants, Revoked, Transfers, Upto, Nonces int
	// Renamed moved their money by another transaction than was reported, after a
	// reorganization.
	Renamed int
	// Reversed were taken back by a reorganization, and their nonces used by another program,
	// so that they could not land again. The service has reported them.
	Reversed int
}

func (r chainReport) failed() bool {
	return r.report.failed() || r.Hit != nil && slices.ContainsFunc(labelled, func(m moment) bool { return r.Hit[m] == 0 })
}

func (r chainReport) String() string {
	if r.Hit == nil {
		return fmt.Sprintf("%s\ngrants %d, of them revoked %d; signed transfers %d, of them of the scheme upto %d; nonces %d; landed again by another transaction %d; taken back and reported %d",
			r.report, r.Grants, r.Revoked, r.Transfers, r.Upto, r.Nonces, r.Renamed, r.Reversed)
	}
	var hits []string
	for _, m := range append(slices.Clone(labelled), anywhere) {
		hits = append(hits, fmt.Sprintf("%s %d", m, r.Hit[m]))
	}
	return r.report.String() + "\nkilled: " + strings.Join(hits, "; ")
}

// chainDrill is one run.
type chainDrill struct {
	drill

	node     *node
	mandates []string // of a caller each
	hit      map[moment]int

	// Of a run at labelled steps.
	empty       client.Session // a mandate whose wallet has nothing
	facilitator *x402.Facilitator
	payee       *x402.Facilitator // the same, with the merchant's credentials
	begunLives  int64
	calm        sync.RWMutex // held: no caller begins anything
	lives       []life
	signed      []signedTransfer
	stolen      map[common.Hash]bool // transactions of the relayer's key that are not the service's
}

func newChainDrill(o options) *chainDrill {
	d := &chainDrill{drill: drill{options: o, answers: map[string]client.Charge{}, refunds: map[string]given{}}, stolen: map[common.Hash]bool{}}
	if !o.Points {
		d.hit = map[moment]int{}
	}
	return d
}

func runChain(ctx context.Context, o options) (r chainReport, err error) {
	d := newChainDrill(o)
	defer func() { err = errors.Join(err, d.clear()) }()
	if err := d.begin(ctx); err != nil {
		return r, err
	}
	kill, kills := d.killAtMoments, o.Kills
	if o.Points {
		if err := d.beginPoints(ctx); err != nil {
			return r, err
		}
		steps := d.steps()
		kill = func(ctx context.Context, random *rand.Rand) error { return d.killAtPoints(ctx, random, steps) }
		kills *= len(steps.points)
	}
	if err := d.underLoad(ctx, kill); err != nil {
		return r, err
	}
	err = d.healed(ctx, func() (int, error) {
		r = chainReport{report: report{Kills: kills}, Hit: d.hit}
		err := d.compare(ctx, &r)
		return r.Undecided, err
	})
	return r, err
}

// begin starts a chain and the service, and makes a mandate for each caller. Each
// could fall back to a card.
func (d *chainDrill) begin(ctx context.Context) (err error) {
	if d.node, err = startNode(); err != nil {
		return err
	}
	d.closers = append(d.closers, d.node.stop)
	if err := d.surround(ctx, card.Faults{}, "--chain-url", d.node.URL); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	for range d.Callers {
		m, err := d.wallet(ctx, roomyCents, "wallet", "card_visa")
		if err != nil {
			return err
		}
		d.mandates = append(d.mandates, m.Mandate)
	}
	return nil
}

// wallet makes a mandate with payment methods.
func (d *chainDrill) wallet(ctx context.Context, monthly int64, methods ...string) (client.Session, error) {
	return d.completed(ctx, client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: monthly}, client.TestCompletion{PaymentMethods: methods})
}

// underLoad runs kill while callers charge, then sees their last charges through.
// What is not decided by then is found in the ledger.
func (d *chainDrill) underLoad(ctx context.Context, kill func(context.Context, *rand.Rand) error) error {
	var running sync.WaitGroup
	defer running.Wait()
	seen, abandon := context.WithCancel(ctx)
	defer abandon()
	until, stop := context.WithCancel(seen)
	defer stop()
	for i, m := range d.mandates {
		running.Go(func() { d.call(seen, until, m, rand.New(rand.NewPCG(d.Seed, uint64(i)+10))) }) // repeatable
	}
	if d.Points {
		d.load(seen, until, &running)
	}
	if err := kill(ctx, rand.New(rand.NewPCG(d.Seed, 2))); err != nil { // repeatable
		return err
	}
	stop()
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	timer := time.NewTimer(endsWithin)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		d.fault(fmt.Sprintf("callers had no answer within %s", endsWithin))
	case <-ctx.Done():
	}
	return ctx.Err()
}

// killAtMoments kills and restarts the service, at each moment in turn.
func (d *chainDrill) killAtMoments(ctx context.Context, random *rand.Rand) error {
	turns := append(slices.Clone(labelled), anywhere)
	for i := range d.Kills {
		m := turns[i%len(turns)]
		if err := d.killAt(ctx, m, time.Duration(random.IntN(400))*time.Millisecond); err != nil {
			return fmt.Errorf("kill %d, %s: %w", i, m, err)
		}
		d.hit[m]++
	}
	return nil
}

// killAt kills the service when the moment comes, and starts it again.
func (d *chainDrill) killAt(ctx context.Context, m moment, after time.Duration) error {
	wait, killed := (<-chan struct{})(nil), make(chan<- struct{})
	limit := after
	if m != anywhere {
		wait, killed = d.node.arm(m)
		limit = comesWithin
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-wait:
	case <-timer.C:
		if m != anywhere {
			return errors.New("the moment never came")
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := d.service.running.Kill(); err != nil {
		return err
	}
	if m != anywhere {
		close(killed)
	}
	_, err := d.service.start(ctx)
	d.node.goOn()
	return err
}

// call charges one mandate until it is to stop, and sees its last charge through.
func (d *chainDrill) call(ctx, until context.Context, m string, random *rand.Rand) {
	for until.Err() == nil && ctx.Err() == nil {
		d.waitForCalm()
		switch random.IntN(5) {
		case 0:
			d.hold(ctx, m, client.USDC, ending(random.IntN(int(endings))), random)
		case 1:
			d.refund(ctx, m, client.USDC, random)
		default:
			d.chargeOnce(ctx, m, random)
		}
	}
}

// chargeOnce charges a mandate, again with the same key until that is decided.
func (d *chainDrill) chargeOnce(ctx context.Context, m string, random *rand.Rand) {
	p := client.ChargeParams{
		Mandate: m, AmountCents: int64(1 + random.IntN(100)), Currency: client.USDC,
		Description: "drill", IdempotencyKey: fmt.Sprintf("k%d-%d", random.Uint64(), random.Uint64()),
	}
	for definite := false; ctx.Err() == nil && !definite; {
		_, definite = d.settled(d.merchant.Charge(ctx, p))
	}
}
