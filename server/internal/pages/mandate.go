package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// mandatePage is the private page of a mandate: what the person confirmed, what was
// paid, and the way to stop it.
type mandatePage struct {
	Tone, Badge, Headline, Worst, Note, Link string
	Stop, Lower, Pause, Notices              string // paths; empty once it has ended
	Paused                                   bool

	Month                string // of Spent: "November 2026"
	Spent, Limit, Total  string
	SpentCents, MaxCents int64
	Uses                 []use // of the optional limits
	Facts                []fact
	Payments             []paymentRow
	Latest               int // at most so many payments are listed
	Revoke               *revokeView
}

func (m mandatePage) scripts(p *Pages) []*site.Asset { return p.askingWallet(m.Revoke != nil) }

// paymentRow is one payment in the list of a private page.
type paymentRow struct {
	When, Payee, Description, Amount, Status, Tone, Receipt string

	at    time.Time
	Draws []paymentRow // of a tab
	More  int64        // draws that are not listed
}

// privateMandate finds the mandate of a private page's address, or answers that
// there is none.
func (p *Pages) privateMandate(w http.ResponseWriter, r *http.Request) (ledger.Mandate, bool) {
	m, err := p.Payments.MandateAt(r.Context(), r.PathValue("mandateId"), r.PathValue("proof"))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		p.missing(w, r)
	case err != nil:
		p.failed(w, r, err)
	}
	return m, err == nil
}

func (p *Pages) showMandate(w http.ResponseWriter, r *http.Request) {
	m, ok := p.privateMandate(w, r)
	if !ok {
		return
	}
	s, err := p.Payments.StatementOf(r.Context(), m)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	page, err := p.mandatePage(r.Context(), s)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.render(w, r, http.StatusOK, p.mandate, page.Headline, page)
}

func (p *Pages) mandatePage(ctx context.Context, s payment.Statement) (mandatePage, error) {
	m, now := s.Mandate, p.Clock()
	payees, err := p.payeeNames(ctx, m.Terms)
	if err != nil {
		return mandatePage{}, err
	}
	instruments, err := p.Payments.Instruments(ctx, m.ID, m.Card)
	if err != nil {
		return mandatePage{}, err
	}
	spent := m.SpentInMonth(now)
	page := mandatePage{
		Tone: "good", Badge: "Active", Headline: "An agent may pay " + payees + " for you",
		Worst: worst(m.Terms, m.CreatedAt, payees), Link: p.Payments.MandateURL(m.ID),
		Month: now.UTC().Format("January 2006"), Spent: dollars(spent), Limit: dollars(m.Terms.MaxMonthly), Total: dollars(s.Total),
		SpentCents: int64(spent.CentsUp()), MaxCents: int64(m.Terms.MaxMonthly.CentsDown()), Latest: len(s.Charges) + len(s.Tabs), Uses: uses(m, now),
		Facts: append(p.allowed(m, instruments, payees), fact{"Confirmed", moment(m.CreatedAt)}, fact{"Mandate", m.ID}),
	}
	switch {
	case m.Status == ledger.MandateRevoked:
		page.Tone, page.Badge, page.Headline = "bad", "Stopped", "No agent can pay "+payees+" for you any more"
		page.Note = stoppedBy(m) + " " + whatFollows(s.Held)
	case !now.Before(m.Terms.ExpiresAt):
		page.Tone, page.Badge, page.Headline = "wait", "Expired", "The time for paying "+payees+" is over"
		page.Note = "This mandate ended on " + moment(m.Terms.ExpiresAt) + ". Nothing more can be paid with it."
	default:
		page.Worst = worst(m.Terms, now, payees) // the limits may have been higher before
		page.Stop, page.Lower, page.Revoke = p.pathOf(m, "stop"), p.pathOf(m, "limits"), p.revocation(m, instruments)
		if p.Mails != nil && m.Email != "" {
			page.Notices = p.pathOf(m, "notices")
		}
		if page.Pause, page.Paused = p.pathOf(m, "pause"), !m.PausedAt.IsZero(); page.Paused {
			page.Tone, page.Badge, page.Headline = "wait", "Paused", "No agent can pay "+payees+" for you until you resume"
			page.Note = "You paused it on " + moment(m.PausedAt) + ". What your card already held for payments can still be charged."
		}
	}
	page.Payments, err = p.payments(ctx, s)
	return page, err
}

// pathOf returns the path of a page below a mandate's private page.
func (p *Pages) pathOf(m ledger.Mandate, page string) string {
	return "/m/" + m.ID + "/" + p.Payments.MandateProof(m.ID) + "/" + page
}

func stoppedBy(m ledger.Mandate) string {
	who := map[ledger.Revoker]string{
		ledger.RevokedByUser: "You stopped it", ledger.RevokedByMerchant: "The merchant stopped it",
		ledger.RevokedByContract: "Your wallet stopped it on the chain",
	}[m.RevokedBy]
	return who + " on " + moment(m.RevokedAt) + "."
}

// whatFollows returns the sentence about payments after a mandate was stopped.
func whatFollows(held ledger.Micros) string {
	if held == 0 {
		return "Nothing more can be paid with this mandate."
	}
	return "Up to " + dollars(held) + " that your card already held for payments can still be charged. Nothing else can be paid with this mandate."
}

// allowed are the facts that a person confirmed.
func (p *Pages) allowed(m ledger.Mandate, instruments []rail.Instrument, payees string) []fact {
	t := m.Terms
	facts := []fact{
		{"Who can be paid", capital(payees)},
		{"One payment", "up to " + dollars(t.MaxPerTx)},
		{"A month", "up to " + dollars(t.MaxMonthly)},
	}
	facts = append(append(facts, limitFacts(t)...), fact{"Until", moment(t.ExpiresAt)})
	for _, i := range instruments {
		facts = append(facts, fact{"Paid with", paidWith(i)})
	}
	return facts
}

