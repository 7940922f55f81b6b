package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/webhook"
)

type webhooksListenCmd struct {
	account
	receiver

	Events []webhook.Type `help:"Only events of these types, separated by commas. Default: all." placeholder:"TYPE,…"`
	JSON   bool           `help:"Also write the outcomes of forwarding as JSON." name:"json"`
}

// Help is the longer text of the command.
func (webhooksListenCmd) Help() string {
	return `Events go to standard output, one JSON object a line. The outcome of forwarding goes to standard error. An event that the receiver does not take is sent again after 1, 2, 4, … seconds, up to a minute apart and ten times. Those of one mandate wait for it, so that they stay in order.

Examples:
  paywarrant webhooks listen --forward-to http://127.0.0.1:3000/hooks
  paywarrant webhooks listen --events payment.succeeded,payment.failed`
}

const (
	// listenWait is how long one request waits for events.
	listenWait = 5 * time.Second
	// listenPage is how many of the latest events are looked at each time. Ids are
	// in the order of time but not of commits, so those around the last are too.
	listenPage = 100
	// listenAgain is the pause after a failure.
	listenAgain = time.Second
)

// check returns an error of usage for flags that could only fail at the first event.
func (c *webhooksListenCmd) check() error {
	for _, t := range c.Events {
		if !slices.Contains(webhook.Types(), t) {
			return usage("--events: there is no type %q: use %s", t, typeNames())
		}
	}
	return c.receiver.check(c.account)
}

func typeNames() string {
	var names []string
	for _, t := range webhook.Types() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// Run listens until ctx is done.
func (c webhooksListenCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	page, err := merchant.EventsPage(ctx, client.EventListParams{Limit: listenPage})
	if err != nil {
		return err
	}
	note := "Listening; Ctrl-C ends.\n"
	if c.ForwardTo != "" {
		note = fmt.Sprintf("Listening; Ctrl-C ends. Forwarding to %s, signed with %s\n", c.ForwardTo, c.Secret)
	}
	if _, err := fmt.Fprint(o.errors, note); err != nil {
		return err
	}
	f := newForwarder(ctx, c.receiver, o, c.JSON)
	defer f.wait()
	return c.follow(ctx, merchant, page, o, f)
}

// follow prints and forwards what comes after a page, until ctx is done.
func (c webhooksListenCmd) follow(ctx context.Context, merchant *client.Client, page client.EventPage, o output, f *forwarder) error {
	seen := ids(page)
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
			_ = sleep.For(ctx, listenAgain)
			continue
		}
		page = next
		for _, e := range slices.Backward(page.Data) {
			if slices.Contains(seen, e.ID) || (len(c.Events) > 0 && !slices.Contains(c.Events, e.Type)) {
				continue
			}
			line, err := json.Marshal(e)
			if err == nil {
				_, err = fmt.Fprintf(o.out, "%s\n", line)
			}
			if err != nil {
				return err
			}
			f.send(e, line)
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
