// Command charge asks a person for a mandate and charges it. Run
// `paywarrant dev --env dev.env`, and in another terminal:
//
//	. ./dev.env
//	go run ./examples/charge
//
// Open the address that it prints and confirm, as the person would. A program that tests
// itself in a sandbox confirms with client.CompleteTestSession instead.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/paywarrant/paywarrant/client"
)

func main() {
	c, err := client.New(client.Config{
		BaseURL: os.Getenv("SERVICE_API_URL"), MerchantID: os.Getenv("SERVICE_MERCHANT_ID"), APIKey: os.Getenv("SERVICE_API_KEY"),
	})
	if err == nil {
		err = sell(context.Background(), c, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func sell(ctx context.Context, c *client.Client, out io.Writer) error {
	s, err := c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Send the person to", s.SetupURL)
	m, err := c.WaitForMandate(ctx, s.SessionToken) // until completed, failed or ctx is done
	if err != nil {
		return err
	}
	ch, err := c.Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 250, Currency: client.USD, Description: "October report"})
	switch {
	case errors.Is(err, client.ErrMonthlyLimit): // also ErrPerTxLimit, ErrMandateRevoked, ErrRateLimited …
		fmt.Fprintln(out, "the month is used up")
	case err != nil:
		return err
	case ch.Status == client.Pending: // the rail does not know yet
		fmt.Fprintln(out, "pending:", ch.TransactionID)
	default:
		fmt.Fprintln(out, ch.Status, ch.TransactionID)
	}
	for tx, err := range c.Transactions(ctx, client.ListParams{}) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, tx.CreatedAt.Format("2006-01-02"), tx.AmountCents, tx.Status)
	}
	return nil
}
