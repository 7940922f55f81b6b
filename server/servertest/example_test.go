package servertest_test

import (
	"testing"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// A test of an integration: the whole service runs in the test's process, and ends with it.
func ExampleStart() {
	_ = func(t *testing.T) {
		srv := servertest.Start(t, nil)
		m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
		c, err := srv.Client().Charge(t.Context(), client.ChargeParams{
			Mandate: m, AmountCents: 100, Currency: client.USD, Description: "test", IdempotencyKey: "order-7",
		})
		if err != nil || !c.Status.Paid() {
			t.Fatalf("charge: %v, %v", c.Status, err)
		}
	}
}
