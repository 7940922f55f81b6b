package card_test

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// TestMovementsAreListedInPages: of captured payments and succeeded refunds alone, in the
// process and over HTTP.
func TestMovementsAreListedInPages(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	p, err := card.OpenProcessor(t.Context(), card.ProcessorConfig{Path: filepath.Join(t.TempDir(), "card.db"), Clock: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	srv := httptest.NewServer(p.Handler())
	t.Cleanup(srv.Close)
	far, err := card.NewHTTP(card.HTTPConfig{BaseURL: srv.URL})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, far.Close()) })

	customer, err := p.CreateCustomer(t.Context(), card.CustomerParams{Reference: "c"})
	require.NoError(t, err)
	method, err := p.CreateMethod(t.Context(), card.MethodParams{Reference: "m", Customer: customer.ID, Card: "card_visa"})
	require.NoError(t, err)
	pay := func(reference string, cents money.Cents) card.PaymentParams {
		return card.PaymentParams{Reference: reference, Customer: customer.ID, Method: method.ID, Payee: "mer_1", Mandate: "del_1", AmountCents: cents}
	}
	want := map[string]rail.Micros{}
	for n := range 2*card.MaxMoved + 1 {
		now = now.Add(time.Millisecond)
		reference := fmt.Sprintf("payment-%d", n)
		_, err := p.Pay(t.Context(), pay(reference, money.Cents(n+100)))
		require.NoError(t, err)
		want["charge/"+reference] = rail.Micros(n+100) * 10_000
	}
	_, err = p.Authorize(t.Context(), pay("held", 100))
	require.NoError(t, err)
	_, err = p.Refund(t.Context(), card.RefundParams{Reference: "refund", Payment: "payment-7", AmountCents: 50})
	require.NoError(t, err)
	want["refund/refund"] = 500_000

	for name, gateway := range map[string]card.Gateway{"in the process": p, "over HTTP": far} {
		r, err := card.New(card.Config{Gateway: gateway})
		require.NoError(t, err)
		list := func(since time.Time) map[string]rail.Micros {
			got := map[string]rail.Micros{}
			require.NoError(t, r.Movements(t.Context(), since, func(m rail.Movement) error {
				require.NotContains(t, got, m.Key)
				require.NotEmpty(t, m.ID)
				got[m.Key] = m.Amount
				return nil
			}), name)
			return got
		}
		require.Equal(t, want, list(time.Time{}), name)
		require.Len(t, list(now), 2, name)
		_, err = gateway.(card.Lister).Moved(t.Context(), card.MovedQuery{Limit: card.MaxMoved + 1}) //nolint:forcetypeassert // both are
		require.ErrorIs(t, err, card.ErrInvalid, name)
	}
}

// TestGatewayThatListsNothingIsNamed: and nothing is taken for reconciled.
func TestGatewayThatListsNothingIsNamed(t *testing.T) {
	t.Parallel()
	r, err := card.New(card.Config{Gateway: struct{ card.Gateway }{}})
	require.NoError(t, err)
	require.ErrorIs(t, r.Movements(t.Context(), time.Time{}, nil), rail.ErrNotListed)
}
