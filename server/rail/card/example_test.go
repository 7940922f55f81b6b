package card_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "card")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	processor, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: filepath.Join(dir, "card.db")})
	if err != nil {
		panic(err)
	}
	defer processor.Close()
	cards, err := card.New(card.Config{Gateway: processor})
	if err != nil {
		panic(err)
	}

	instrument, err := cards.Connect(ctx, rail.Connection{Reference: "del_1", Method: "card_visa"})
	if err != nil {
		panic(err)
	}
	for range 2 { // the second call returns the outcome of the first
		outcome, err := cards.Charge(ctx, rail.Charge{
			Reference: "txn_1.fiatrail", MerchantID: "mer_1", Instrument: instrument, Amount: 2_500_000,
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(instrument.Brand, instrument.LastFour, outcome.Status)
	}
	totals, err := processor.Totals(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(totals.CapturedCents, "cents have moved")
	// Output:
	// Visa 4242 succeeded
	// Visa 4242 succeeded
	// 250 cents have moved
}

// A hold is captured in part, and a part of that is refunded.
func ExampleRail_Authorize() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "card")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	processor, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: filepath.Join(dir, "card.db")})
	if err != nil {
		panic(err)
	}
	defer processor.Close()
	cards, err := card.New(card.Config{Gateway: processor})
	if err != nil {
		panic(err)
	}
	instrument, err := cards.Connect(ctx, rail.Connection{Reference: "del_1", Method: "card_visa"})
	if err != nil {
		panic(err)
	}

	purchase := rail.Charge{Reference: "txn_1.fiatrail", MerchantID: "mer_1", Instrument: instrument, Amount: 5_000_000}
	held, err := cards.Authorize(ctx, purchase)
	if err != nil {
		panic(err)
	}
	purchase.Amount = 2_000_000 // what was used
	captured, err := cards.Capture(ctx, purchase)
	if err != nil {
		panic(err)
	}
	refunded, err := cards.Refund(ctx, rail.Refund{Reference: "rfd_1", Charge: purchase.Reference, Amount: 500_000})
	if err != nil {
		panic(err)
	}
	totals, err := processor.Totals(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(held.Status, captured.Status, refunded.Status)
	fmt.Printf("held %d, captured %d, refunded %d cents\n", totals.HeldCents, totals.CapturedCents, totals.RefundedCents)
	// Output:
	// held succeeded succeeded
	// held 0, captured 200, refunded 50 cents
}

func ExampleTestCards() {
	for _, c := range card.TestCards()[:2] {
		fmt.Println(c.Name, c.Brand, c.LastFour, c.Summary)
	}
	// Output:
	// card_visa Visa 4242 Works: every charge succeeds.
	// card_declined Visa 0002 Is refused when it is connected: card_declined.
}
