package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// journalTimeout limits recording the outcome of a payment, which happens even if the
// request's context ended.
const journalTimeout = 5 * time.Second

// maxPurchaseKey is the maximum length of a purchase key, in bytes.
const maxPurchaseKey = 200

// Unfinished returns the purchases that earlier processes left behind, and those of this
// one that were not delivered, without their credentials. To finish one, repeat its
// request, with its key if it has one. It returns nil without [Config.Journal], and errors of
// the journal.
func (t *Transport) Unfinished(ctx context.Context) ([]JournalEntry, error) {
	if t.cfg.Journal == nil {
		return nil, nil
	}
	all, err := t.cfg.Journal.Unfinished(ctx)
	for i := range all {
		all[i].Credential = nil
	}
	return all, err
}

// Unfinished returns what [Transport.Unfinished] returns.
func (c *Client) Unfinished(ctx context.Context) ([]JournalEntry, error) {
	return c.transport.Unfinished(ctx)
}

// checkPurchaseKey returns why the purchase key of the request cannot be used.
func (v *visit) checkPurchaseKey() error {
	switch key := purchaseKey(v.request.Context()); {
	case key == "":
	case v.cfg.Journal == nil:
		return errors.New("agent: WithPurchaseKey: needs Config.Journal")
	case len(key) > maxPurchaseKey:
		return fmt.Errorf("agent: WithPurchaseKey: the key is longer than %d bytes", maxPurchaseKey)
	}
	return nil
}

// mayBePaid reports whether to look for an earlier payment before the request is sent
// without one.
func (v *visit) mayBePaid() bool {
	if v.body.record != nil { // the request's hash is known only later
		return false
	}
	if v.cfg.Journal != nil {
		return purchaseKey(v.request.Context()) != "" // others are looked up once a payment is required
	}
	return v.kept.any(targetOf(v.request))
}

// mayBePaidAfterAll reports whether to look for an earlier payment once one is required.
func (v *visit) mayBePaidAfterAll() bool {
	if v.cfg.Journal != nil {
		return !v.looked
	}
	return v.body.record != nil && v.kept.any(targetOf(v.request))
}

// takeJournaled returns the credential of an earlier purchase that the request must send,
// or nil. It returns an error if the request must not be paid.
func (v *visit) takeJournaled(key requestKey) (*credential, error) {
	ctx, now := v.request.Context(), v.cfg.Clock()
	fail := func(err error) error { return &PaymentError{Reason: err, URL: shown(v.request.URL)} }
	e, err := v.cfg.Journal.Find(ctx, purchaseKey(ctx), hex.EncodeToString(key[:]), now)
	if err != nil {
		return nil, fail(err)
	}
	if v.looked = true; e == nil {
		return nil, nil
	}
	free := func() { v.journal(ctx, e, true) }
	if e.Request != hex.EncodeToString(key[:]) {
		defer free()
		if e.Redirected && v.request.Response == nil && !e.State.Finished() { // the redirect leads to it
			v.looked = false
			return nil, nil
		}
		if e.State == PurchaseDelivered {
			return nil, &PurchasedError{URL: shown(v.request.URL), Receipt: e.Receipt}
		}
		return nil, fail(ErrPurchaseKey)
	}
	good := now.Before(e.Until)
	switch {
	case e.State == PurchaseFunding:
		return v.fundAgain(e, key)
	case e.State == PurchaseDelivered:
		free()
		return nil, &PurchasedError{URL: shown(v.request.URL), Receipt: e.Receipt}
	case e.State != PurchaseLost && good:
		return v.restored(*e, key), nil
	}
	if again, _ := ctx.Value(newPurchaseKey{}).(bool); again {
		e.Key, e.Until, e.State, e.Credential = "", time.Time{}, PurchaseLost, nil
		if err := v.cfg.Journal.Record(ctx, *e, true); err != nil {
			return nil, fail(err)
		}
		return nil, nil
	}
	defer free()
	reason := ErrOutcomeUnknown
	if e.State != PurchaseSent {
		reason = ErrAnswerLost
	}
	until := e.Until
	if e.Key != "" {
		until = e.ForgetAfter
	}
	return nil, &UndecidedError{URL: e.URL, Method: e.Method, AmountMicros: e.AmountMicros, Until: until, Receipt: e.Receipt, Err: reason}
}

// restored returns the credential of an earlier purchase.
func (v *visit) restored(e JournalEntry, key requestKey) *credential {
	c := &credential{
		offer:  Offer{Method: e.Method, AmountMicros: e.AmountMicros, PayTo: e.PayTo, Network: e.Network, Usable: true},
		origin: Origin(v.request.URL), target: targetOf(v.request), key: key, header: e.Credential, until: e.Until,
		last: unanswered, entry: &e, restored: true,
	}
	if e.State == PurchaseAnswered && e.Key == "" {
		c.last = answered
	}
	c.reported.Store(e.Receipt != nil)
	return c
}

