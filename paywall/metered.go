package paywall

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/x402"
)

// captureMargin is the end of a hold during which the meter counts nothing, so that there is
// time for the capture.
const captureMargin = 30 * time.Second

// deadlineMargin is how long before the deadline of a request its capture continues in the
// background, so that there is time for the response.
const deadlineMargin = 100 * time.Millisecond

// held reports whether the payment is a price that is held and not captured yet.
func (p *Payment) held() bool { return p.AuthorizedMicros > 0 && p.AmountMicros == 0 }

// capturable returns what a held payment pays for what was metered. A card pays whole cents:
// what exceeds the last one is not charged, unless it is all that was metered. That costs one
// cent, because otherwise any number of requests would be free.
func (p *Payment) capturable(used int64) int64 {
	if p.Network != networkCard || used == 0 {
		return used
	}
	return max(used-used%microsPerCent, min(microsPerCent, p.AuthorizedMicros))
}

// decision is how the held price of a request ends.
type decision struct {
	payment Payment // with MeteredMicros and Usage
	micros  int64   // to capture; zero voids
	end     End
	sent    bool // the response is on its way, or the process that sent it has ended
	wasted  bool // the handler counted an amount that is not captured
	counted bool // as one that the payer does not pay
}

// deliverMetered runs the handler of a request whose price is held, and captures what the
// handler metered. A panic of the handler propagates.
func (h *hold) deliverMetered(w http.ResponseWriter, next http.Handler, p *Payment) {
	ctx := h.request.Context()
	d := &delivery{header: w.Header(), payment: p, requestID: h.id, ctx: ctx, meter: h.newMeter(p)}
	d.delayed = d.newDelayed(w, h.receiptHeader())
	w.Header().Set(keyCacheControl, "private")
	returned := false
	last := h.watch(d)
	defer func() { h.closeMeter(d, last, returned) }()
	next.ServeHTTP(d.delay(), withoutCredentials(context.WithValue(ctx, deliveryKey{}, d), h.request))
	returned = true
	if d.status == 0 && !d.hijacked && ctx.Err() == nil {
		d.commit(http.StatusOK)
		d.delayed.writeHeader(http.StatusOK)
	}
}

// closeMeter captures what was metered or voids the hold, unless [lastCall] has, and ends the
// response.
func (h *hold) closeMeter(d *delivery, last *lastCall, returned bool) {
	ctx := context.WithoutCancel(d.ctx)
	no, receipt := last.end(func() (*refusal, string) { return h.endMeter(ctx, d, h.decide(d, returned)) })
	if !returned || d.hijacked {
		return // net/http closes the connection, or no longer has it
	}
	if no != nil && !d.delayed.sent {
		h.end = EndRefused // nothing was paid, and nothing was served
		h.finish(ctx)
		d.delayed.discard()
		h.turnAway(d.delayed.w, h.request, h.offer, h.id, h.found.kind, no)
		return
	}
	h.finish(ctx) // before the response ends, after which the client may repeat the credential
	d.delayed.finish(receipt)
	last.release(d.delayed.w)
}

// endMeter records a decision, and captures what was metered or voids the hold.
func (h *hold) endMeter(ctx context.Context, d *delivery, e decision) (no *refusal, receipt string) {
	h.end = e.end
	if err := h.noteDecision(ctx, e); err != nil {
		h.logger.ErrorContext(ctx, "paywall: record the end of a metered payment", slog.String("request_id", h.id), slog.Any("error", err))
	}
	no, receipt = h.conclude(ctx, e)
	if no == nil {
		no = h.overdue(ctx, d, e)
	}
	return no, receipt
}

// decide returns how the hold ends. What was metered is captured if a response reached the
// client, and also if the client left before, whatever status the handler then wrote: leaving
// is not a way to be served for free.
func (h *hold) decide(d *delivery, returned bool) decision {
	used, usage := d.meter.end()
	e := decision{payment: *d.payment, micros: d.payment.capturable(used), end: EndServed}
	e.payment.MeteredMicros, e.payment.Usage, e.payment.Decided = used, usage, true
	e.sent = d.hijacked || d.delayed.sent
	late := errors.Is(d.ctx.Err(), context.DeadlineExceeded) // of a timeout in front of the gate, which answers by itself
	left := d.ctx.Err() != nil && !late
	reached := d.hijacked || d.delayed.sent && !(late && d.delayed.dropped()) || returned && d.status != 0 && !late
	failed := d.status != 0 && !h.fulfilled(d.status) && !(left && d.late) // a handler fails because its client left
	switch {
	case d.declined.Load(), failed, !left && !reached:
		e.void(used)
	}
	return e
}

