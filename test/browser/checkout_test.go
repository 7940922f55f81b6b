package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// TestPersonPaysAtACheckout: by a mandate that may not pay so much, which says so,
// and then by card.
func TestPersonPaysAtACheckout(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := browser(t, w)
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Website: "https://aurora.example"}})
			m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 200, MaxMonthlySpendCents: 1000})
			c, err := srv.Client().CreateCheckout(t.Context(), client.CheckoutParams{AmountCents: 300, Description: "Ten reports"})
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(c.URL), visible(".amount"), hidden("#mandate")))
			require.Equal(t, "$3.00", text(ctx, t, ".amount"))
			shoot(ctx, t, "checkout-"+w.name)

			require.NoError(t, chromedp.Do(ctx,
				click(`input[value="mandate"]`), visible("#mandate"), fill("#mandate", m),
				click("button.main"), visible("#error")))
			require.Contains(t, text(ctx, t, "#error"), "$2.00")
			shoot(ctx, t, "checkout-error-"+w.name)

			require.NoError(t, chromedp.Do(ctx,
				click(`input[value="card_visa"]`), click("button.main"), visible(".badge.good")))
			shoot(ctx, t, "checkout-paid-"+w.name)
			c, err = srv.Client().Checkout(t.Context(), c.ID)
			require.NoError(t, err)
			require.Equal(t, client.CheckoutPaid, c.Status)
		})
	}
}
