package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
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

	Hit map[moment]int // how often the service was killed where
}

func (r chainReport) failed() bool {
	return r.report.failed() || slices.ContainsFunc(labelled, func(m moment) bool { return r.Hit[m] == 0 })
}

func (r chainReport) String() string {
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
}

func runChain(ctx context.Context, o options) (r chainReport, err error) {
	d := &chainDrill{drill: drill{options: o, answers: map[string]client.Charge{}}}
	if d.dir, err = os.MkdirTemp("", "crash-chain-"); err != nil {
		return r, err
	}
	defer os.RemoveAll(d.dir)
	if d.node, err = startNode(); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.node.stop()) }()
	if d.processor, err = card.OpenProcessor(ctx, card.ProcessorConfig{Path: filepath.Join(d.dir, "processor.db")}); err != nil {
		return r, err
	}
	gateway := httptest.NewServer(d.processor.Handler())
	defer func() {
		gateway.Close()
		err = errors.Join(err, d.processor.Close())
	}()
	d.store = filepath.Join(d.dir, "data", "pay.db")
	if d.service, err = build(ctx, d.dir, "--processor", gateway.URL, "--chain-url", d.node.URL); err != nil {
		return r, err
	}
	if err := d.begin(ctx); err != nil {
		return r, errors.Join(err, d.service.running.Kill())
	}
	r.Hit = map[moment]int{}
	if err := d.killAtMoments(ctx, r.Hit); err != nil {
		return r, errors.Join(err, d.service.running.Kill())
	}
	if err := d.service.running.Stop(); err != nil {
		return r, err
	}
	err = d.compare(ctx, &r)
	return r, err
}

// begin starts the service and makes a mandate for each caller. Each could fall
// back to a card.
func (d *chainDrill) begin(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return err
	}
	for range d.Callers {
		s, err := d.merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 1000, MaxMonthlySpendCents: 10_000_000})
		if err != nil {
			return err
		}
		done, err := d.merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{PaymentMethods: []string{"wallet", "card_visa"}})
		if err != nil {
			return err
		}
		d.mandates = append(d.mandates, done.IntentMandate)
	}
	return nil
}

// killAtMoments kills and restarts the service, at each moment in turn, while
// callers charge, then sees their last charges through.
func (d *chainDrill) killAtMoments(ctx context.Context, hit map[moment]int) error {
	var running sync.WaitGroup
	defer running.Wait()
	seen, abandon := context.WithCancel(ctx)
	defer abandon()
	until, stop := context.WithCancel(seen)
	defer stop()
	for i, m := range d.mandates {
		running.Go(func() { d.call(seen, until, m, rand.New(rand.NewPCG(d.Seed, uint64(i)+10))) }) // repeatable
	}
	random := rand.New(rand.NewPCG(d.Seed, 2)) // repeatable
	turns := append(slices.Clone(labelled), anywhere)
	for i := range d.Kills {
		m := turns[i%len(turns)]
		if err := d.killAt(ctx, m, time.Duration(random.IntN(400))*time.Millisecond); err != nil {
			return fmt.Errorf("kill %d, %s: %w", i, m, err)
		}
		hit[m]++
	}
	stop()
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	timer := time.NewTimer(endsWithin)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C: // what is not decided is found in the ledger
	case <-ctx.Done():
	}
	return ctx.Err()
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
	for n := 0; until.Err() == nil && ctx.Err() == nil; n++ {
		p := client.ChargeParams{
			Mandate: m, AmountCents: int64(1 + random.IntN(100)), Currency: client.USDC,
			Description: "drill", IdempotencyKey: fmt.Sprintf("k%d-%d", random.Uint64(), n),
		}
		for definite := false; ctx.Err() == nil && !definite; {
			_, definite = d.settled(d.merchant.Charge(ctx, p))
		}
	}
}

// compare holds the answers and the ledger against the chain and the processor.
func (d *chainDrill) compare(ctx context.Context, r *chainReport) (err error) {
	store, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	check, err := ledger.Check(ctx, store)
	if err != nil {
		return err
	}
	moved, err := d.moved(ctx)
	if err != nil {
		return err
	}
	cards, err := d.processor.Totals(ctx)
	if err != nil {
		return err
	}
	r.report = report{
		Kills: d.Kills, Charges: check.Charges, Succeeded: check.Succeeded, Failed: check.Failed, Undecided: check.Pending,
		Refused: d.refused, Faults: append(d.broken, check.Faults...),
	}
	if cards.Payments > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d charges fell back to a card", cards.Payments))
	}
	if check.Failed > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d charges failed on a chain that works", check.Failed))
	}
	for id, answer := range d.answers {
		c, err := store.Charge(ctx, id)
		if err != nil {
			return fmt.Errorf("read charge %s: %w", id, err)
		}
		if c.Status != ledger.ChargeSucceeded || answer.Status != client.Completed || c.TxHash != answer.TxHash {
			r.Lost++
		}
		d.audit(c, moved, r)
	}
	for ref := range moved {
		r.Faults = append(r.Faults, "the chain moved money for nobody's charge: "+ref.Hex())
	}
	return nil
}

// audit holds one charge against what the chain moved for it.
func (d *chainDrill) audit(c ledger.Charge, moved map[common.Hash][]transfer, r *chainReport) {
	ref := crypto.Keccak256Hash([]byte(rail.Reference(c.ID, rail.Chain)))
	ours := moved[ref]
	delete(moved, ref)
	switch {
	case len(ours) > 1:
		r.Doubled++
	case len(ours) == 0:
		r.Lost++
	case ours[0] != transfer{hash: common.HexToHash(c.TxHash), to: common.HexToAddress(c.PayTo), micros: int64(c.Amount)}:
		r.Faults = append(r.Faults, fmt.Sprintf("charge %s: the chain moved %+v", c.ID, ours[0]))
	}
}

// transfer is what the chain moved for a reference.
type transfer struct {
	hash   common.Hash
	to     common.Address
	micros int64
}

// transferTopic is the token's event Transfer(address,address,uint256).
var transferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

// moved reads the whole chain: the router's events by reference, each with the
// token's own word for it, which every transaction has exactly one of.
func (d *chainDrill) moved(ctx context.Context) (map[common.Hash][]transfer, error) {
	router := contracts.NewMandateRouter()
	logs, err := d.node.chain.Client().FilterLogs(ctx, ethereum.FilterQuery{
		Addresses: []common.Address{devchain.Router(), devchain.USDC()},
	})
	if err != nil {
		return nil, fmt.Errorf("read the chain: %w", err)
	}
	tokens := map[common.Hash][]types.Log{}
	for _, l := range logs {
		if l.Address == devchain.USDC() && l.Topics[0] == transferTopic {
			tokens[l.TxHash] = append(tokens[l.TxHash], l)
		}
	}
	all := map[common.Hash][]transfer{}
	for i := range logs {
		charged, err := router.UnpackChargedEvent(&logs[i])
		if err != nil {
			continue
		}
		said := tokens[charged.Raw.TxHash]
		if len(said) != 1 {
			return nil, fmt.Errorf("transaction %s has %d transfers", charged.Raw.TxHash, len(said))
		}
		delete(tokens, charged.Raw.TxHash)
		all[charged.Ref] = append(all[charged.Ref], transfer{
			hash: charged.Raw.TxHash, to: common.BytesToAddress(said[0].Topics[2][:]), micros: int64(common.BytesToHash(said[0].Data).Big().Uint64()),
		})
	}
	if len(tokens) > 0 {
		return nil, fmt.Errorf("%d transfers outside of any charge", len(tokens))
	}
	return all, nil
}