// void makes the decision that nothing is captured of what was used.
func (e *decision) void(used int64) {
	e.micros, e.end, e.wasted = 0, EndRefused, used > 0
	e.payment.MeteredMicros, e.payment.Usage = 0, nil
}

// receiptHeader returns the canonical name of the header of the receipt.
func (h *hold) receiptHeader() string { return cmp.Or(h.receipt, keyPaymentResponseV1) }

// noteDecision records the decision before the money moves, so that a credential whose
// request ended is not served again.
func (h *hold) noteDecision(ctx context.Context, e decision) error {
	ctx, cancel := h.bookkeeping(ctx)
	defer cancel()
	var err error
	for _, c := range h.held {
		err = errors.Join(err, h.redemptions.Settled(ctx, c.key, e.payment))
	}
	return err
}

// conclude captures or voids the hold. If that has no outcome in time, it continues in the
// background. It returns the refusal of a capture that the rail refused, and the receipt.
func (h *hold) conclude(ctx context.Context, e decision) (no *refusal, receipt string) {
	within, cancel := context.WithTimeout(ctx, h.patience())
	ch, err := h.capture(within, e)
	cancel()
	h.settleDebts(e, ch, err)
	var refused *x402.RefusedError
	if (!e.sent || e.micros == 0) && isPassing(err) && errors.As(err, &refused) { // the response is not sent either
		ch, err = client.Charge{Status: client.Failed, FailureReason: client.FailureReason(safeReason(refused.Reason))}, nil
	}
	if e.open(ch, err) {
		e.counted = refusedCapture(ch, err)
		h.logger.WarnContext(ctx, "paywall: capture has no outcome; trying again", h.about(e, err)...)
		if !h.later.run(func(ctx context.Context) { h.captureLater(ctx, e) }) {
			h.logger.ErrorContext(ctx, "paywall: capture given up: the gate was shut down, or too many are waiting", h.about(e, err)...)
		}
		ch, err = client.Charge{Status: client.Pending}, nil
	}
	return h.concluded(ctx, e, ch, err)
}

// patience returns how long a request waits for its capture: less than until a timeout in
// front of the gate answers in its place, so that what is charged is also served.
func (h *hold) patience() time.Duration {
	deadline, ok := h.request.Context().Deadline()
	if left := time.Until(deadline); ok && left > 0 {
		return min(h.timeout, left-min(left/2, deadlineMargin))
	}
	return h.timeout
}

// concluded logs the outcome and returns its refusal and receipt.
func (h *hold) concluded(ctx context.Context, e decision, ch client.Charge, err error) (*refusal, string) {
	p := e.payment
	s := x402.Settlement{Network: p.Network, Payer: p.Payer, Metered: &x402.Metered{
		TransactionID: p.TransactionID, AuthorizedMicros: p.AuthorizedMicros, MeteredMicros: p.MeteredMicros, Usage: (*x402.Usage)(p.Usage),
	}}
	if p.Scheme == x402.SchemeUpto {
		s.Amount = "0"
	}
	switch {
	case e.micros == 0: // nothing is charged, even if the hold ends only when it expires
		s.Success = true
		if err != nil {
			h.logger.WarnContext(ctx, "paywall: held price not voided; it is given back when it expires", h.about(e, err)...)
		}
	case err == nil && ch.Status == client.Pending:
		s.ErrorReason = x402.ReasonPending
	case err == nil && (ch.Status == client.Completed || ch.Status == client.Succeeded):
		s.Success, s.Transaction = true, transactionOf(ch, p)
		s.Metered.CapturedMicros = e.micros
		if p.Scheme == x402.SchemeUpto {
			s.Amount = baseUnits(e.micros, h.accept.asset)
		}
		p.Transaction, p.AmountMicros = s.Transaction, e.micros
		if h.onPaid != nil {
			h.onPaid(withoutCredentials(ctx, h.request), p)
		}
	default:
		no := captureRefused(ch, err, h.offer)
		if p.Scheme == x402.SchemeUpto {
			no = announced(no, x402.HeaderPaymentResponse, p.Network)
		}
		s.ErrorReason = x402.Reason(no.code)
		h.logger.ErrorContext(ctx, "paywall: capture refused", append(h.about(e, err), slog.String("code", no.code))...)
		return no, s.Header()
	}
	if e.micros > 0 && e.micros != p.MeteredMicros {
		h.logger.InfoContext(ctx, "paywall: a card pays whole cents", append(h.about(e, nil), slog.Int64("metered_micros", p.MeteredMicros))...)
	}
	return nil, s.Header()
}

