package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

const (
	few, many = 1_000, 1_000_000
	// perMandate is how many charges each mandate has when there are many.
	perMandate = 1_000
	// page is a page of a merchant's list.
	page = 20
	// rounds are how often a cost is measured; the median counts.
	rounds = 400
)

// stored is a store with charges in it, and what it is measured with.
type stored struct {
	*work

	store ledger.Store
	took  [4][]time.Duration // by each of measures
}

// measures are what a person asks most, and what each may cost with many charges
// against few; statistics add up a row for each mandate and have no aim.
var measures = [...]struct {
	name string
	aim  float64
	do   func(context.Context, *work) error
}{
	{"reserve", 1.3, func(ctx context.Context, w *work) error {
		_, err := w.Reserve(ctx, w.request(w.mandates[0]))
		return err
	}},
	{"balance", 1.3, func(ctx context.Context, w *work) error { _, err := w.Mandate(ctx, w.mandates[0].ID); return err }},
	{"list", 1.3, func(ctx context.Context, w *work) error { _, err := w.Charges(ctx, w.payee.ID, "", page); return err }},
	{"statistics", 0, func(ctx context.Context, w *work) error { _, err := w.Stats(ctx, w.payee.ID, time.Now()); return err }},
}

// growth measures what a charge, a balance and a list cost with few and with many
// charges stored, and how long a check of all of them takes. The two stores are
// asked in turn, so that what else the machine does weighs on both alike.
func growth(ctx context.Context, t *table, e engine) error {
	small, err := filled(ctx, e, few)
	if err != nil {
		return err
	}
	defer small.close()
	large, err := filled(ctx, e, many)
	if err != nil {
		return err
	}
	defer large.close()
	for range rounds {
		for _, s := range []*stored{small, large} {
			if err := s.measure(ctx); err != nil {
				return err
			}
		}
	}
	for i, m := range measures {
		a, b := median(small.took[i]), median(large.took[i])
		t.add(figure{
			what: e.name + ", " + m.name + " at 1,000,000 against 1,000 charges", got: float64(b) / float64(a),
			unit: "×", aim: m.aim, below: true, note: fmt.Sprintf("median %v against %v", b, a),
		})
	}
	return checks(ctx, t, e, large.store)
}

// filled is a new store with n charges.
func filled(ctx context.Context, e engine, n int) (*stored, error) {
	store, err := e.open()
	if err != nil {
		return nil, err
	}
	l, err := ledger.New(ledger.Config{Store: store, Clock: time.Now})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s := &stored{work: &work{Ledger: l}, store: store}
	err = s.prepare(ctx, 1)
	if err == nil {
		err = (&filler{work: s.work, store: store}).upTo(ctx, n)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stored) close() {
	s.Close()
	_ = s.store.Close() // it is thrown away
}

// measure does one of each.
func (s *stored) measure(ctx context.Context) error {
	for i, m := range measures {
		start := time.Now()
		if err := m.do(ctx, s.work); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		s.took[i] = append(s.took[i], time.Since(start))
	}
	return nil
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// checks measures the checker on many charges.
func checks(ctx context.Context, t *table, e engine, store ledger.Store) error {
	start := time.Now()
	r, err := ledger.Check(ctx, store)
	if err != nil {
		return err
	}
	whole := time.Since(start)
	checker := ledger.NewChecker(store, time.Now)
	if _, err := checker.Changed(ctx); err != nil {
		return err
	}
	start = time.Now()
	again, err := checker.Changed(ctx)
	if err != nil {
		return err
	}
	changed := time.Since(start)
	if faults := append(r.Faults, again.Faults...); len(faults) > 0 {
		return fmt.Errorf("ledger is not sound: %s", faults[0])
	}
	perMillion := whole.Seconds() * 1e6 / float64(r.Postings)
	t.add(figure{
		what: e.name + ", whole check of a million postings", got: perMillion, unit: " s", aim: 5, below: true,
		note: fmt.Sprintf("%d charges, %d postings, %.1f s", r.Charges, r.Postings, whole.Seconds()),
	})
	t.add(figure{
		what: e.name + ", incremental check with nothing changed (mandates in turn)", got: changed.Seconds(), unit: " s", aim: 5, below: true,
		note: fmt.Sprintf("%d mandates", again.Mandates),
	})
	return nil
}

// filler writes charges as the ledger would have, thousands in one commit.
type filler struct {
	*work

	store  ledger.Store
	stored int
	began  time.Time
}

func (f *filler) upTo(ctx context.Context, n int) error {
	if f.began.IsZero() {
		f.began = time.Now().Add(-24 * time.Hour)
	}
	for f.stored < n {
		m, err := f.mandate(ctx)
		if err != nil {
			return err
		}
		e := f.charges(m, min(perMandate, n-f.stored))
		keys := ledger.Keys{Mandates: []string{m.ID}}
		if err := f.store.Update(ctx, keys, func(*ledger.State) (ledger.Effects, error) { return e, nil }); err != nil {
			return err
		}
	}
	return nil
}

// charges are n captured charges of a mandate with all that belongs to them.
func (f *filler) charges(m ledger.Mandate, n int) ledger.Effects {
	var e ledger.Effects
	tally := ledger.Tally{TallyKey: ledger.TallyKey{MandateID: m.ID, MerchantID: f.payee.ID}}
	for range n {
		f.stored++
		at := f.began.Add(time.Duration(f.stored) * 50 * time.Millisecond).Truncate(time.Millisecond)
		c := ledger.Charge{
			ID: id.New(id.Charge, at), MandateID: m.ID, MerchantID: f.payee.ID, Amount: dollar, Currency: "usd", Description: "bench",
			Metadata: map[string]string{"order": "1"}, Rails: []rail.Name{rail.Card}, Day: m.Windows[0].Start, Status: ledger.ChargeSucceeded,
			Rail: rail.Card, ProcessorID: "pay_1", CreatedAt: at, SettledAt: at,
		}
		e.Insert.Charges = append(e.Insert.Charges, c)
		e.Insert.Idempotency = append(e.Insert.Idempotency, ledger.Idempotency{
			IdempotencyKey: ledger.IdempotencyKey{MerchantID: f.payee.ID, Kind: ledger.ChargeKey, Key: id.NewCapability("key_")}, Fingerprint: id.Hash(c.ID),
			ChargeID: c.ID, CreatedAt: at,
		})
		clearing := "rail:" + string(rail.Card) + ":clearing"
		e.Insert.Postings = append(e.Insert.Postings,
			ledger.Posting{ChargeID: c.ID, MandateID: m.ID, From: "mandate:" + m.ID, To: clearing, Amount: dollar, At: at},
			ledger.Posting{ChargeID: c.ID, N: 1, MandateID: m.ID, From: clearing, To: "merchant:" + f.payee.ID, Amount: dollar, At: at})
		m.EventSeq++
		e.Insert.Events = append(e.Insert.Events, ledger.Event{
			ID: id.New(id.Event, at), MandateID: m.ID, Seq: m.EventSeq, MerchantID: f.payee.ID, Type: webhook.PaymentSucceeded,
			Data: `{"transactionId":"` + c.ID + `"}`, CreatedAt: at,
		})
		m.Windows = []ledger.Window{m.Windows[0]}
		m.Windows[0].Used += int64(dollar)
		tally.Count, tally.Volume = tally.Count+1, tally.Volume+dollar
	}
	e.Insert.Tallies, e.Update.Mandates = []ledger.Tally{tally}, []ledger.Mandate{m}
	return e
}
