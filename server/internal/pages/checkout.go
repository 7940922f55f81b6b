package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// checkoutForm is what the page of an open checkout shows.
type checkoutForm struct {
	Action, Merchant, Website, Description, Amount, Error, Email string
	Method                                                       string // that was chosen
	Methods                                                      methodChoices
	ByMandate, AsksMail                                          bool
	Card                                                         *cardPage // nil: no card is entered elsewhere
}

// byMandate is the payment method that is a mandate.
const byMandate = "mandate"

// checkout finds the checkout of an address, or answers that there is none.
func (p *Pages) checkout(w http.ResponseWriter, r *http.Request) (payment.Checkout, bool) {
	c, err := p.Payments.CheckoutAt(r.Context(), r.PathValue("checkoutId"), r.PathValue("proof"))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		p.missing(w, r)
	case err != nil:
		p.failed(w, r, err)
	}
	return c, err == nil
}

func (p *Pages) showCheckout(w http.ResponseWriter, r *http.Request) {
	c, ok := p.checkout(w, r)
	if !ok {
		return
	}
	if c.Status == payment.CheckoutOpen {
		p.showCheckoutForm(w, r, c, http.StatusOK, checkoutForm{})
		return
	}
	p.showCheckoutOutcome(w, r, c)
}

func (p *Pages) showCheckoutForm(w http.ResponseWriter, r *http.Request, c payment.Checkout, status int, f checkoutForm) {
	m, err := p.Merchants.Merchant(r.Context(), c.MerchantID)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	f.Action, f.Merchant, f.Website = r.URL.Path, m.Name, host(m.Website)
	f.Description, f.Amount = c.Description, dollars(c.Amount)
	f.AsksMail = p.Mails != nil
	if f.Card == nil {
		f.Card = p.checkoutCard(c, "", "")
	}
	f.Methods, f.ByMandate = choices(p.Methods(rail.Card), f.Method), f.Method == byMandate
	p.render(w, r, status, p.pay, "Pay "+m.Name, f)
}

// payCheckout takes the form.
func (p *Pages) payCheckout(w http.ResponseWriter, r *http.Request) {
	c, ok := p.checkout(w, r)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	if r.PostForm.Get("action") == "card" {
		p.leaveCheckout(w, r, c)
		return
	}
	method, email := r.PostForm.Get("method"), ""
	card := p.checkoutCard(c, method, r.PostForm.Get("connected"))
	if card != nil && card.Method == "" && method != byMandate && !slices.ContainsFunc(p.Methods(rail.Card), func(m rail.Method) bool { return m.Name == method }) {
		p.showCheckoutForm(w, r, c, http.StatusUnprocessableEntity, checkoutForm{Error: chooseMethod})
		return
	}
	if p.Mails != nil {
		email = strings.TrimSpace(r.PostForm.Get("email"))
	}
	problem, err := p.payBy(r.Context(), c, method, strings.TrimSpace(r.PostForm.Get("mandate")), email)
	switch {
	case err != nil:
		p.failed(w, r, err)
	case problem != "":
		p.showCheckoutForm(w, r, c, http.StatusUnprocessableEntity, checkoutForm{Error: problem, Email: email, Method: method, Card: card})
	default:
		http.Redirect(w, r, p.Payments.CheckoutURL(c.ID), http.StatusSeeOther)
	}
}

