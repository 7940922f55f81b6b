package rail_test

import (
	"context"
	"fmt"
	"log"

	"github.com/paywarrant/paywarrant/server/rail"
)

// fixed is a rail whose charges always have the same outcome.
type fixed struct {
	name    rail.Name
	outcome rail.Outcome
}

func (f fixed) Name() rail.Name { return f.name }

func (f fixed) Connect(_ context.Context, c rail.Connection) (rail.Instrument, error) {
	return rail.Instrument{Rail: f.name, Method: c.Method}, nil
}

func (f fixed) Charge(context.Context, rail.Charge) (rail.Outcome, error) { return f.outcome, nil }

func (f fixed) Lookup(context.Context, string) (rail.Outcome, error) { return f.outcome, nil }

// If the preferred rail definitely refuses, the router asks the other one, once.
func ExampleRouter_Charge() {
	router, err := rail.NewRouter([]rail.Rail{
		fixed{rail.Card, rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}},
		fixed{rail.Chain, rail.Outcome{Status: rail.Succeeded, TxHash: "0x1"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	instruments := []rail.Instrument{{Rail: rail.Card, Method: "pm_1"}, {Rail: rail.Chain, Method: "0x2"}}
	plan := router.Plan(rail.Preferred("usd"), instruments) // to be stored with the reservation
	used, outcome, err := router.Charge(context.Background(), plan, instruments,
		rail.Charge{Reference: "txn_1", MandateID: "del_1", MerchantID: "mer_1", Amount: 2_500_000, Description: "October report"}, nil)
	fmt.Println(plan, used, outcome.Status, outcome.TxHash, err)
	// Output: [fiatrail chainrail] chainrail succeeded 0x1 <nil>
}

func ExampleMicros() {
	amount := rail.Micros(1_234_500) // 1.2345 USD
	fmt.Println(amount.Decimal(), amount.CentsUp(), amount.CentsDown())
	// Output: 1.2345 124 123
}
