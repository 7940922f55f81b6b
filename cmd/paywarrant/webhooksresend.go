package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

type webhooksResendCmd struct {
	account
	receiver

	Event string `arg:"" help:"The event (evt_…)."`
}

// Help is the longer text of the command.
func (webhooksResendCmd) Help() string {
	return `The service sends the event to the merchant's endpoints again. With --forward-to this command sends it, once, to a local address.

Example:
  paywarrant webhooks resend evt_01… --forward-to http://127.0.0.1:3000/hooks`
}

// Run sends the event. It fails if a local receiver does not take it.
func (c webhooksResendCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	if err := c.check(c.account); err != nil {
		return err
	}
	if c.ForwardTo == "" {
		sent, err := merchant.RedeliverEvent(ctx, c.Event)
		if err == nil {
			err = json.NewEncoder(o.out).Encode(sent)
		}
		return err
	}
	e, err := c.find(ctx, merchant)
	if err != nil {
		return err
	}
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	status, shown, ok := c.post(ctx, e, body)
	if _, err := fmt.Fprintf(o.out, "%s %s → %s %s\n", e.ID, e.Type, status, shown); err != nil {
		return err
	}
	if !ok {
		return errSaid
	}
	return nil
}

// find reads the event from the merchant's stream.
func (c webhooksResendCmd) find(ctx context.Context, merchant *client.Client) (webhook.Event, error) {
	p := client.EventListParams{Limit: listenPage}
	for {
		page, err := merchant.EventsPage(ctx, p)
		if err != nil {
			return webhook.Event{}, err
		}
		for _, e := range page.Data {
			if e.ID == c.Event {
				return e, nil
			}
		}
		if !page.HasMore || len(page.Data) == 0 {
			return webhook.Event{}, fmt.Errorf("%s: %w", c.Event, client.ErrNotFound)
		}
		p.StartingAfter = page.Data[len(page.Data)-1].ID
	}
}
