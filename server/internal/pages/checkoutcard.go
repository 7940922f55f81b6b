package pages

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// leaveCheckout sends the person to the processor's page, to enter the card that pays a checkout.
func (p *Pages) leaveCheckout(w http.ResponseWriter, r *http.Request, c payment.Checkout) {
	m, err := p.Merchants.Merchant(r.Context(), c.MerchantID)
	if err == nil {
		err = p.depart(w, r, c.Session(), departure{
			page: p.Payments.CheckoutURL(c.ID), back: url.Values{}, text: "You come back here afterwards, and pay. Nothing is charged before.",
			notice: fmt.Sprintf("Continue only if you came here from %s yourself. If somebody sent you this page, close it. You pay %s %s once with this card.",
				host(p.BaseURL), m.Name, dollars(c.Amount)),
		})
	}
	switch {
	case errors.Is(err, ledger.ErrSessionFinished):
		http.Redirect(w, r, p.Payments.CheckoutURL(c.ID), http.StatusSeeOther)
	case err != nil:
		p.failed(w, r, err)
	}
}

// showCheckoutReturned shows the page of a checkout to a person who has entered a card.
func (p *Pages) showCheckoutReturned(w http.ResponseWriter, r *http.Request) {
	c, ok := p.checkout(w, r)
	if !ok {
		return
	}
	if c.Status != payment.CheckoutOpen {
		p.showCheckoutOutcome(w, r, c)
		return
	}
	if method, proof, ok := p.arrived(w, r, c.Session()); ok {
		p.showCheckoutForm(w, r, c, http.StatusOK, checkoutForm{Method: method, Card: &cardPage{Method: method, Proof: proof}})
	}
}

// checkoutCard returns the choice of a card that is entered elsewhere, or nil.
func (p *Pages) checkoutCard(c payment.Checkout, method, proof string) *cardPage {
	if _, ok := p.Payments.Redirector([]rail.Name{rail.Card}); !ok {
		return nil
	}
	if p.Payments.IsSetupProof(c.Session(), proofConnected, method, proof) {
		return &cardPage{Method: method, Proof: proof}
	}
	return &cardPage{}
}
