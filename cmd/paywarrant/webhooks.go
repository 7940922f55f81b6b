package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

type webhooksCmd struct {
	Listen  webhooksListenCmd  `cmd:"" help:"Print a merchant's events as they arrive, and forward them with a signature to a local address."`
	Resend  webhooksResendCmd  `cmd:"" help:"Send an event again."`
	Trigger webhooksTriggerCmd `cmd:"" help:"Cause an event of a type in a sandbox."`
}

// account is which service to call, and as whom.
type account struct {
	URL        string `default:"http://127.0.0.1:4020" env:"SERVICE_API_URL" help:"The service. Default: ${default}." name:"url" placeholder:"URL"`
	MerchantID string `env:"SERVICE_MERCHANT_ID" help:"The merchant. Required." placeholder:"ID"`
	APIKey     string `env:"SERVICE_API_KEY" help:"The merchant's key. Required." placeholder:"KEY"`
}

func (a account) client() (*client.Client, error) {
	switch {
	case a.MerchantID == "":
		return nil, usage("give --merchant-id, or set SERVICE_MERCHANT_ID")
	case a.APIKey == "":
		return nil, usage("give --api-key, or set SERVICE_API_KEY")
	}
	return client.New(client.Config{BaseURL: a.URL, MerchantID: a.MerchantID, APIKey: a.APIKey})
}

type webhooksTriggerCmd struct {
	account

	Type webhook.Type `arg:"" enum:"payment.succeeded,payment.failed,payment.authorized,payment.voided,payment.written_off,payment.refunded,payment.refund_failed,payment.reversed,delegate.created,delegate.revoked" help:"The type of event: payment.succeeded, payment.failed, payment.authorized, payment.voided, payment.written_off, payment.refunded, payment.refund_failed, payment.reversed, delegate.created or delegate.revoked."`
}

// Run causes the event: it sets up a mandate, and then charges or revokes it.
func (c webhooksTriggerCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	card := "card_visa"
	switch c.Type {
	case webhook.PaymentFailed:
		card = "card_decline_after_setup"
	case webhook.PaymentRefundFailed:
		card = "card_refund_refused"
	default: // the card that works
	}
	s, err := merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	if err != nil {
		return err
	}
	done, err := merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{PaymentMethods: []string{card}})
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("trigger works in a sandbox only: %w", err)
	}
	if err != nil {
		return err
	}
	id, err := c.cause(ctx, merchant, done)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.out, c.Type, id)
	return err
}

// cause does what causes an event of the type, with a new mandate, and returns the id of the
// payment or the mandate.
func (c webhooksTriggerCmd) cause(ctx context.Context, merchant *client.Client, done client.Session) (string, error) {
	params := client.ChargeParams{
		Mandate: done.Mandate, AmountCents: 250, Currency: client.USD, Description: "paywarrant webhooks trigger",
	}
	var ch client.Charge
	var err error
	switch c.Type {
	case webhook.PaymentSucceeded, webhook.PaymentFailed:
		ch, err = merchant.Charge(ctx, params)
	case webhook.PaymentReversed:
		if ch, err = merchant.Charge(ctx, params); err == nil {
			_, err = merchant.ReverseTestPayment(ctx, ch.TransactionID)
		}
	case webhook.PaymentAuthorized:
		ch, err = merchant.Authorize(ctx, client.AuthorizeParams{ChargeParams: params})
	case webhook.PaymentVoided:
		if ch, err = merchant.Authorize(ctx, client.AuthorizeParams{ChargeParams: params}); err == nil {
			_, err = merchant.Void(ctx, ch.TransactionID)
		}
	case webhook.PaymentWrittenOff:
		params.AmountCents, params.Tab = 25, true
		if ch, err = merchant.Charge(ctx, params); err == nil {
			_, err = merchant.CloseTab(ctx, ch.TabID)
		}
	case webhook.PaymentRefunded, webhook.PaymentRefundFailed:
		if ch, err = merchant.Charge(ctx, params); err == nil {
			_, err = merchant.Refund(ctx, ch.TransactionID, client.RefundParams{AmountCents: 100})
		}
	case webhook.MandateRevoked:
		_, err = merchant.Revoke(ctx, done.MandateID)
		return done.MandateID, err
	case webhook.MandateCreated, webhook.Test: // the mandate is enough; the flag takes no others
		return done.MandateID, nil
	}
	return ch.TransactionID, err
}
