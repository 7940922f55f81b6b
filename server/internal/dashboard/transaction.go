package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// transaction is the page of one payment.
type transaction struct {
	site.Faulty

	ID, Description, Amount, Receipt string
	State                            site.Badge
	Reversed                         bool
	Facts, Metadata                  []fact
	Refunds                          []refundRow
	Refund                           *refundForm // nil: nothing can be refunded
}

type refundRow struct {
	ID, Amount, Reason, Note string
	At                       time.Time
	State                    site.Badge
}

// refundForm asks for a refund. Its key makes that a form that is sent twice refunds once.
type refundForm struct {
	Action, Key, Left, Amount, Reason string
}

// maxReason limits the reason of a refund, in characters.
const maxReason = 500

func (d *Dashboard) showTransaction(w http.ResponseWriter, v visit) {
	c, err := d.chargeOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	d.showCharge(w, v, c, http.StatusOK, refundForm{}, site.Faulty{})
}

// chargeOf returns the charge of a path.
func (d *Dashboard) chargeOf(v visit) (ledger.Charge, error) {
	chargeID := v.PathValue("transactionId")
	if !id.Valid(id.Charge, chargeID) {
		return ledger.Charge{}, ledger.ErrNotFound
	}
	return d.Payments.ChargeOf(v.Context(), v.merchant.ID, chargeID)
}

func (d *Dashboard) showCharge(w http.ResponseWriter, v visit, c ledger.Charge, status int, entered refundForm, wrong site.Faulty) {
	page, err := d.transaction(v.Context(), v.merchant.ID, c)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	page.Faulty = wrong
	if left := refundable(c); left > 0 && !page.Reversed && c.Refunds < ledger.MaxRefunds {
		if entered.Key == "" {
			entered = refundForm{Key: id.NewCapability("dashboard_"), Amount: site.Decimal(left)}
		}
		entered.Action, entered.Left = Root+"/transactions/"+c.ID+"/refunds", site.Dollars(left)
		page.Refund = &entered
	}
	d.show(w, v, "/transactions", site.Page{Title: "Transaction " + c.ID, Status: status, Content: page}, "transaction")
}

// refundable returns what is left of a charge to refund.
func refundable(c ledger.Charge) ledger.Micros {
	if !c.Paid() && (c.Status != ledger.ChargeAuthorized || c.TabID == "") {
		return 0
	}
	return c.Amount - c.Refunded - c.Refunding
}

func (d *Dashboard) transaction(ctx context.Context, merchantID string, c ledger.Charge) (transaction, error) {
	page := transaction{ID: c.ID, Description: c.Description, Amount: site.Dollars(c.Amount), State: chargeBadge(c), Receipt: d.Payments.ReceiptURL(c.ID)}
	var err error
	if page.Reversed, err = d.Payments.Reversed(ctx, c); err != nil {
		return page, err
	}
	if page.Reversed {
		page.State = site.Badge{Tone: site.Bad, Text: "Reversed"}
	}
	page.Facts = chargeFacts(c)
	for name, value := range c.Metadata {
		page.Metadata = append(page.Metadata, fact{name, value})
	}
	sortFacts(page.Metadata)
	refunds, err := d.Payments.Refunds(ctx, merchantID, c.ID, "", ledger.MaxRefunds)
	if err != nil {
		return page, err
	}
	for _, r := range refunds {
		row := refundRow{ID: r.ID, Amount: site.Dollars(r.Amount), Reason: r.Reason, At: r.CreatedAt, State: refundBadge(r.Refund)}
		switch {
		case r.Proposal != nil:
			row.Note = "Waits for the signature of your wallet: see POST /v1/payments/{transactionId}/refunds/{refundId}/signature."
		case r.Status == ledger.RefundFailed:
			row.Note = reason(r.FailureReason)
		}
		page.Refunds = append(page.Refunds, row)
	}
	return page, nil
}

