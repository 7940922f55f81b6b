// Command metered charges a mandate for what was used: it authorizes the most, does the work,
// and captures its price. Run `paywarrant dev`, put its baseUrl, the merchant's credentials
// and a mandate into the environment.
//
//	SERVICE_API_URL=http://127.0.0.1:4020 SERVICE_MERCHANT_ID=mer_… SERVICE_API_KEY=sk_test_… MANDATE=dtok_… go run ./examples/metered
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
		err = translate(context.Background(), c, os.Getenv("MANDATE"), os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// tokenMicros is the price of a token in millionths of a dollar.
const tokenMicros = 1000

func translate(ctx context.Context, c *client.Client, m string, out io.Writer) error {
	held, err := c.Authorize(ctx, client.AuthorizeParams{ChargeParams: client.ChargeParams{
		Mandate: m, AmountCents: 400, Currency: client.USD, Description: "Translation",
	}})
	if err != nil {
		return err
	}
	if held.Status != client.Authorized { // failed, or pending: an event follows
		return fmt.Errorf("the amount is not held: %s %s", held.Status, held.FailureReason)
	}
	tokens, err := work()
	if err != nil {
		_, voidErr := c.Void(ctx, held.TransactionID) // the person pays nothing
		return errors.Join(err, voidErr)
	}
	paid, err := c.Capture(ctx, held.TransactionID, client.CaptureParams{
		AmountCents: tokens * tokenMicros / 10_000,
		Usage:       &client.Usage{Unit: "token", Quantity: tokens, UnitPriceMicros: tokenMicros},
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, paid.Status, paid.AmountCents, "of", paid.AuthorizedCents)
	return err
}

// work does the work, and returns how many tokens it took.
func work() (int64, error) { return 900, nil }
