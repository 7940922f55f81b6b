package main

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/webhook"
)

// killEndpoints is how many endpoints the instances share.
const killEndpoints = 4

// kill is the drill in which the service is killed while it delivers. Of several
// instances the last is killed each time, and the others go on; what it had on lease
// is theirs once that has lapsed.
func kill(ctx context.Context, o options) (r report, err error) {
	began := time.Now()
	s, err := startService(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	account, err := s.merchant(ctx, "Drill")
	if err != nil {
		return r, err
	}
	merchant, err := s.client(account)
	if err != nil {
		return r, err
	}
	hasty, err := client.New(client.Config{BaseURL: s.urls[0], MerchantID: account.ID, APIKey: account.APIKey, MaxRetries: -1})
	if err != nil {
		return r, err
	}
	receivers, err := patientReceivers(ctx, merchant, o.Seed)
	defer func() {
		for _, to := range receivers {
			err = errors.Join(err, to.stop())
		}
	}()
	if err != nil {
		return r, err
	}
	charging, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() { sell(ctx, charging, hasty) })
	}
	count := func() (n int) {
		for _, to := range receivers {
			n += to.count()
		}
		return n
	}
	if err := s.killed(ctx, o, &r, count); err != nil {
		return r, err
	}
	stop()
	all.Wait()
	happened, err := history(ctx, merchant)
	if err != nil {
		return r, err
	}
	err = until(ctx, func() bool { return count() >= killEndpoints*len(happened) })
	for _, to := range receivers {
		r.lose(happened, to)
	}
	// What the last kill left pending may have ended since, and was reported.
	later, e := history(ctx, merchant)
	for _, to := range receivers {
		r.invent(later, to)
	}
	r.Events, r.Took = len(happened), time.Since(began)
	return r, errors.Join(err, e)
}

// killed kills the last instance again and again: each time that receivers received
// something more, or at the steps of a delivery.
func (s *service) killed(ctx context.Context, o options, r *report, count func() int) error {
	random := rand.New(rand.NewPCG(o.Seed, 2)) // repeatable
	victim := len(s.instances) - 1
	points := []failpoint.Point{""}
	if o.Points {
		points = failpoint.DeliveryPoints()
	}
	for _, at := range points {
		for range o.Kills {
			enough := count() + 1 + random.IntN(100*killEndpoints)
			if err := until(ctx, func() bool { return count() >= enough }); err != nil {
				return err
			}
			err, ended := s.kill(victim), true
			if err == nil && at != "" {
				times := 1 + random.IntN(50)
				if at == failpoint.EndpointTaken { // that is few times in the life of an instance
					times = 1 + random.IntN(killEndpoints)
				}
				ended, err = s.endAt(ctx, victim, at, times)
			}
			if !ended {
				r.Unreached = append(r.Unreached, string(at))
			}
			if err = errors.Join(err, s.start(ctx, victim)); err != nil {
				return err
			}
			r.Kills++
		}
	}
	return nil
}

// patientReceivers are receivers that behave, each an endpoint of the merchant.
func patientReceivers(ctx context.Context, merchant *client.Client, seed uint64) (all []*receiver, err error) {
	for i := range uint64(killEndpoints) {
		to, err := newReceiver(ctx, rand.New(rand.NewPCG(seed, i))) // repeatable
		if err != nil {
			return all, err
		}
		all = append(all, to)
		to.mood.pace = 4 * time.Millisecond
		e, err := merchant.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "http://" + to.addr})
		if err != nil {
			return all, err
		}
		to.verify = webhook.Verifier{Secrets: []string{e.Secret}}
	}
	return all, nil
}

// lose counts the events that a receiver did not get, and closes its book.
func (r *report) lose(happened map[string]bool, to *receiver) {
	to.mu.Lock()
	defer to.mu.Unlock()
	r.Deliveries, r.Requests = r.Deliveries+len(to.taken), r.Requests+to.requests
	r.Bad, r.Overlaps = r.Bad+to.invalid, r.Overlaps+to.overlaps
	for id := range happened {
		if !to.taken[id] {
			r.Lost++
		}
	}
	to.told = maps.Clone(to.taken)
}

// invent counts the events that a receiver got and did not happen.
func (r *report) invent(happened map[string]bool, to *receiver) {
	for id := range to.told {
		if !happened[id] {
			r.Invented++
		}
	}
}

// sell charges until it is to stop; whether it is answered does not matter here.
func sell(ctx, until context.Context, merchant *client.Client) {
	for until.Err() == nil {
		s, err := merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 100, MaxMonthlySpendCents: 100_000})
		if err != nil {
			_ = sleep.For(until, 20*time.Millisecond)
			continue
		}
		m, err := merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{})
		for n := 0; n < perMandate && err == nil && until.Err() == nil; n++ {
			_, err = merchant.Charge(ctx, client.ChargeParams{Mandate: m.Mandate, AmountCents: 1, Currency: client.USD, Description: "drill"})
		}
	}
}

// history is all that the service says happened.
func history(ctx context.Context, merchant *client.Client) (map[string]bool, error) {
	all := map[string]bool{}
	for p := (client.EventListParams{Limit: 100}); ; {
		page, err := merchant.EventsPage(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Data {
			all[e.ID] = true
			p.StartingAfter = e.ID
		}
		if !page.HasMore {
			return all, nil
		}
	}
}
