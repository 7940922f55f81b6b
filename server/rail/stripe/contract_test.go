package stripe_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/railtest"
	"github.com/paywarrant/paywarrant/server/rail/stripe"
	"github.com/paywarrant/paywarrant/server/rail/stripe/stripetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dollar is what the tests charge.
const dollar = 1_000_000

// open returns a rail of an account, which has no memory of what earlier rails did.
func open(t *testing.T, s *stripetest.Server) *stripe.Rail {
	t.Helper()
	r, err := stripe.New(stripe.Config{Key: stripetest.Key, BaseURL: s.URL, WebhookSecrets: []stripe.Key{stripetest.Secret}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func fixture(t *testing.T) railtest.Fixture {
	t.Helper()
	s := stripetest.Start(t)
	return railtest.Fixture{
		Rail: open(t, s), Works: "pm_card_visa", Amount: 4 * dollar,
		RefusedAtConnect: "pm_card_chargeDeclinedInsufficientFunds", ConnectReason: rail.InsufficientFunds,
		RefusedAtCharge: "pm_card_chargeCustomerFail", ChargeReason: rail.CardDeclined,
		RefusedAtRefund: "pm_card_refundFail", RefundReason: rail.CardDeclined,
		Moved:   func(*testing.T) rail.Micros { return rail.Micros(s.Moved()) * money.MicrosPerCent },
		Held:    func(*testing.T) rail.Micros { return rail.Micros(s.Held()) * money.MicrosPerCent },
		Restart: func(t *testing.T) rail.Rail { t.Helper(); return open(t, s) },
	}
}

func TestRailKeepsTheContract(t *testing.T) {
	t.Parallel()
	railtest.Run(t, fixture)
	railtest.RunAuthorizer(t, fixture)
	railtest.RunRefunder(t, fixture)
}