// begin records a purchase in the journal and counts its price.
func (p *purchase) begin(o Offer) (*JournalEntry, error) {
	ctx, now := p.request.Context(), p.cfg.Clock()
	limits := SpendingLimits{BudgetMicros: p.cfg.BudgetMicros, Velocity: p.cfg.VelocityLimits}
	life := max(2*unfulfilledLife, limits.Longest())
	e := &JournalEntry{
		ID: "pur_" + randomHex(16), Key: purchaseKey(ctx), Request: hex.EncodeToString(p.key[:]), Redirected: p.request.Response != nil,
		HTTPMethod: p.request.Method, URL: shown(p.request.URL),
		Method: o.Method, AmountMicros: o.AmountMicros, PayTo: o.PayTo, Network: o.Network, State: PurchaseBegun, At: now,
	}
	if e.Key != "" {
		life = max(life, PurchaseKeyLife)
	}
	e.ForgetAfter = now.Add(life)
	if err := p.cfg.Journal.Begin(ctx, *e, limits); err != nil {
		return nil, err
	}
	return e, nil
}

// sending records the credential of a purchase before it is sent.
func (v *visit) sending(c *credential, e *JournalEntry) error {
	sent := *e
	sent.State, sent.Funding, sent.Credential, sent.Until = PurchaseSent, nil, c.header, e.At.Add(unfulfilledLife)
	if err := v.cfg.Journal.Record(v.request.Context(), sent, false); err != nil {
		return c.undecided(fmt.Errorf("record the payment: %w", err))
	}
	*e, c.entry = sent, e
	return nil
}

// forget removes a purchase that was not sent.
func (v *visit) forget(e *JournalEntry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.request.Context()), journalTimeout)
	defer cancel()
	if err := v.cfg.Journal.Forget(ctx, e.ID); err != nil {
		v.cfg.Logger.ErrorContext(ctx, "agent: the journal did not forget a purchase", slog.String("purchase", e.ID), slog.Any("error", err))
	}
}

// journal records a purchase even if the request's context ended. An error is logged: the purchase then stays in its earlier state, in which it is not paid again.
func (v *visit) journal(ctx context.Context, e *JournalEntry, release bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), journalTimeout)
	defer cancel()
	if err := v.cfg.Journal.Record(ctx, *e, release); err != nil {
		v.cfg.Logger.ErrorContext(ctx, "agent: the journal did not record a purchase", slog.String("purchase", e.ID), slog.String("state", string(e.State)), slog.Any("error", err))
	}
}

// confirmed records that the seller confirmed a payment.
func (v *visit) confirmed(c *credential, resp *http.Response) {
	if c.entry == nil || !confirms(resp.Header) {
		return
	}
	receipt := readReceipt(resp, c)
	c.entry.State, c.entry.Receipt = PurchasePaid, &receipt
	v.journal(v.request.Context(), c.entry, false)
}

// release ends the use of a credential that the seller may still honor, and returns when
// it expires. The expiry is moved to until if that is later.
func (v *visit) release(c *credential, until time.Time) time.Time {
	if c.entry == nil {
		return v.kept.release(c, until)
	}
	if c.last == answered && c.entry.State == PurchaseSent {
		c.entry.State = PurchaseAnswered
	}
	if latest := c.entry.At.Add(unfulfilledLife); until.After(latest) {
		until = latest
	}
	if c.until = laterOf(c.until, until); !c.restored || c.until.After(c.entry.Until) {
		c.entry.Until = c.until
	}
	v.journal(v.request.Context(), c.entry, true)
	return c.entry.Until
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// finish ends the use of a credential for good. Resp is its last response, or nil.
func (v *visit) finish(c *credential, state PurchaseState, resp *http.Response) {
	if c.entry == nil {
		v.kept.drop(c)
		return
	}
	e := c.entry
	e.State, e.Credential, e.Until = state, nil, time.Time{}
	switch {
	case state == PurchaseRefused:
		e.Key = ""
	case resp != nil:
		if receipt, ok := receiptOf(resp, c); ok && (e.Receipt == nil || receipt.Transaction != "") {
			e.Receipt = &receipt
		}
	}
	v.journal(v.request.Context(), e, true)
}

// keyed reports whether a credential is of a purchase with a key.
func (c *credential) keyed() bool { return c.entry != nil && c.entry.Key != "" }