// payments returns the lines of payments and of tabs, newest first.
func (p *Pages) payments(ctx context.Context, s payment.Statement) ([]paymentRow, error) {
	rows, err := p.paymentRows(ctx, s.Charges)
	for _, t := range s.Tabs {
		if err != nil {
			return nil, err
		}
		var line paymentRow
		line, err = p.tabRow(ctx, t)
		rows = append(rows, line)
	}
	slices.SortStableFunc(rows, func(a, b paymentRow) int { return b.at.Compare(a.at) })
	return rows, err
}

// tabRow returns the one line of a tab, with its draws.
func (p *Pages) tabRow(ctx context.Context, t payment.TabStatement) (paymentRow, error) {
	draws, err := p.paymentRows(ctx, t.First)
	if err != nil {
		return paymentRow{}, err
	}
	line := paymentRow{
		at: t.CreatedAt, When: moment(t.CreatedAt), Payee: draws[0].Payee, Description: fmt.Sprintf("%d small payments", t.Draws),
		Amount: dollars(t.Drawn), Draws: draws, More: t.Draws,
	}
	if t.Draws == 1 {
		line.Description = "1 small payment"
	}
	for i, c := range t.First { // the line has the state of all
		draws[i].Amount, draws[i].Status = dollars(c.Amount), ""
		back := c.Refunded
		if c.Status == ledger.ChargeVoided { // it is none of t.Draws any more
			back = c.Amount
		} else {
			line.More--
		}
		if back > 0 {
			draws[i].Status, draws[i].Tone = dollars(back)+" refunded", "wait"
		}
	}
	switch t.Outcome {
	case ledger.TabCaptured:
		line.Amount = dollars(t.Capture)
		switch {
		case t.Capture > t.Owed+t.Drawn:
			line.Description, line.Status, line.Tone = line.Description+" of "+dollars(t.Drawn), "A remainder, charged as "+dollars(t.Capture), "wait"
		case t.Owed > 0:
			line.Status, line.Tone = "With "+dollars(t.Owed)+" of earlier ones", "wait"
		}
	case ledger.TabVoided:
		line.Description, line.Amount = line.Description+" of "+dollars(t.Drawn), dollars(0)
		line.Status, line.Tone = "Charged with the next small payments", "wait"
	case ledger.TabRefused:
		line.Status, line.Tone = "Not paid", "bad"
	default:
		line.Status, line.Tone = "To be charged as one sum by "+moment(t.ClosesAt), "wait"
	}
	return line, nil
}

func (p *Pages) paymentRows(ctx context.Context, charges []ledger.Charge) ([]paymentRow, error) {
	names := map[string]string{}
	rows := make([]paymentRow, len(charges))
	for i, c := range charges {
		name, ok := names[c.MerchantID]
		if !ok {
			if name = "Wallet " + c.PayTo; !ledger.IsWallet(c.MerchantID) {
				m, err := p.Merchants.Merchant(ctx, c.MerchantID)
				if err != nil {
					return nil, fmt.Errorf("read merchant %s: %w", c.MerchantID, err)
				}
				name = m.Name
			}
			names[c.MerchantID] = name
		}
		rows[i] = paymentRow{
			When: moment(c.CreatedAt), Payee: name, Description: c.Description, Amount: dollars(c.Amount),
			Receipt: p.Payments.ReceiptURL(c.ID), at: c.CreatedAt,
		}
		switch c.Status {
		case ledger.ChargePending:
			rows[i].Status, rows[i].Tone = "Pending", "wait"
		case ledger.ChargeAuthorized:
			rows[i].Status, rows[i].Tone, rows[i].Amount = "Authorized", "wait", "up to "+dollars(c.Amount)
		case ledger.ChargeVoided:
			rows[i].Status, rows[i].Tone, rows[i].Amount = "Voided", "wait", dollars(0)
		case ledger.ChargeFailed:
			rows[i].Status, rows[i].Tone = "Not paid", "bad"
		case ledger.ChargeWrittenOff: // in the line of its tab
		case ledger.ChargeSucceeded:
			if c.Refunded > 0 {
				rows[i].Status, rows[i].Tone = dollars(c.Refunded)+" refunded", "wait"
			}
		}
	}
	return rows, nil
}

// stopForm is the page that asks whether to stop.
type stopForm struct{ Action, Back, Payees string }

func (p *Pages) askToStop(w http.ResponseWriter, r *http.Request) {
	m, ok := p.privateMandate(w, r)
	if !ok {
		return
	}
	if m.Status == ledger.MandateRevoked {
		http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
		return
	}
	payees, err := p.payeeNames(r.Context(), m.Terms)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.render(w, r, http.StatusOK, p.stop, "Stop all payments?", stopForm{Action: p.pathOf(m, "stop"), Back: p.Payments.MandateURL(m.ID), Payees: payees})
}

// stopMandate revokes. A second click leads to the same page.
func (p *Pages) stopMandate(w http.ResponseWriter, r *http.Request) {
	m, err := p.Payments.StopMandate(r.Context(), r.PathValue("mandateId"), r.PathValue("proof"))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		p.missing(w, r)
	case err != nil:
		p.failed(w, r, err)
	default:
		p.Audit.Did(r.Context(), audit.Person(m.ID), "mandate.revoke", m.ID)
		p.Audit.Record(r.Context(), audit.MandateRevoked, slog.String("mandateId", m.ID))
		http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
	}
}
