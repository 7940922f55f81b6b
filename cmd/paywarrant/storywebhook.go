package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

// hook is the merchant's receiver of webhooks in the story.
type hook struct {
	listener *listener
	endpoint client.WebhookEndpoint
	heard    chan heard
}

// heard is a delivery that verified.
type heard struct {
	event     webhook.Event
	payment   webhook.Payment
	signature string
}

// signatureKey is the key of a delivery's signature in the context.
type signatureKey struct{}

// hearWithin is how long a delivery may take.
const hearWithin = 10 * time.Second

// listenForEvents: the merchant adds a webhook endpoint.
func (d *story) listenForEvents(ctx context.Context) error {
	l, err := listen(ctx, "the receiver of webhooks", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &hook{listener: l, heard: make(chan heard, 1)}
	d.system.closers = append(d.system.closers, l.stop)
	h.endpoint, err = d.merchant.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{
		URL: l.origin() + "/hooks", Events: []webhook.Type{webhook.PaymentSucceeded},
	})
	if err != nil {
		return err
	}
	received, err := webhook.NewHandler(webhook.Config{
		Secrets: []string{h.endpoint.Secret},
		PaymentSucceeded: func(ctx context.Context, e webhook.Event, p webhook.Payment) error {
			signature, _ := ctx.Value(signatureKey{}).(string)
			select {
			case h.heard <- heard{event: e, payment: p, signature: signature}:
			default: // the story shows the first one only
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	l.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), signatureKey{}, r.Header.Get(webhook.HeaderSignature))))
	}), "", "")
	d.hook = h
	return nil
}

// receiveWebhook: the webhook of the first charge was received and verified.
func (d *story) receiveWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	select {
	case <-ctx.Done():
		return errors.New("no webhook arrived")
	case got := <-d.hook.heard:
		if got.payment.TransactionID != d.charge.TransactionID {
			return fmt.Errorf("the webhook is about transaction %s", got.payment.TransactionID)
		}
		d.announce("The merchant received the webhook and verified its signature",
			fact{"endpoint", d.hook.endpoint.URL}, fact{"event", got.event.ID + " " + string(got.event.Type)},
			fact{"transaction", got.payment.TransactionID}, fact{"signature", short(got.signature, 40)})
		return nil
	}
}
