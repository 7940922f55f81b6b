package paywall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// bookkeeping bounds the calls to the [Redemptions] at the end of a request.
const bookkeeping = 5 * time.Second

// limited is a context for one call that the client's leaving must not end.
func (s *shared) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
}

// bookkeeping is a context for the end of a request.
func (s *shared) bookkeeping(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.bounded {
		return context.WithoutCancel(ctx), func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), bookkeeping)
}

// redeem claims, settles, serves and finishes, in this order.
func (g *Gate) redeem(w http.ResponseWriter, r *http.Request, next http.Handler, v *visit) {
	ctx := r.Context()
	p, err := v.plan(ctx)
	if err != nil {
		g.turnAway(w, r, v.offer, v.id, v.found.kind, err)
		return
	}
	h := &hold{visit: v, purchase: p, end: Undecided}
	defer h.finish(ctx)
	payment, err := h.acquire(ctx)
	if err != nil {
		h.finish(ctx) // before the answer, which may bring the same credential back at once
		g.turnAway(w, r, v.offer, v.id, v.found.kind, err)
		return
	}
	p.announce(w.Header(), payment)
	h.deliver(w, next, &payment)
}

// hold is the claims that a request has.
type hold struct {
	*visit
	*purchase
	held  []heldClaim
	state ClaimState // of the credential: Fresh, Retried or Paid
	paid  Payment    // with Paid
	end   End
	done  bool // finished
}

type heldClaim struct {
	key   string
	state ClaimState
}

// acquire claims and settles. It ends with its own time and not with the client:
// a settlement that is broken off leaves the payer without money and without
// answer. The time is that of two calls, since what is on its way is asked after once.
func (h *hold) acquire(ctx context.Context) (Payment, error) {
	ctx = context.WithoutCancel(ctx)
	if !h.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*(h.timeout+bookkeeping))
		defer cancel()
	}
	if err := h.take(ctx); err != nil {
		return Payment{}, err
	}
	return h.pay(ctx)
}

// take claims everything the credential needs, or gives back what it got.
func (h *hold) take(ctx context.Context) error {
	h.state = Fresh
	for i, c := range h.claims {
		got, err := h.claim(ctx, c)
		if err != nil {
			h.restore(ctx)
			return err
		}
		if no := h.given(got.State, len(h.claims)-1-i); no != nil {
			h.restore(ctx)
			return no
		}
		h.held = append(h.held, heldClaim{c.Key, got.State})
		if got.State == Paid {
			h.state, h.paid = Paid, got.Payment
			return nil
		}
		h.state = got.State
	}
	if len(h.held) == 2 && h.held[0].state == Retried && h.held[1].state == Fresh {
		// Signed anew while the first payment under this identifier is undecided:
		// settling this one could pay twice.
		h.restore(ctx)
		no := busy()
		no.code, no.wait = codePending, defaultWait
		no.message = "An earlier payment with this payment-identifier is not decided. Send that one again."
		return no
	}
	return nil
}

func (h *hold) claim(ctx context.Context, c Claim) (Claimed, error) {
	got, err := h.redemptions.Claim(ctx, c)
	if err != nil {
		return got, &refusal{
			status: http.StatusServiceUnavailable, code: codeUnavailable, wait: defaultWait, cause: err,
			message: "The payment cannot be taken now. Send the same credential again.",
		}
	}
	return got, nil
}

// given tells why a claim was not given. An identifier has claims after it, and
// stands for a payment that the client signs anew: it is a conflict, not a price.
func (h *hold) given(state ClaimState, after int) *refusal {
	switch state {
	case Fresh, Retried, Paid:
		return nil
	case Busy:
		return busy()
	case Spent:
	case BoundElsewhere:
		no := refuse(codeOtherPayment, "The credential was used for another payment.")
		if after > 0 || h.found.kind == Mandate {
			no.status = http.StatusConflict
		}
		return no
	}
	no := refuse(codeRedeemed, "The credential was redeemed before.")
	if after > 0 {
		no.status = http.StatusConflict
	}
	return no
}

// restore gives back the claims that were taken, each as it was.
func (h *hold) restore(ctx context.Context) {
	for _, c := range h.held {
		h.finishKey(ctx, c.key, c.state.end())
	}
	h.held = nil
}

// end is the end that leaves a claim as it was found.
func (s ClaimState) end() End {
	switch s {
	case Retried:
		return Undecided
	case Paid:
		return Unserved
	default:
		return Refused
	}
}

// pay settles, unless the credential is paid already.
func (h *hold) pay(ctx context.Context) (Payment, error) {
	if h.state == Paid {
		return h.paid, nil
	}
	s, err := h.settle(ctx, h.state)
	if err != nil {
		var no *refusal
		// After an unclear try a refusal says nothing of that one.
		if errors.As(err, &no) && !no.undecided() && h.state == Fresh {
			h.end = Refused
		}
		return Payment{}, err
	}
	if s.replayed && h.state == Fresh {
		// Settled by somebody who did not tell us: another instance, or this one
		// before it forgot. It has been served, or may have been.
		h.end = Served
		return Payment{}, refuse(codeRedeemed, "The credential was redeemed before.")
	}
	for _, c := range h.held {
		h.note(ctx, c.key, s.payment)
	}
	return s.payment, nil
}

// note records a payment. It was made, so that it is served even where this fails.
func (h *hold) note(ctx context.Context, key string, p Payment) {
	if err := h.redemptions.Settled(ctx, key, p); err != nil {
		h.logger.ErrorContext(ctx, "paywall: a payment was not noted", slog.String("request_id", h.id), slog.Any("error", err))
	}
}

// finish ends the claims, however the request ended; once.
func (h *hold) finish(ctx context.Context) {
	if h.done {
		return
	}
	h.done = true
	ctx, cancel := h.bookkeeping(ctx)
	defer cancel()
	for _, c := range h.held {
		h.finishKey(ctx, c.key, h.end)
	}
	if h.ended != nil {
		h.ended(ctx, h.end)
	}
}

func (h *hold) finishKey(ctx context.Context, key string, end End) {
	if err := h.redemptions.Finish(ctx, key, end); err != nil {
		h.logger.ErrorContext(ctx, "paywall: a redemption was not finished", slog.String("request_id", h.id), slog.Any("error", err))
	}
}
