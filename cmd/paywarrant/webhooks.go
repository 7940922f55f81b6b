package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
)

type webhooksCmd struct {
	Listen  webhooksListenCmd  `cmd:"" help:"Print a merchant's events as they come, and forward them signed to a local address."`
	Trigger webhooksTriggerCmd `cmd:"" help:"Have something happen in a sandbox, so that an event of a type comes."`
}

// account is which service to call, and as whom.
type account struct {
	URL        string `default:"http://127.0.0.1:4020" env:"SERVICE_API_URL" help:"The service." name:"url" placeholder:"URL"`
	MerchantID string `env:"SERVICE_MERCHANT_ID" help:"The merchant." placeholder:"ID" required:""`
	APIKey     string `env:"SERVICE_API_KEY" help:"The merchant's key." placeholder:"KEY" required:""`
}

func (a account) client() (*client.Client, error) {
	return client.New(client.Config{BaseURL: a.URL, MerchantID: a.MerchantID, APIKey: a.APIKey})
}

type webhooksListenCmd struct {
	account

	ForwardTo string `help:"Where to forward each event." name:"forward-to" placeholder:"URL"`
	Secret    string `env:"WEBHOOK_SECRET" help:"The secret to sign with. Default: a new one, which is printed." placeholder:"whsec_…"`
}

const (
	// listenWait is how long one request waits for events, and forwardTimeout how
	// long the receiver may take.
	listenWait, forwardTimeout = 5 * time.Second, 15 * time.Second
	// listenPage is how many of the latest events are looked at each time. Ids are
	// in the order of time but not of commits, so those around the last are too.
	listenPage = 100
	// listenAgain is the pause after a failure.
	listenAgain = time.Second
)

// Run listens until ctx is done.
func (c webhooksListenCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	if c.Secret == "" && c.ForwardTo != "" {
		c.Secret = webhook.NewSecret()
		if _, err := fmt.Fprintf(o.errors, "Forwarding to %s, signed with %s\n", c.ForwardTo, c.Secret); err != nil {
			return err
		}
	}
	page, err := merchant.EventsPage(ctx, client.EventListParams{Limit: listenPage})
	if err != nil {
		return err
	}
	seen := ids(page)
	if _, err := fmt.Fprintln(o.errors, "Listening; Ctrl-C ends."); err != nil {
		return err
	}
	for ctx.Err() == nil {
		newest := ""
		if len(page.Data) > 0 {
			newest = page.Data[0].ID
		}
		_, err := merchant.EventsPage(ctx, client.EventListParams{Limit: 1, EndingBefore: newest, Wait: listenWait})
		var next client.EventPage
		if err == nil {
			next, err = merchant.EventsPage(ctx, client.EventListParams{Limit: listenPage})
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			fmt.Fprintln(o.errors, "paywarrant:", err)
			pause(ctx, listenAgain)
			continue
		}
		page = next
		for _, e := range slices.Backward(page.Data) {
			if !slices.Contains(seen, e.ID) {
				if err := c.tell(ctx, o, e); err != nil {
					return err
				}
			}
		}
		seen = append(seen[max(0, len(seen)-10*listenPage):], ids(page)...)
	}
	return nil
}

func ids(p client.EventPage) []string {
	all := make([]string, len(p.Data))
	for i, e := range p.Data {
		all[i] = e.ID
	}
	return all
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// tell prints an event and forwards it.
func (c webhooksListenCmd) tell(ctx context.Context, o output, e webhook.Event) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = fmt.Fprintf(o.out, "%s\n", line)
	}
	if err != nil || c.ForwardTo == "" {
		return err
	}
	status, err := c.forward(ctx, e, line)
	if err != nil {
		status = err.Error()
	}
	_, err = fmt.Fprintf(o.errors, "%s %s → %s\n", e.ID, e.Type, status)
	return err
}

func (c webhooksListenCmd) forward(ctx context.Context, e webhook.Event, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.ForwardTo, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if r.Header, err = webhook.Sign(e.ID, time.Now(), body, c.Secret); err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // a redirect is an answer
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // for the next one
	return resp.Status, nil
}

type webhooksTriggerCmd struct {
	account

	Type webhook.Type `arg:"" enum:"payment.succeeded,payment.failed,delegate.created,delegate.revoked" help:"The type of event: payment.succeeded, payment.failed, delegate.created or delegate.revoked."`
}

// Run has happen what the event tells of: a mandate is set up, and then charged or
// revoked.
func (c webhooksTriggerCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	card := "card_visa"
	if c.Type == webhook.PaymentFailed {
		card = "card_decline_after_setup"
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
	what := done.DelegateID
	switch c.Type {
	case webhook.PaymentSucceeded, webhook.PaymentFailed:
		ch, err := merchant.Charge(ctx, client.ChargeParams{
			Mandate: done.IntentMandate, AmountCents: 250, Currency: client.USD, Description: "paywarrant webhooks trigger",
		})
		if err != nil {
			return err
		}
		what = ch.TransactionID
	case webhook.DelegateCreated, webhook.Test: // the mandate is all that it takes
	case webhook.DelegateRevoked:
		if _, err := merchant.Revoke(ctx, done.DelegateID); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(o.out, c.Type, what)
	return err
}
