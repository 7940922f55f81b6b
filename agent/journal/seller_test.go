package journal_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402"
)

// funder is a service that pays outside sellers. It funds each idempotency key once.
type funder struct {
	funded map[string]string // credentials by idempotency key
	asked  int
	fail   error // of the next answer, after the money was moved
	refuse error // of every answer, before that
}

func (*funder) Balance(context.Context, string) (client.Balance, error) {
	return client.Balance{Status: client.MandateActive, MaxPerTxCents: 100, RemainingMonthlySpendCents: 100}, nil
}

func (*funder) CreatePresentation(context.Context, string, client.PresentationParams) (client.Presentation, error) {
	return client.Presentation{}, errors.New("this seller takes no mandate")
}

func (f *funder) CreateCredential(_ context.Context, _ string, p client.CredentialParams) (client.Credential, error) {
	f.asked++
	if f.refuse != nil {
		return client.Credential{}, f.refuse
	}
	if f.funded[p.IdempotencyKey] == "" {
		f.funded[p.IdempotencyKey] = fmt.Sprint("credential-", len(f.funded)+1)
	}
	if err := f.fail; err != nil {
		f.fail = nil
		return client.Credential{}, err
	}
	return client.Credential{
		TransactionID: "txn_1", Status: client.Pending, AmountMicros: 10_000, PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
		Header:    &client.CredentialHeader{Name: x402.HeaderPaymentSignature, Value: f.funded[p.IdempotencyKey]},
		ExpiresAt: time.Now().Add(time.Minute),
	}, nil
}

// steps ends a process at one of the steps of a purchase: it and every later one fail.
type steps struct {
	agent.Journal
	http.RoundTripper
	*funder

	at   string // the step
	dead atomic.Bool
	seen bool
}

var errDead = errors.New("the process has ended")

func (s *steps) step(name string) error {
	if name == s.at {
		s.seen = true
		s.dead.Store(true)
	}
	if s.dead.Load() {
		return errDead
	}
	return nil
}

// around does a step, unless the process ends before or after it.
func (s *steps) around(name string, do func() error) error {
	if err := s.step("before " + name); err != nil {
		return err
	}
	return errors.Join(do(), s.step("after "+name))
}

func (s *steps) Begin(ctx context.Context, e agent.JournalEntry, limits agent.SpendingLimits) error {
	return s.around("begun", func() error { return s.Journal.Begin(ctx, e, limits) })
}

func (s *steps) Record(ctx context.Context, e agent.JournalEntry, release bool) error {
	return s.around(string(e.State), func() error { return s.Journal.Record(ctx, e, release) })
}

func (s *steps) Forget(ctx context.Context, id string) error {
	return s.around("forgotten", func() error { return s.Journal.Forget(ctx, id) })
}

func (s *steps) CreateCredential(ctx context.Context, mandate string, p client.CredentialParams) (c client.Credential, err error) {
	err = s.around("funded", func() error { c, err = s.funder.CreateCredential(ctx, mandate, p); return err })
	return c, err
}

func (s *steps) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	name := "asked"
	if r.Header.Get(x402.HeaderPaymentSignature) != "" {
		name = "paid for"
	}
	err = s.around(name, func() error { resp, err = s.RoundTripper.RoundTrip(r); return err })
	if err != nil && resp != nil {
		_ = resp.Body.Close()
		resp = nil
	}
	return resp, err
}

// buyer has a mandate and no wallet, and ends at a step.
func (p *process) buyer(f *funder, at string) *steps {
	s := &steps{funder: f, at: at}
	p.change = func(c *agent.Config) {
		s.Journal, s.RoundTripper = c.Journal, c.Base
		c.Journal, c.Base, c.Service, c.Wallet, c.Mandate, c.BudgetMicros = s, s, s, nil, "mandate", 10_000
	}
	p.restart()
	return s
}

// TestPurchaseFromAnOutsideSellerIsFundedOnce: the agent ends at each step of a purchase, and its
// budget fits one.
func TestPurchaseFromAnOutsideSellerIsFundedOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"asked", "begun", "funding", "funded", "sent", "paid for", "paid", "delivered"} {
		for _, at := range []string{"before " + step, "after " + step} {
			t.Run(at, func(t *testing.T) {
				t.Parallel()
				eachKind(t, func(t *testing.T, p *process, s *shop) {
					fundedOnce(agent.WithPurchaseKey(t.Context(), "order 1"), t, p, s, at)
				})
			})
		}
	}
	for _, at := range []string{"after begun", "before funded", "after funded", "before sent", "after sent"} {
		t.Run("without a key "+at, func(t *testing.T) {
			t.Parallel()
			eachKind(t, func(t *testing.T, p *process, s *shop) { fundedOnce(t.Context(), t, p, s, at) })
		})
	}
}

func fundedOnce(ctx context.Context, t *testing.T, p *process, s *shop, at string) {
	t.Helper()
	f := &funder{funded: map[string]string{}}
	first := p.buyer(f, at)
	_, _ = p.order(ctx, s.URL, "one book")
	require.True(t, first.seen, "the process has ended")
	p.buyer(f, "")
	_, err := p.order(ctx, s.URL, "one book")
	if !errors.Is(err, agent.ErrPurchased) && !errors.Is(err, agent.ErrAnswerLost) {
		require.NoError(t, err)
	}
	require.Len(t, f.funded, 1)
	require.Len(t, s.paid, 1, "one credential was used")
}

func TestFundingWithoutAnAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		ctx, f := agent.WithPurchaseKey(t.Context(), "order 1"), &funder{funded: map[string]string{}, fail: errDead}
		p.buyer(f, "")
		_, err := p.order(ctx, s.URL, "one book")
		require.ErrorIs(t, err, errDead)
		left, err := p.agent.Unfinished(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, agent.PurchaseFunding, left[0].State)
		text, err := p.order(ctx, s.URL, "one book")
		require.NoError(t, err)
		require.Equal(t, "OK ordered one book", text)
		require.Len(t, f.funded, 1)
		require.Len(t, s.paid, 1)
	})
}

// TestRefusedFundingGivesTheBudgetBack: also if it was begun before a restart, and if the first
// offer can no longer be paid.
func TestRefusedFundingGivesTheBudgetBack(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, p *process, s *shop) {
		ctx, f := agent.WithPurchaseKey(t.Context(), "order 1"), &funder{funded: map[string]string{}, refuse: client.ErrUnauthorized}
		p.buyer(f, "")
		_, err := p.order(ctx, s.URL, "one book")
		require.ErrorIs(t, err, client.ErrUnauthorized)
		left, err := p.agent.Unfinished(t.Context())
		require.NoError(t, err)
		require.Empty(t, left, "nothing was funded")

		f.refuse = nil
		p.buyer(f, "after funded")
		_, err = p.order(ctx, s.URL, "one book")
		require.ErrorIs(t, err, errDead)
		f.refuse = client.ErrUnauthorized
		p.buyer(f, "")
		_, err = p.order(ctx, s.URL, "one book")
		require.ErrorIs(t, err, client.ErrUnauthorized)
		left, err = p.agent.Unfinished(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1, "it was funded before")
		f.refuse = client.ErrOfferNotPayable
		_, err = p.order(ctx, s.URL, "one book")
		require.ErrorIs(t, err, client.ErrOfferNotPayable)
		left, err = p.agent.Unfinished(t.Context())
		require.NoError(t, err)
		require.Empty(t, left)
		f.refuse = nil
		_, err = p.order(ctx, s.URL, "one book")
		require.NoError(t, err, "the budget was given back")
	})
}
