package paywall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/x402"
)

// What was metered can stay unpaid: the chain refuses the capture, because the payer has
// spent the money since, or the response is an error after the handler has counted. The
// payer can bring both about, so a gate serves it a limited number of such requests.

// debtor returns the payer of a held price: the id of the mandate, or the wallet that signed
// at most the price. It is empty for other credentials.
func (h *hold) debtor() string {
	if !h.route.Metered || h.mandateID == "" && h.purchase.capture == nil {
		return ""
	}
	return cmp.Or(h.mandateID, strings.ToLower(h.payer))
}

// stopped returns the refusal of a payer whose last payments were not made after requests
// were served, or nil.
func (s *shared) stopped(debtor string) *refusal {
	wait := max(s.unpaid.wait(debtor), s.voided.wait(debtor))
	if wait <= 0 {
		return nil
	}
	return &refusal{
		status: http.StatusTooManyRequests, code: codeTooMany, wait: wait, unsent: true,
		message: fmt.Sprintf("The last %d payments of this payer were not made, although their requests ran. Nothing was taken. Try again later.", s.unpaid.most),
	}
}

// settleDebts counts what a decision means for the payer's next requests.
func (h *hold) settleDebts(e decision, ch client.Charge, err error) {
	switch {
	case e.micros == 0 && e.wasted:
		h.voided.count(h.debtor())
	case e.micros > 0 && refusedCapture(ch, err):
		if !e.counted {
			h.unpaid.count(h.debtor())
		}
	case e.micros > 0 && err == nil:
		h.voided.forget(h.debtor())
	}
}

// refusedCapture reports whether a capture was refused for a reason that is the payer's.
func refusedCapture(ch client.Charge, err error) bool {
	return err == nil && ch.Status == client.Failed || isPassing(err)
}

// isPassing reports whether a wallet's payment was refused for a reason that may pass until
// its deadline, such as an allowance or a balance that is too small at the moment. What is
// already served is then settled later.
func isPassing(err error) bool {
	var refused *x402.RefusedError
	return errors.As(err, &refused) && refused.Reason != x402.ReasonGasBudget
}

// isFinalUpto reports whether a refusal of a payment of the scheme upto can never change.
func isFinalUpto(r x402.Reason) bool {
	switch r {
	case x402.ReasonUptoNonce, x402.ReasonUptoSignature, x402.ReasonUptoExpired,
		x402.ReasonNonceUsed, x402.ReasonSignature, x402.ReasonValidBefore, x402.ReasonDuplicate, x402.ReasonTransactionState:
		return true
	default:
		return false
	}
}

// overdue returns the refusal of a response that is not sent because all that its handler
// counted came after the price was held, or nil. A response that streams was served unpaid.
func (h *hold) overdue(ctx context.Context, d *delivery, e decision) *refusal {
	if e.end != EndServed || !d.meter.wasLate() {
		return nil
	}
	h.logger.ErrorContext(ctx, "paywall: the handler counted after its price was held no longer; that is not paid",
		append(h.about(e, nil), slog.Time("held_until", e.payment.AuthorizedUntil))...)
	if e.micros > 0 || e.sent {
		return nil
	}
	reason := string(client.CodeAuthorizationEnded)
	return refuse(reason, railMessage(reason, h.offer))
}
