package pages

import (
	"errors"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/payment"
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
		Amount: "$" + c.Amount.Decimal(),
		Facts:  []fact{{"Transaction", c.ID}, {"Date", day(c.CreatedAt)}},
	}
	switch c.Status {
	case ledger.ChargePending:
		v.Tone, v.Badge = "wait", "Pending"
	case ledger.ChargeFailed:
		v.Tone, v.Badge = "bad", "Not paid"
		v.Facts = append(v.Facts, fact{"Reason", string(c.FailureReason)})
	case ledger.ChargeSucceeded:
		v.Facts = append(v.Facts, fact{"Settled", day(c.SettledAt)})
	}
	if c.Rail == rail.Fiat && found.Instrument.Brand != "" {
		v.Facts = append(v.Facts, fact{"Paid with", found.Instrument.Brand + " •••• " + found.Instrument.LastFour})
	}
	if c.TxHash != "" {
		v.Facts = append(v.Facts, fact{"On chain", c.TxHash})
	}
	return v
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }
