package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/webhook"
)

// receiver is a local address that takes events, and the secret they are signed with.
type receiver struct {
	ForwardTo string `help:"URL to which each event is forwarded." name:"forward-to" placeholder:"URL"`
	Secret    string `env:"WEBHOOK_SECRET" help:"The secret for signatures. Default: derived from the merchant's key, the same at each start, and printed." placeholder:"whsec_…"`
}

// check checks the flags, and sets the default secret of an account.
func (r *receiver) check(a account) error {
	if r.ForwardTo != "" {
		if u, err := url.Parse(r.ForwardTo); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return usage("--forward-to: %q is not a URL such as http://127.0.0.1:3000/hooks", r.ForwardTo)
		}
	}
	if r.Secret == "" {
		mac := hmac.New(sha256.New, []byte(a.APIKey))
		mac.Write([]byte("paywarrant webhooks listen"))
		r.Secret = webhook.SecretPrefix + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	if _, err := webhook.Sign("evt_1", time.Now(), nil, r.Secret); err != nil {
		return usage("--secret: %w", err)
	}
	return nil
}

const (
	// forwardTimeout is how long the receiver may take.
	forwardTimeout = 15 * time.Second
	// forwardTries is how often an event is sent at most, with pauses that double
	// from forwardFirst to forwardLast.
	forwardTries              = 10
	forwardFirst, forwardLast = time.Second, time.Minute
	// forwardShown is how much of a failed answer is shown, in bytes.
	forwardShown = 500
)

// post sends one event once. The text describes the answer; ok reports whether the
// receiver took the event.
func (r receiver) post(ctx context.Context, e webhook.Event, body []byte) (status, shown string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.ForwardTo, bytes.NewReader(body))
	if err == nil {
		req.Header, err = webhook.Sign(e.ID, time.Now(), body, r.Secret)
	}
	if err != nil {
		return err.Error(), "", false
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // a redirect is an answer
	if err != nil {
		return err.Error(), "", false
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
		return resp.Status, "", true
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, forwardShown)) // what arrived is worth showing
	return resp.Status, printable(strings.TrimSpace(string(text))), false
}

// forwarder sends events to the receiver, those of one mandate in order, until its
// context ends.
type forwarder struct {
	to     receiver
	ctx    context.Context //nolint:containedctx // of the command, whose workers these are
	output output
	json   bool

	mu      sync.Mutex
	queues  map[string][]queued // by mandate; an entry means that a worker runs
	workers sync.WaitGroup
}

type queued struct {
	event webhook.Event
	body  []byte
}

func newForwarder(ctx context.Context, to receiver, o output, asJSON bool) *forwarder {
	return &forwarder{to: to, ctx: ctx, output: o, json: asJSON, queues: map[string][]queued{}}
}

// wait returns when no worker runs any more, which is soon after the context ended.
func (f *forwarder) wait() { f.workers.Wait() }

// send queues an event. Without a receiver it does nothing.
func (f *forwarder) send(e webhook.Event, body []byte) {
	if f.to.ForwardTo == "" {
		return
	}
	var of struct {
		DelegateID string `json:"delegateId"`
	}
	_ = json.Unmarshal(e.Data, &of) // an event without a mandate has a queue of its own
	key := of.DelegateID
	if key == "" {
		key = e.ID
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, running := f.queues[key]
	f.queues[key] = append(f.queues[key], queued{e, body})
	if !running {
		f.workers.Add(1)
		go f.work(key)
	}
}

func (f *forwarder) work(key string) {
	defer f.workers.Done()
	for f.ctx.Err() == nil {
		f.mu.Lock()
		if len(f.queues[key]) == 0 {
			delete(f.queues, key)
			f.mu.Unlock()
			return
		}
		next := f.queues[key][0]
		f.queues[key] = f.queues[key][1:]
		f.mu.Unlock()
		f.deliver(next)
	}
}

// deliver sends one event until the receiver takes it or the tries are used up.
func (f *forwarder) deliver(q queued) {
	again := forwardFirst
	for try := 1; f.ctx.Err() == nil; try++ {
		status, shown, ok := f.to.post(f.ctx, q.event, q.body)
		if f.ctx.Err() != nil {
			return
		}
		wait := again
		if ok || try == forwardTries {
			wait = 0
		}
		f.note(q.event, status, shown, ok, wait)
		if wait == 0 {
			return
		}
		_ = sleep.For(f.ctx, wait)
		again = min(2*again, forwardLast)
	}
}

// forwarded is the outcome of one attempt, as JSON.
type forwarded struct {
	Time           time.Time    `json:"time"`
	Event          string       `json:"event"`
	Type           webhook.Type `json:"type"`
	Status         string       `json:"status"`
	Body           string       `json:"body,omitempty"`
	RetryInSeconds int          `json:"retryInSeconds,omitzero"`
}

func (f *forwarder) note(e webhook.Event, status, shown string, ok bool, wait time.Duration) {
	now := time.Now()
	line := fmt.Sprintf("%s %s %s → %s", now.Format(time.TimeOnly), e.ID, e.Type, status)
	switch {
	case f.json:
		text, _ := json.Marshal(forwarded{now.UTC(), e.ID, e.Type, status, shown, int(wait / time.Second)}) // encodes
		line = string(text)
	case ok:
	case wait > 0:
		line += fmt.Sprintf("; again in %s", wait)
	default:
		line += "; given up. Send it again: paywarrant webhooks resend " + e.ID + " --forward-to " + f.to.ForwardTo
	}
	if shown != "" && !f.json {
		line += "\n  " + strings.ReplaceAll(shown, "\n", "\n  ")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintln(f.output.errors, line)
}
