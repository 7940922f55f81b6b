package main

import (
	"context"
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

// costs are how long one of each takes.
type costs struct{ charge, balance, list, stats time.Duration }

// growth measures what a charge, a balance and a list cost with few and with many
// charges stored, and how long a check of all of them takes.
func growth(ctx context.Context, t *table, e engine) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	defer store.Close() // its folder is deleted
	l, err := ledger.New(ledger.Config{Store: store, Clock: wallClock{}})
	if err != nil {
		return err
	}
	defer l.Close()
	w := &work{Ledger: l}
	if err := w.prepare(ctx, store, 1); err != nil {
		return err
	}
	fill := &filler{work: w, store: store}
	if err := fill.upTo(ctx, few); err != nil {
		return err
	}
	small, err := w.costs(ctx)
	if err != nil {
		return err
	}
	if err := fill.upTo(ctx, many); err != nil {
		return err
	}
	large, err := w.costs(ctx)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name         string
		small, large time.Duration
	}{
		{"reserve", small.charge, large.charge}, {"balance", small.balance, large.balance}, {"list", small.list, large.list},
	} {
		t.add(figure{
			what: e.name + ", " + c.name + " at 1,000,000 against 1,000 charges", got: float64(c.large) / float64(c.small),
			unit: "×", aim: 1.3, below: true, note: fmt.Sprintf("median %v against %v", c.large, c.small),
		})
	}
	return checks(ctx, t, e, store, large)
}

// checks measures the checker on many charges.
func checks(ctx context.Context, t *table, e engine, store ledger.Store, with costs) error {
	checker := ledger.NewChecker(store)
	start := time.Now()
	r, err := checker.Whole(ctx)
	if err != nil {
		return err
	}
	whole := time.Since(start)
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
		what: e.name + ", incremental check with nothing changed", got: changed.Seconds(), unit: " s", aim: 5, below: true,
		note: fmt.Sprintf("%d mandates; a merchant's statistics take %v", again.Mandates, with.stats),
	})
	return nil
}

// costs measures one of each a few hundred times.
func (w *work) costs(ctx context.Context) (c costs, err error) {
	m := w.mandates[0]
	for _, one := range []struct {
		of *time.Duration
		do func() error
	}{
		{&c.charge, func() error { _, err := w.Reserve(ctx, w.request(m)); return err }},
		{&c.balance, func() error { _, err := w.Mandate(ctx, m.ID); return err }},
		{&c.list, func() error { _, err := w.Charges(ctx, w.payee.ID, "", page); return err }},
		{&c.stats, func() error { _, err := w.Stats(ctx, w.payee.ID, time.Now()); return err }},
	} {
		var took []time.Duration
		for range rounds {
			start := time.Now()
			if err := one.do(); err != nil {
				return c, err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		*one.of = took[len(took)/2]
	}
	return c, nil
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
			Metadata: map[string]string{"order": "1"}, Rails: []rail.Name{rail.Fiat}, Month: m.Month, Status: ledger.ChargeSucceeded,
			Rail: rail.Fiat, ProcessorID: "pay_1", CreatedAt: at, SettledAt: at,
		}
		e.Insert.Charges = append(e.Insert.Charges, c)
		e.Insert.Idempotency = append(e.Insert.Idempotency, ledger.Idempotency{
			IdempotencyKey: ledger.IdempotencyKey{MerchantID: f.payee.ID, Key: id.NewCapability("key_")}, Fingerprint: id.Hash(c.ID),
			ChargeID: c.ID, CreatedAt: at,
		})
		clearing := "rail:" + string(rail.Fiat) + ":clearing"
		e.Insert.Postings = append(e.Insert.Postings,
			ledger.Posting{ChargeID: c.ID, MandateID: m.ID, From: "mandate:" + m.ID, To: clearing, Amount: dollar, At: at},
			ledger.Posting{ChargeID: c.ID, N: 1, MandateID: m.ID, From: clearing, To: "merchant:" + f.payee.ID, Amount: dollar, At: at})
		m.EventSeq++
		e.Insert.Events = append(e.Insert.Events, ledger.Event{
			ID: id.New(id.Event, at), MandateID: m.ID, Seq: m.EventSeq, MerchantID: f.payee.ID, Type: webhook.PaymentSucceeded,
			Data: []byte(`{"transactionId":"` + c.ID + `"}`), CreatedAt: at,
		})
		m.Spent += dollar
		tally.Count, tally.Volume = tally.Count+1, tally.Volume+dollar
	}
	e.Insert.Tallies, e.Update.Mandates = []ledger.Tally{tally}, []ledger.Mandate{m}
	return e
}
