package paywall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/clientlimit"
)

// bookkeeping bounds the calls to the [Redemptions] at the end of a request.
const bookkeeping = 5 * time.Second

// limited returns a context for one call, which continues if the client disconnects.
func (s *shared) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
}

// bookkeeping returns a context for the end of a request.
func (s *shared) bookkeeping(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.bounded {
		return context.WithoutCancel(ctx), func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), bookkeeping)
}

// redeem looks the claim up, verifies, claims, settles, serves and finishes, in this order.
func (g *Gate) redeem(w http.ResponseWriter, r *http.Request, next http.Handler, v *visit) {
	ctx := r.Context()
	p, err := v.plan(ctx)
	if err != nil {
		g.turnAway(w, r, v.offer, v.id, v.found.kind, err)
		return
	}
	h := &hold{visit: v, purchase: p, end: EndUndecided}
	defer h.finish(ctx)
	payment, err := h.acquire(ctx)
	if err != nil {
		h.finish(ctx) // before the response, after which the client may repeat the credential at once
		g.turnAway(w, r, v.offer, v.id, v.found.kind, err)
		return
	}
	if payment.held() {
		h.deliverMetered(w, next, &payment)
		return
	}
	p.announce(w.Header(), payment)
	h.deliver(w, next, &payment)
}

// hold is a request with the claims that it holds.
type hold struct {
	*visit
	*purchase
	held    []heldClaim
	state   ClaimState // of the credential: ClaimFresh, ClaimUndecided or ClaimPaid
	paid    Payment    // with ClaimPaid
	checked bool       // the credential is valid by itself
	end     End
	renewal *renewal
	done    bool // finished
	// refunding reports that the payment is given back, and is kept only to repeat that.
	refunding bool
	// entitled reports that the credential may use the payment of its identifier.
	entitled bool
	// pass is what count has counted. Nil before that.
	pass     *clientlimit.Pass
	admitted bool
}

type heldClaim struct {
	key   string
	state ClaimState
}

// acquire claims and settles. It continues if the client disconnects, because an aborted
// settlement could take the payer's money without a response. Its timeout allows three
// calls: verify, settle, and settle again if the first settlement is pending.
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
	if h.state == ClaimFresh && !h.checked { // the store has forgotten the claim since it was looked up
		if err := h.check(ctx); err != nil {
			return Payment{}, err
		}
	}
	h.renewal = h.renew(ctx)
	return h.pay(ctx)
}

// admit checks the credential before it is claimed, so that an invalid one uses no memory
// and locks nothing. A credential that was settled before is not checked: its window may
// have ended, and its payer may have no funds left. If only its identifier was paid,
// entitle decides.
func (h *hold) admit(ctx context.Context) error {
	if h.late == nil && h.verify == nil {
		return nil
	}
	state := ClaimFresh
	for i := range h.claims {
		got, err := h.ask(ctx, i, h.redemptions.Peek)
		if err != nil {
			return err
		}
		if no := h.given(got.State, len(h.claims)-1-i); no != nil {
			return no
		}
		if state = got.State; state == ClaimPaid {
			return h.entitle(ctx, i)
		}
	}
	if state != ClaimFresh {
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
		h.end = EndRefused // nothing was sent that moves money
	}
	return err
}

// count counts a signed transfer against the client's address, once, before the first call
// to the facilitator.
func (h *hold) count() error {
	if h.payer == "" || h.admitted {
		return nil
	}
	var wait time.Duration
	if h.pass, wait = h.clients.Admit(h.request, h.payer); wait > 0 {
		return tooMany(wait)
	}
	h.admitted = true
	return nil
}

// judge undoes count if the transfer proved to be valid. It does not if the transfer was
// refused or the outcome is unknown.
func (h *hold) judge(err error) {
	var no *refusal
	switch errors.As(err, &no); {
	case err == nil, no != nil && no.code == codePending:
		h.pass.Good()
	case no != nil && !no.undecided():
		h.pass.Refused()
	}
}

