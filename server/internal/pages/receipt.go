package pages

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// receipt is the public page of one charge: no secrets, no payment details
// beyond brand and last four digits of a card.
func (p *Pages) receipt(w http.ResponseWriter, r *http.Request) {
	found, err := p.Payments.Receipt(r.Context(), r.PathValue("transactionId"), r.PathValue("proof"))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		p.missing(w, r)
	case err != nil:
		p.failed(w, r, err)
	default:
		p.message(w, r, http.StatusOK, receiptView(found))
	}
}

func receiptView(found payment.Receipt) result {
	c := found.Charge
	v := result{
		Tone: "good", Badge: "Paid", Headline: "Receipt from " + found.Merchant.Name, Text: c.Description,
		Amount: dollars(c.Amount),
		Facts:  []fact{{"Transaction", c.ID}, {"Date", moment(c.CreatedAt)}},
	}
	switch {
	case found.Reversed:
		v.Tone, v.Badge, v.Headline = "bad", "Reversed", "The payment to "+found.Merchant.Name+" was reversed"
		v.Facts = append(v.Facts, fact{"Reason", "The payment network took the payment back"})
	case c.Status == ledger.ChargePending:
		v.Tone, v.Badge = "wait", "Pending"
	case c.Status == ledger.ChargeAuthorized && c.TabID != "":
		v.Tone, v.Badge = "wait", "Authorized"
		v.Facts = append(v.Facts, fact{"Charged", "With other small payments, as one sum"})
	case c.Status == ledger.ChargeWrittenOff:
		v.Tone, v.Badge = "wait", "Charged later"
		v.Facts = append(v.Facts, fact{"Charged", "With the next small payments"})
	case c.Status == ledger.ChargeAuthorized:
		v.Tone, v.Badge, v.Headline = "wait", "Authorized", found.Merchant.Name+" may charge up to "+dollars(c.Amount)
		v.Facts = append(v.Facts, fact{"Until", moment(c.AuthorizedUntil)})
	case c.Status == ledger.ChargeVoided:
		v.Tone, v.Badge, v.Headline, v.Amount = "wait", "Voided", "Nothing was paid to "+found.Merchant.Name, ""
	case c.Status == ledger.ChargeFailed:
		v.Tone, v.Badge, v.Headline = "bad", "Not paid", "Nothing was paid to "+found.Merchant.Name
		v.Facts = append(v.Facts, fact{"Reason", reasonText(c.FailureReason)})
	case c.Status == ledger.ChargeSucceeded:
		v.Facts = append(v.Facts, fact{"Settled", moment(c.SettledAt)})
		if c.TabID != "" {
			v.Facts = append(v.Facts, fact{"Charged", "With other small payments, as one sum"})
		}
	}
	if c.GivenBack() && c.Refunding == 0 {
		v.Tone, v.Badge, v.Headline = "wait", "Refunded", found.Merchant.Name+" gave the payment back"
	}
	if c.Refunded > 0 {
		v.Facts = append(v.Facts, fact{"Refunded", dollars(c.Refunded)})
	}
	if c.Step == ledger.StepCapture || c.Status == ledger.ChargeVoided {
		v.Facts = append(v.Facts, fact{"Authorized", "up to " + dollars(c.Authorized)})
	}
	if u := c.Usage; u != nil {
		v.Facts = append(v.Facts, fact{"For", fmt.Sprintf("%s × %s at $%s", site.Count(u.Quantity), u.Unit, u.UnitPrice.Decimal())})
	}
	if c.Status != ledger.ChargeFailed && c.Status != ledger.ChargeVoided && c.Status != ledger.ChargeWrittenOff && c.Rail == rail.Card && found.Instrument.Brand != "" {
		with := "Paid with"
		if c.Status == ledger.ChargeAuthorized {
			with = "Held on"
		}
		v.Facts = append(v.Facts, fact{with, found.Instrument.Brand + " •••• " + found.Instrument.LastFour})
	}
	if c.TxHash != "" {
		v.Facts = append(v.Facts, fact{"On chain", c.TxHash})
	}
	if host := host(found.Merchant.Website); host != "" {
		v.Facts = append(v.Facts, fact{"Website", host})
	}
	if c.Direct() {
		v.Facts = append(v.Facts, fact{"Paid by", c.Payer()})
		return v
	}
	v.Facts = append(v.Facts, fact{"Mandate", c.MandateID})
	v.Help = help(found)
	return v
}

// help says how to stop further payments, and how to dispute this one.
func help(found payment.Receipt) []string {
	merchant := found.Merchant.Name
	if host := host(found.Merchant.Website); host != "" {
		merchant += " (" + host + ")"
	}
	lines := []string{
		"To pause or stop further payments, open the private link that you got when you confirmed the mandate. If you proved an email address, you can also sign in.",
		"If you have neither, ask the merchant that asked you for the mandate to revoke it.",
	}
	if c := found.Charge; c.Status == ledger.ChargeFailed || c.Status == ledger.ChargeVoided || found.Reversed {
		return lines
	}
	lines = append(lines, "To dispute this payment, ask "+merchant+" for a refund first, and name the transaction.")
	if found.Charge.Rail == rail.Chain {
		return append(lines, "A payment on the chain cannot be taken back: only the merchant can refund it.")
	}
	return append(lines, "If that does not help, the issuer of your card can dispute the payment for you.")
}
