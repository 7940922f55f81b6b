package paywall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/sleep"
)

// refundUnserved refunds a payment whose handler failed, if the gate is configured to. The
// store knows of the refund before it is requested: if the process ends in between, the
// credential is not served, and a request with it requests the refund again.
func (h *hold) refundUnserved(d *delivery, returned bool) {
	if h.refunder == nil || h.end != EndUnserved || !h.failed(d, returned) || d.payment.TransactionID == "" || len(h.held) == 0 {
		return
	}
	ctx := context.WithoutCancel(d.ctx)
	p := *d.payment // the handler may have started goroutines that read the original
	if p.Network != networkCard && h.signRefund == nil {
		h.unsigned.Do(func() {
			h.logger.WarnContext(ctx, "paywall: payments on the chain are not refunded, because SignRefund is not set; their credentials stay good", h.aboutRefund(p, nil)...)
		})
		return
	}
	if err := h.noteRefund(ctx, p, true); err != nil {
		// Without the note the credential could be served after the refund.
		h.logger.ErrorContext(ctx, "paywall: payment not refunded, because the store fails; its credential stays good", h.aboutRefund(p, err)...)
		return
	}
	h.brake.count(h.mandateID)
	refund, err := h.refund(ctx, p)
	if undecided(err) {
		h.logger.WarnContext(ctx, "paywall: refund has no outcome; trying again", h.aboutRefund(p, err)...)
		if !h.later.run(func(ctx context.Context) { h.refundLater(ctx, p) }) {
			h.logger.ErrorContext(ctx, "paywall: refund given up until its credential is sent again", h.aboutRefund(p, err)...)
		}
		return
	}
	h.refunded(ctx, p, refund, err)
}

// failed reports whether the handler is the reason that a request was not served. A status
// that was written after the client had left is the client's doing.
func (h *hold) failed(d *delivery, returned bool) bool {
	panicked := !returned && d.ctx.Err() == nil
	left := d.late && !errors.Is(d.ctx.Err(), context.DeadlineExceeded) // which is a timeout in front of the gate
	return d.declined.Load() || panicked || d.status >= http.StatusInternalServerError && !left
}

// noteRefund records that a payment is given back, or that it is not.
func (h *hold) noteRefund(ctx context.Context, p Payment, refunding bool) error {
	ctx, cancel := h.bookkeeping(ctx)
	defer cancel()
	h.refunding, p.Refunding = refunding, refunding
	for _, c := range h.held {
		if err := h.redemptions.Settled(ctx, c.key, p); err != nil {
			h.refunding = false
			return err
		}
	}
	return nil
}

// refund requests the refund, once: the key is the same for every attempt.
func (h *hold) refund(ctx context.Context, p Payment) (client.Refund, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	r, err := h.refunder.Refund(ctx, p.TransactionID, client.RefundParams{
		Reason: "The request was not served.", IdempotencyKey: "unserved:" + p.TransactionID,
	})
	if err != nil || r.Status != client.RefundPending || r.Signature == nil || h.signRefund == nil {
		return r, err
	}
	signed, err := h.sign(ctx, p, r)
	if err != nil { // it stays pending, and is signed when the credential is sent again
		h.logger.ErrorContext(ctx, "paywall: refund not signed", append(h.aboutRefund(p, err), slog.String("refund_id", r.ID))...)
		return r, nil
	}
	return signed, nil
}

// sign signs a refund on the chain and hands the signature in.
func (h *hold) sign(ctx context.Context, p Payment, r client.Refund) (client.Refund, error) {
	if err := h.signable(p, r); err != nil {
		return r, err
	}
	signer, ok := h.refunder.(RefundSigner)
	if !ok {
		return r, errors.New("the settler takes no signatures")
	}
	signature, err := h.signRefund(ctx, r)
	if err != nil {
		return r, fmt.Errorf("SignRefund: %w", err)
	}
	return signer.SignRefund(ctx, r.TransactionID, r.ID, signature)
}

// refunded handles the outcome of a refund. The claim is kept in any case: a pending refund
// may still fail, as it does on the chain if the merchant does not sign it.
func (h *hold) refunded(ctx context.Context, p Payment, r client.Refund, err error) {
	switch {
	case err == nil && r.Status == client.RefundSucceeded:
		return
	case err == nil && r.Status == client.RefundPending:
		h.logger.WarnContext(ctx, "paywall: refund is pending", append(h.aboutRefund(p, nil), slog.String("refund_id", r.ID))...)
		return
	}
	h.logger.ErrorContext(ctx, "paywall: payment not refunded; its credential stays good",
		append(h.aboutRefund(p, err), slog.String("reason", string(r.FailureReason)))...)
	if err := h.noteRefund(ctx, p, false); err != nil {
		h.logger.ErrorContext(ctx, "paywall: record payment", h.aboutRefund(p, err)...)
	}
}

func (h *hold) aboutRefund(p Payment, err error) []any {
	attrs := []any{slog.String("request_id", h.id), slog.String("transaction_id", p.TransactionID)}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	return attrs
}

// refundLater repeats the refund until it has an outcome, at most for [HonoredFor]. A request
// with the credential reads the outcome.
func (h *hold) refundLater(ctx context.Context, p Payment) {
	until := h.clock().Add(HonoredFor)
	for wait := time.Second; h.clock().Before(until) && sleep.For(ctx, wait) == nil; wait = min(2*wait, time.Minute) {
		r, err := h.refund(ctx, p)
		if undecided(err) {
			continue
		}
		if err != nil || r.Status == client.RefundFailed {
			h.logger.ErrorContext(ctx, "paywall: payment not refunded; its credential stays good",
				append(h.aboutRefund(p, err), slog.String("reason", string(r.FailureReason)))...)
		}
		return
	}
	h.logger.ErrorContext(ctx, "paywall: refund given up until its credential is sent again", h.aboutRefund(p, ctx.Err())...)
}

// resumeRefund handles a credential whose payment is given back. If the refund failed, the
// credential is good again.
func (h *hold) resumeRefund(ctx context.Context) (Payment, error) {
	p := h.paid
	p.Refunding = false
	h.refunding = true
	h.end = EndUnserved
	if h.refunder == nil { // configured off since
		return Payment{}, refundedBefore("is given back")
	}
	r, err := h.refund(ctx, p)
	if undecided(err) {
		return Payment{}, outage(false, 0, err)
	}
	h.refunded(ctx, p, r, err)
	switch {
	case h.refunding && r.Status == client.RefundSucceeded:
		return Payment{}, refundedBefore("was given back")
	case h.refunding:
		return Payment{}, refundedBefore("is being given back")
	}
	return p, nil
}

// refundedBefore returns the refusal of a credential whose payment is given back.
func refundedBefore(how string) *refusal {
	return refuse(codeRefunded, "The payment of this credential "+how+", because its request was not served. Pay again.")
}
