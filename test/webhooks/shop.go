package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

const (
	// callers charge at once, each a mandate of its own at a time.
	callers = 32
	// perMandate is how many events a mandate has.
	perMandate = 25
	// perShop is how many endpoints a merchant has; the last of them behaves badly.
	perShop = 5
)

// shop is a merchant with its receivers, which get all events.
type shop struct {
	merchant  *client.Client
	receivers []*receiver

	mu       sync.Mutex
	count    int
	expected map[string][]string  // by mandate, what happened
	answered map[string]time.Time // charges
}

// open opens an account with endpoints. ahead is how far the service's clock
// runs ahead.
func open(ctx context.Context, s *service, name string, seed uint64, ahead func() time.Duration) (*shop, error) {
	m, err := s.merchant(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := s.client(m)
	if err != nil {
		return nil, err
	}
	shop := &shop{merchant: c, expected: map[string][]string{}, answered: map[string]time.Time{}}
	for i := range uint64(perShop) {
		r, err := newReceiver(ctx, rand.New(rand.NewPCG(seed, i))) // repeatable
		if err != nil {
			return shop, err
		}
		shop.receivers = append(shop.receivers, r)
		e, err := c.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "http://" + r.addr})
		if err != nil {
			return shop, err
		}
		r.ahead = ahead
		r.verify = webhook.Verifier{
			Secrets: []string{e.Secret}, Tolerance: 24 * time.Hour, Clock: func() time.Time { return time.Now().Add(ahead()) },
		}
	}
	return shop, nil
}

// bad is the receiver that behaves badly on request.
func (s *shop) bad() *receiver { return s.receivers[perShop-1] }

func (s *shop) good() []*receiver { return s.receivers[:perShop-1] }

// live is the life of one mandate: n events in order, each when its turn comes.
func (s *shop) live(ctx context.Context, n int, turn func(context.Context)) error {
	turn(ctx)
	session, err := s.merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 100, MaxMonthlySpendCents: 100_000})
	if err != nil {
		return err
	}
	done, err := s.merchant.CompleteTestSession(ctx, session.SessionToken, client.TestCompletion{})
	if err != nil {
		return err
	}
	s.happened(done.MandateID, string(webhook.MandateCreated))
	for range n - 1 {
		turn(ctx)
		c, err := s.merchant.Charge(ctx, client.ChargeParams{Mandate: done.Mandate, AmountCents: 1, Currency: client.USD, Description: "drill"})
		if err != nil {
			return err
		}
		s.happened(done.MandateID, c.TransactionID)
	}
	return nil
}

func (s *shop) happened(mandate, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.expected[mandate] = append(s.expected[mandate], what)
	s.answered[what] = time.Now()
}

// missing is how many deliveries of what happened have not come.
func (s *shop) missing() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.receivers {
		n += max(s.count-r.count(), 0)
	}
	return n
}

// latencies are how long after charges between two times their events reached the
// receivers that behave: after they had happened, and after they were answered.
func (s *shop) latencies(from, to time.Time) (happened, answered []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.good() {
		r.mu.Lock()
		for name, at := range s.answered {
			if got, ok := r.at[name]; ok && name != string(webhook.MandateCreated) && at.After(from) && at.Before(to) {
				happened, answered = append(happened, got.age), append(answered, got.came.Sub(at))
			}
		}
		r.mu.Unlock()
	}
	return happened, answered
}

// judge compares what happened with the first delivery of each to a receiver.
func (s *shop) judge(r *report, to *receiver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	r.Bad += to.invalid
	r.Deliveries += len(to.taken)
	r.Requests += to.requests
	all := 0
	for mandate, want := range s.expected {
		got := to.order[mandate]
		all += len(got)
		r.Lost += max(len(want)-len(got), 0)
		r.Invented += max(len(got)-len(want), 0)
		if len(got) == len(want) {
			for i := range want {
				if want[i] != got[i] {
					r.Disordered++
					break
				}
			}
		}
	}
	r.Invented += len(to.taken) - all
}