// take takes all claims of the credential, or none.
func (h *hold) take(ctx context.Context) error {
	h.state = ClaimFresh
	for i := range h.claims {
		got, err := h.ask(ctx, i, h.redemptions.Claim)
		if err != nil {
			h.restore(ctx)
			return err
		}
		if no := h.given(got.State, len(h.claims)-1-i); no != nil {
			h.restore(ctx)
			return no
		}
		h.held = append(h.held, heldClaim{h.claims[i].Key, got.State})
		if got.State == ClaimPaid {
			if err := h.entitle(ctx, i); err != nil { // was paid after it was looked up
				h.restore(ctx)
				return err
			}
			h.state, h.paid = ClaimPaid, got.Payment
			return nil
		}
		h.state = got.State
	}
	if len(h.held) == 2 && h.held[0].state == ClaimUndecided && h.held[1].state == ClaimFresh {
		// The client signed again while its first payment with this identifier is
		// undecided. Settling this one could pay twice.
		h.restore(ctx)
		no := busy()
		no.code, no.wait = codePending, defaultWait
		no.message = "An earlier payment with this payment-identifier is undecided. Send that payment again."
		return no
	}
	return nil
}

// ask calls a method of the store for a claim. A key of an earlier request that another
// request has claimed since is replaced.
func (h *hold) ask(ctx context.Context, i int, method func(context.Context, Claim) (Claimed, error)) (Claimed, error) {
	for {
		got, err := method(ctx, h.claims[i])
		if err != nil {
			return got, storeDown(err)
		}
		if h.replace == nil || got.State < ClaimBusy {
			return got, nil
		}
		if err := h.replace(ctx); err != nil {
			return got, err
		}
	}
}

func storeDown(err error) *refusal {
	return &refusal{
		status: http.StatusServiceUnavailable, code: codeUnavailable, wait: defaultWait, cause: err,
		message: "The payment cannot be taken now. Send the same credential again.",
	}
}

// given returns why a claim was not granted, or nil. after is the number of claims after it.
// An identifier, which has a claim after it, is a conflict rather than a 402: the client
// would only sign again.
func (h *hold) given(state ClaimState, after int) *refusal {
	switch state {
	case ClaimFresh, ClaimUndecided, ClaimPaid:
		return nil
	case ClaimBusy:
		return busy()
	case ClaimServed:
	case ClaimBoundElsewhere:
		no := refuse(codeOtherPayment, "The credential was used for another payment.")
		if after > 0 || h.found.kind == CredentialMandate {
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

// restore releases the claims that were taken and leaves them as they were.
func (h *hold) restore(ctx context.Context) {
	for _, c := range h.held {
		h.finishKey(ctx, c.key, c.state.end())
	}
	h.held = nil
}

// end returns the end that leaves a claim in its state.
func (s ClaimState) end() End {
	switch s {
	case ClaimUndecided:
		return EndUndecided
	case ClaimPaid:
		return EndUnserved
	default:
		return EndRefused
	}
}

// pay settles the payment unless it is settled.
func (h *hold) pay(ctx context.Context) (Payment, error) {
	if h.state == ClaimPaid {
		return h.resume(ctx)
	}
	if no := h.braked(); no != nil && h.state == ClaimFresh { // an undecided payment may have been taken
		h.end = EndRefused
		return Payment{}, no
	}
	if err := h.count(); err != nil {
		if h.state == ClaimFresh {
			h.end = EndRefused
		}
		return Payment{}, err
	}
	s, err := h.settle(ctx, h.state)
	h.judge(err)
	if err != nil {
		var no *refusal
		// A refusal does not decide an earlier undecided attempt. A first attempt that was
		// refused is decided: if it counted as undecided, the next one could be answered
		// with an older payment of the same key, which was already served.
		if errors.As(err, &no) && (no.unsent || !no.undecided()) && h.state == ClaimFresh {
			h.end = EndRefused
		}
		return Payment{}, err
	}
	if s.replayed && h.state == ClaimFresh {
		// Another gate settled it, or this one before it forgot. It may have been served.
		h.end = EndServed
		return Payment{}, alreadyRedeemed()
	}
	h.pass.Paid()
	for _, c := range h.held {
		h.note(ctx, c.key, s.payment)
	}
	if h.onPaid != nil && !s.payment.held() { // a held price is paid when it is captured
		h.onPaid(withoutCredentials(h.request.Context(), h.request), s.payment)
	}
	return s.payment, nil
}

// note records a payment. If that fails, the request is served nevertheless.
func (h *hold) note(ctx context.Context, key string, p Payment) {
	if err := h.redemptions.Settled(ctx, key, p); err != nil {
		h.logger.ErrorContext(ctx, "paywall: record payment", slog.String("request_id", h.id), slog.Any("error", err))
	}
}

// finish ends the claims. Only the first call has an effect.
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
		h.logger.ErrorContext(ctx, "paywall: finish redemption", slog.String("request_id", h.id), slog.Any("error", err))
	}
}