// chargeFacts are the facts of a charge. Those without a value are left out.
func chargeFacts(c ledger.Charge) []fact {
	facts := []fact{{"Transaction", c.ID}, {"Created", c.CreatedAt}}
	add := func(name string, value any, known bool) {
		if known {
			facts = append(facts, fact{name, value})
		}
	}
	add("Settled", c.SettledAt, !c.SettledAt.IsZero())
	add("Authorized until", c.AuthorizedUntil, c.Status == ledger.ChargeAuthorized && !c.AuthorizedUntil.IsZero())
	add("Authorized", c.Authorized, c.Authorized > 0)
	add("Failed because", reason(c.FailureReason), c.Status == ledger.ChargeFailed)
	add("Refunded", c.Refunded, c.Refunded > 0)
	add("Being refunded", c.Refunding, c.Refunding > 0)
	add("Fee", c.Fee, c.Fee > 0)
	add("Rail", railName(c.Rail), true)
	add("Source", plain(string(c.Source)), c.Source != "")
	add("Mandate", site.Link{Text: c.MandateID, URL: Root + "/mandates/" + c.MandateID}, !c.Direct())
	add("Paid by", c.Payer(), c.Direct())
	add("Card processor", c.ProcessorID, c.ProcessorID != "")
	add("On chain", c.TxHash, c.TxHash != "")
	add("Tab", site.Link{Text: c.TabID, URL: Root + "/transactions?q=" + c.TabID}, c.TabID != "")
	add("Resource", c.Resource, c.Resource != "")
	if u := c.Usage; u != nil {
		add("For", fmt.Sprintf("%s × %s at $%s", site.Count(u.Quantity), u.Unit, u.UnitPrice.Decimal()), true)
	}
	return facts
}

// refund takes the form of a refund.
func (d *Dashboard) refund(w http.ResponseWriter, v visit) {
	c, err := d.chargeOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	in := refundForm{Key: v.PostForm.Get("key"), Amount: v.PostForm.Get("amount"), Reason: strings.TrimSpace(v.PostForm.Get("reason"))}
	request, wrong := in.request(v.merchant.ID, c)
	if wrong.Error == "" {
		var made payment.Refunded
		if made, err = d.Payments.Refund(v.Context(), request); err == nil {
			if !made.Replayed {
				d.did(v, "refund.create", c.ID, slog.String("refundId", made.ID), slog.Int64("amountMicros", int64(made.Amount)))
			}
			back(w, v, "/transactions/"+c.ID+"#refunds")
			return
		}
		if wrong = refundProblem(err); wrong.Error == "" {
			d.failed(w, v, err)
			return
		}
	}
	d.showCharge(w, v, c, http.StatusUnprocessableEntity, in, wrong)
}

// request returns what the form asks for, or what is wrong with it.
func (f refundForm) request(merchantID string, c ledger.Charge) (payment.RefundRequest, site.Faulty) {
	r := payment.RefundRequest{MerchantID: merchantID, ChargeID: c.ID, Reason: f.Reason, IdempotencyKey: f.Key}
	if !strings.HasPrefix(f.Key, "dashboard_") || len(f.Key) > 100 {
		return r, site.Faulty{Error: "The form did not arrive whole. Load the page again."}
	}
	amount, err := site.ParseDollars(f.Amount)
	if err != nil || amount <= 0 || !wholeCents(amount) && !wholeCents(c.Amount-amount) { // a fraction of a cent is given back whole
		return r, site.Faulty{Error: "The amount must be one such as 25 or 12.50.", Wrong: "amount"}
	}
	if err := text.Check(f.Reason, maxReason); err != nil {
		return r, site.Faulty{Error: "The reason " + err.Error() + ".", Wrong: "reason"}
	}
	r.Amount = amount
	return r, site.Faulty{}
}

func wholeCents(m ledger.Micros) bool {
	_, whole := m.WholeCents()
	return whole
}

// refundProblem says why a refund was refused; empty if it is no refusal.
func refundProblem(err error) site.Faulty {
	var draw *ledger.DrawError
	switch {
	case errors.Is(err, ledger.ErrAboveCharge):
		return site.Faulty{Error: "So much is not left of this payment. It may have been refunded since you opened this page.", Wrong: "amount"}
	case errors.As(err, &draw):
		return site.Faulty{Error: "This small payment is being charged with others as one sum. Refund it when that is done."}
	case errors.Is(err, ledger.ErrNotRefundable):
		return site.Faulty{Error: "This payment cannot be refunded any more."}
	case errors.Is(err, ledger.ErrTooManyRefunds):
		return site.Faulty{Error: "This payment has as many refunds as it can have."}
	case errors.Is(err, payment.ErrNoRefunds):
		return site.Faulty{Error: "The rail of this payment makes no refunds."}
	case errors.Is(err, ledger.ErrIdempotencyMismatch):
		return site.Faulty{Error: "This form was sent before with another amount. Load the page again."}
	case errors.Is(err, ledger.ErrIdempotencyInProgress):
		return site.Faulty{Error: "The refund is being made. Load the page again in a moment."}
	}
	return site.Faulty{}
}