// about returns what a log record says about a decision.
func (h *hold) about(e decision, err error) []any {
	attrs := []any{
		slog.String("request_id", h.id), slog.String("transaction_id", e.payment.TransactionID), slog.Int64("amount_micros", e.micros),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	return attrs
}

// transactionOf returns the transaction hash of a charge, or the card processor's payment id.
func transactionOf(ch client.Charge, p Payment) string {
	return cmp.Or(ch.TxHash, ch.ProcessorPaymentID, p.Transaction, p.TransactionID)
}

// capture captures or voids the hold, once: the key is the same for every attempt.
func (h *hold) capture(ctx context.Context, e decision) (client.Charge, error) {
	if h.purchase.capture != nil {
		return h.purchase.capture(ctx, e.micros)
	}
	if e.micros == 0 {
		return h.capturer.Void(ctx, e.payment.TransactionID)
	}
	return h.capturer.Capture(ctx, e.payment.TransactionID, client.CaptureParams{
		AmountMicros: e.micros, Usage: e.payment.Usage, IdempotencyKey: "metered:" + e.payment.TransactionID,
	})
}

// captureLater repeats the capture until it has an outcome, or the hold has expired.
func (h *hold) captureLater(ctx context.Context, e decision) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		if sleep.For(ctx, wait) != nil {
			h.logger.ErrorContext(ctx, "paywall: capture given up: the gate was shut down", h.about(e, nil)...)
			return
		}
		within, cancel := context.WithTimeout(ctx, h.timeout)
		ch, err := h.capture(within, e)
		cancel()
		if !e.open(ch, err) {
			h.settleDebts(e, ch, err)
			_, _ = h.concluded(ctx, e, ch, err)
			return
		}
		if !h.clock().Before(e.payment.AuthorizedUntil) {
			h.logger.ErrorContext(ctx, "paywall: capture given up: the authorization has expired", h.about(e, err)...)
			return
		}
	}
}

// open reports whether the capture has no outcome yet.
func (e decision) open(ch client.Charge, err error) bool {
	return undecided(err) || err == nil && e.micros > 0 && ch.Status == client.Pending
}

// undecided reports whether an error leaves open whether the call had an effect, or another
// attempt may succeed.
func undecided(err error) bool {
	var e *client.Error
	switch {
	case err == nil:
		return false
	case errors.Is(err, client.ErrUnknownOutcome), !errors.As(err, &e):
		return true
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return e.Code == client.CodeIdempotencyInProgress
	}
	return e.Status >= http.StatusInternalServerError
}

// captureRefused returns the refusal of a capture that the service or the rail refused.
func captureRefused(ch client.Charge, err error, o *offer) *refusal {
	var e *client.Error
	switch {
	case errors.As(err, &e) && e.Code == client.CodeAuthorizationEnded:
		no := refuse(string(e.Code), railMessage(string(e.Code), o))
		no.cause = err
		return no
	case errors.As(err, &e):
		return fromService(e)
	}
	reason := string(safeReason(x402.Reason(cmp.Or(string(ch.FailureReason), string(ch.Status)))))
	return refuse(reason, railMessage(reason, o))
}

// resume decides what happens with a credential that was settled and not served: served again
// by the handler, or not if an earlier request decided about the money.
func (h *hold) resume(ctx context.Context) (Payment, error) {
	p := h.paid
	switch {
	case p.Refunding:
		return h.resumeRefund(ctx)
	case p.Decided: // the gate ended between the decision and the capture
		e := decision{payment: p, micros: p.capturable(p.MeteredMicros), end: EndServed, sent: true}
		_, _ = h.conclude(ctx, e) // logs a refusal
		h.end = EndServed
		return Payment{}, alreadyRedeemed()
	case p.held() && !h.clock().Before(p.AuthorizedUntil.Add(-captureMargin)):
		h.end = EndRefused // the hold has expired
		reason := string(client.CodeAuthorizationEnded)
		return Payment{}, refuse(reason, railMessage(reason, h.offer))
	}
	return p, nil
}
