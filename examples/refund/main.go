// Command refund gives back a part of a payment. If the payment was made on the chain, it signs
// the refund with the key of the wallet that was paid:
//
//	. ./dev.env
//	export SERVICE_WALLET_KEY=$(jq -r .merchant.payToKey dev.json)
//	go run ./examples/refund txn_… 200
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: refund TRANSACTION CENTS")
	}
	c, err := client.New(client.Config{
		BaseURL: os.Getenv("SERVICE_API_URL"), MerchantID: os.Getenv("SERVICE_MERCHANT_ID"), APIKey: os.Getenv("SERVICE_API_KEY"),
	})
	if err == nil {
		err = run(context.Background(), c, os.Getenv("SERVICE_WALLET_KEY"), os.Args[1], os.Args[2], os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c *client.Client, walletKey, transactionID, amount string, out io.Writer) error {
	cents, err := strconv.ParseInt(amount, 10, 64)
	if err != nil {
		return err
	}
	r, err := c.Refund(ctx, transactionID, client.RefundParams{AmountCents: cents})
	if err == nil && r.Signature != nil {
		r, err = sign(ctx, c, walletKey, r, cents)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, r.Status, r.AmountCents)
	return err
}

func sign(ctx context.Context, c *client.Client, walletKey string, r client.Refund, cents int64) (client.Refund, error) {
	key, err := evm.ParseKey(walletKey)
	if err != nil {
		return r, err
	}
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: key})
	if err != nil {
		return r, err
	}
	signature, err := wallet.SignRefund(ctx, r.Signature.TypedData, evm.RefundTerms{MaxCents: cents}) // what was asked for, and no more
	if err != nil {
		return r, err
	}
	return c.SignRefund(ctx, r.TransactionID, r.ID, signature)
}
