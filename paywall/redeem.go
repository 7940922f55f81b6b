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

// redeem looks the claim up, verifies, claims, settles, serves and finishes, in
// this order.
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

// hold is the claims that a request holds.
type hold struct {
	*visit
	*purchase
	held    []heldClaim
	state   ClaimState // of the credential: Fresh, Retried or Paid
	paid    Payment    // with Paid
	checked bool       // the credential is valid by itself
	end     End
	renewal *renewal
	done    bool // finished
	// entitled: the credential may have what was paid for under its identifier.
	entitled bool
	// pass is what a transfer was counted against, if the facilitator was asked.
	pass     *pass
	admitted bool
}

type heldClaim struct {
	key   string
	state ClaimState
}

// acquire claims and settles. It ends with its own time and not with the client:
// a settlement that is broken off leaves the payer without money and without an
// answer. The time is that of three calls: verify, settle, and settle once more
// if the first answer was that it is pending.
func (h *hold) acquire(ctx context.Context) (Payment, error) {
	ctx = context.WithoutCancel(ctx)
	if !h.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 3*(h.timeout+bookkeeping))
		defer cancel()
	}
	if err := h.admit(ctx); err != nil {
		return Payment{}, err
	}
	if err := h.take(ctx); err != nil {
		return Payment{}, err
	}
	if h.state == Fresh && !h.checked { // what was looked up has been forgotten since
		if err := h.check(ctx); err != nil {
			return Payment{}, err
		}
	}
	h.renewal = h.renew(ctx)
	return h.pay(ctx)
}

// admit checks the credential before anything is claimed, so that one that is not
// good takes no room and locks nothing. One that was settled before passes: its
// window may be over, and its payer may have nothing left. If only its identifier
// was paid, entitle decides.
func (h *hold) admit(ctx context.Context) error {
	if h.late == nil && h.verify == nil {
		return nil
	}
	state := Fresh
	for i, c := range h.claims {
		got, err := h.redemptions.Peek(ctx, c)
		if err != nil {
			return storeDown(err)
		}
		if no := h.given(got.State, len(h.claims)-1-i); no != nil {
			return no
		}
		if state = got.State; state == Paid {
			return h.entitle(ctx, i)
		}
	}
	if state != Fresh {
		return nil
	}
	return h.check(ctx)
}

// check reports whether the credential is valid now, without moving money.
func (h *hold) check(ctx context.Context) error {
	h.checked = true
	var err error
	if h.late != nil {
		err = h.late
	} else if h.verify != nil {
		if err = h.count(); err == nil {
			err = h.verify(ctx)
			h.judge(err)
		}
	}
	if err != nil {
		h.end = Refused // nothing was sent that could move money
	}
	return err
}

// count counts a signed transfer against its client's address, once, before the
// facilitator is asked about it.
func (h *hold) count() error {
	if h.payer == "" || h.admitted {
		return nil
	}
	var wait time.Duration
	if h.pass, wait = h.strangers.admit(h.request, h.payer); wait > 0 {
		return tooMany(wait)
	}
	h.admitted = true
	return nil
}

// judge gives back what a transfer was counted against, unless it was refused or
// nobody answered for it.
func (h *hold) judge(err error) {
	var no *refusal
	switch errors.As(err, &no); {
	case err == nil, no != nil && no.code == codePending:
		h.pass.good()
	case no != nil && !no.undecided():
		h.pass.refused()
	}
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
			if err := h.entitle(ctx, i); err != nil { // paid since it was looked up
				h.restore(ctx)
				return err
			}
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
		return got, storeDown(err)
	}
	return got, nil
}

func storeDown(err error) *refusal {
	return &refusal{
		status: http.StatusServiceUnavailable, code: codeUnavailable, wait: defaultWait, cause: err,
		message: "The payment cannot be taken now. Send the same credential again.",
	}
}

// given is why a claim was not granted; nil if it was. An identifier has claims
// after it, and stands for a payment that the client signs anew: it is a conflict,
// not a price.
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
	no := alreadyRedeemed()
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
	if err := h.count(); err != nil {
		if h.state == Fresh {
			h.end = Refused
		}
		return Payment{}, err
	}
	s, err := h.settle(ctx, h.state)
	h.judge(err)
	if err != nil {
		var no *refusal
		// After an undecided try, a refusal does not decide that one. A first try that was
		// turned away is over: if it counted as undecided, the next one could be answered
		// with an older payment of the same key, which was served already.
		if errors.As(err, &no) && (no.unsent || !no.undecided()) && h.state == Fresh {
			h.end = Refused
		}
		return Payment{}, err
	}
	if s.replayed && h.state == Fresh {
		// Settled by somebody else: another instance, or this one before it forgot.
		// It was served, or may have been.
		h.end = Served
		return Payment{}, alreadyRedeemed()
	}
	h.pass.paid()
	for _, c := range h.held {
		h.note(ctx, c.key, s.payment)
	}
	if h.onPaid != nil {
		h.onPaid(withoutCredentials(h.request.Context(), h.request), s.payment)
	}
	return s.payment, nil
}

// note records a payment. It was made, so it is served even if this fails.
func (h *hold) note(ctx context.Context, key string, p Payment) {
	if err := h.redemptions.Settled(ctx, key, p); err != nil {
		h.logger.ErrorContext(ctx, "paywall: a payment was not recorded", slog.String("request_id", h.id), slog.Any("error", err))
	}
}

// finish ends the claims, however the request ended; once.
func (h *hold) finish(ctx context.Context) {
	if h.done {
		return
	}
	h.done = true
	h.renewal.stop()
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