// payBy pays; the problem is what the person can put right.
func (p *Pages) payBy(ctx context.Context, c payment.Checkout, method, token, email string) (problem string, err error) {
	if method == byMandate {
		_, err = p.Payments.PayByMandate(ctx, c, token)
	} else {
		_, err = p.Payments.PayByCard(ctx, c, method, email)
	}
	var card *payment.MethodError
	var refusal *ledger.Refusal
	var bound *payment.PresentationError
	switch {
	case err == nil:
		return "", nil
	case errors.As(err, &card):
		return fmt.Sprintf("This payment method was refused (%s). Choose another one; attempts left: %d.",
			strings.ReplaceAll(string(card.Reason), "_", " "), card.AttemptsLeft), nil
	case errors.As(err, &refusal):
		return refusalText(refusal), nil
	case errors.Is(err, mandate.ErrMalformed), errors.Is(err, mandate.ErrInvalid), errors.Is(err, ledger.ErrNotFound), errors.As(err, &bound):
		return "This is not a mandate that this service knows. Paste the whole text, from dtok_ to its end.", nil
	case errors.Is(err, rail.ErrUnknownMethod):
		return chooseMethod, nil
	case errors.Is(err, payment.ErrNoEmail):
		return "The email address is not complete.", nil
	}
	return "", err
}

// refusalText says what a mandate does not allow.
func refusalText(r *ledger.Refusal) string {
	switch r.Code {
	case ledger.MandateIsRevoked:
		return "This mandate was revoked."
	case ledger.MandateExpired:
		return "This mandate has expired."
	case ledger.MandateIsPaused:
		return "This mandate is paused. The person who confirmed it can resume it."
	case ledger.MerchantNotAllowed:
		return "This mandate does not allow payments to this merchant."
	case ledger.PerTxLimit:
		return "This mandate allows at most $" + r.Limit.Decimal() + " for one payment."
	case ledger.DailyLimit:
		return "This mandate has $" + r.Remaining.Decimal() + " left today (UTC)."
	case ledger.TotalLimit:
		return "This mandate has $" + r.Remaining.Decimal() + " left."
	case ledger.VelocityLimit:
		return "This mandate allows no more payments today (UTC)."
	case ledger.PayeeLimit:
		return "This mandate has $" + r.Remaining.Decimal() + " left for this merchant this month."
	case ledger.MonthlyLimit:
		return "This mandate has $" + r.Remaining.Decimal() + " left this month."
	default:
		return "This mandate does not allow the payment."
	}
}

// showCheckoutOutcome shows the state of a checkout that is not open.
func (p *Pages) showCheckoutOutcome(w http.ResponseWriter, r *http.Request, c payment.Checkout) {
	m, err := p.Merchants.Merchant(r.Context(), c.MerchantID)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	v := result{Merchant: m.Name, Return: c.ReturnURL, Amount: dollars(c.Amount), Text: c.Description}
	if c.Charge.ID != "" {
		v.Facts = []fact{{"Transaction", c.Charge.ID}}
	}
	switch c.Status {
	case payment.CheckoutPaid:
		v.Tone, v.Badge, v.Headline = "good", "Paid", "You paid "+m.Name
		v.Receipt = p.Payments.ReceiptURL(c.Charge.ID)
	case payment.CheckoutPending:
		v.Tone, v.Badge, v.Headline = "wait", "Pending", "The payment is on its way"
		v.Text = "Load this page again in a moment. Nothing is paid twice."
	case payment.CheckoutExpired:
		v.Tone, v.Badge, v.Headline = "bad", "Expired", "This link is older than a day"
		v.Text = "Nothing was paid. Ask " + m.Name + " for a new one."
	case payment.CheckoutFailed, payment.CheckoutOpen:
		v.Tone, v.Badge, v.Headline = "bad", "Not paid", "The payment was refused"
		switch c.FailureReason {
		case payment.PaymentReversed:
			v.Badge, v.Headline = "Reversed", "The payment was reversed"
			v.Text = "The payment network took the payment back. Ask " + m.Name + " for a new link."
		case payment.PaymentRefunded:
			v.Badge, v.Headline = "Refunded", "The payment was refunded"
			v.Text = m.Name + " gave the payment back. Ask " + m.Name + " for a new link."
		default:
			v.Text = "Nothing was paid (" + strings.ReplaceAll(c.FailureReason, "_", " ") + "). Ask " + m.Name + " for a new link."
		}
	}
	p.message(w, r, http.StatusOK, v)
}
