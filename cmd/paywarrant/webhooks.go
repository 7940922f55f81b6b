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
	what := done.MandateID
	switch c.Type {
	case webhook.PaymentSucceeded, webhook.PaymentFailed, webhook.PaymentReversed:
		ch, err := merchant.Charge(ctx, client.ChargeParams{
			Mandate: done.Mandate, AmountCents: 250, Currency: client.USD, Description: "paywarrant webhooks trigger",
		})
		if err != nil {
			return err
		}
		what = ch.TransactionID
		if c.Type == webhook.PaymentReversed {
			if _, err := merchant.ReverseTestPayment(ctx, ch.TransactionID); err != nil {
				return err
			}
		}
	case webhook.PaymentAuthorized, webhook.PaymentVoided:
		ch, err := merchant.Authorize(ctx, client.AuthorizeParams{ChargeParams: client.ChargeParams{
			Mandate: done.Mandate, AmountCents: 250, Currency: client.USD, Description: "paywarrant webhooks trigger",
		}})
		if err == nil && c.Type == webhook.PaymentVoided {
			ch, err = merchant.Void(ctx, ch.TransactionID)
		}
		if err != nil {
			return err
		}
		what = ch.TransactionID
	case webhook.PaymentWrittenOff:
		ch, err := merchant.Charge(ctx, client.ChargeParams{
			Mandate: done.Mandate, AmountCents: 25, Currency: client.USD, Description: "paywarrant webhooks trigger", Tab: true,
		})
		if err == nil {
			_, err = merchant.CloseTab(ctx, ch.TabID)
		}
		if err != nil {
			return err
		}
		what = ch.TransactionID
	case webhook.PaymentRefunded, webhook.PaymentRefundFailed:
		ch, err := merchant.Charge(ctx, client.ChargeParams{
			Mandate: done.Mandate, AmountCents: 250, Currency: client.USD, Description: "paywarrant webhooks trigger",
		})
		if err == nil {
			_, err = merchant.Refund(ctx, ch.TransactionID, client.RefundParams{AmountCents: 100})
		}
		if err != nil {
			return err
		}
		what = ch.TransactionID
	case webhook.MandateCreated, webhook.Test: // the mandate is enough; the flag takes no others
	case webhook.MandateRevoked:
		if _, err := merchant.Revoke(ctx, done.MandateID); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(o.out, c.Type, what)
	return err
}
