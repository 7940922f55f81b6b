package pages

import (
	"context"
	"fmt"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// showDecided shows the page of a decided session to the one who confirmed it.
func (p *Pages) showDecided(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	if s.MandateID == "" || !p.Payments.IsMandateProof(s.MandateID, r.PathValue("proof")) {
		p.missing(w, r)
		return
	}
	p.showConfirmed(w, r, s, p.Payments.MandateURL(s.MandateID))
}

// showOutcome shows how a finished session ended to anyone who has its link. The
// merchant has it too, so it names no private page.
func (p *Pages) showOutcome(w http.ResponseWriter, r *http.Request, s payment.Session) {
	if s.Status == ledger.SessionCompleted {
		p.showConfirmed(w, r, s, "")
		return
	}
	m, err := p.Merchants.Merchant(r.Context(), s.MerchantID)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	v := result{Merchant: m.Name, Return: s.ReturnURL, Tone: "bad", Badge: "Not confirmed", Headline: "Nothing was allowed"}
	switch s.FailureReason {
	case ledger.SessionDeclined:
		v.Tone, v.Badge, v.Text = "wait", "Declined", "You declined. "+m.Name+" cannot charge you."
	case ledger.SessionExpired:
		v.Text = "This link is older than a day. Ask " + m.Name + " for a new one."
	case ledger.SessionTooManyAttempts:
		v.Text = "Too many payment methods were refused. Ask " + m.Name + " for a new link."
	}
	p.message(w, r, http.StatusOK, v)
}

// showConfirmed shows what was confirmed; private is the address of the mandate's
// private page, empty for those who must not have it.
func (p *Pages) showConfirmed(w http.ResponseWriter, r *http.Request, s payment.Session, private string) {
	m, err := p.Merchants.Merchant(r.Context(), s.MerchantID)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	confirmed, err := p.Payments.Confirmed(r.Context(), s)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	payees, err := p.payeeNames(r.Context(), confirmed.Terms)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	v := result{Merchant: m.Name, Return: s.ReturnURL, Private: private}
	if confirmed.Status == ledger.MandateRevoked {
		held, err := p.Payments.HeldByCard(r.Context(), confirmed)
		if err != nil {
			p.failed(w, r, err)
			return
		}
		v.Tone, v.Badge, v.Headline = "bad", "Stopped", "No agent can pay "+payees+" for you any more"
		v.Text, v.Return = stoppedBy(confirmed)+" "+whatFollows(held), ""
		v.Facts = []fact{{"Mandate", confirmed.ID}}
		p.message(w, r, http.StatusOK, v)
		return
	}
	v.Tone, v.Badge, v.Headline = "good", "Confirmed", capital(payees)+" can be paid within your limits"
	v.Worst, v.Warn = worst(confirmed.Terms, confirmed.CreatedAt, payees), payees == anyone
	instruments, err := p.Payments.Instruments(r.Context(), confirmed.ID, confirmed.Card)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	v.Facts = append(p.allowed(confirmed, instruments, payees), fact{"Mandate", confirmed.ID})
	v.Revoke = p.revocation(confirmed, instruments)
	v.Points = []string{
		"Neither the agent nor " + m.Name + " can raise these limits.", "A charge beyond them is refused before any money moves.",
	}
	if private == "" {
		v.Points = append(v.Points, "The person who confirmed this got a private link with the payments and a button that stops them.")
	}
	p.message(w, r, http.StatusOK, v)
}

// Confirmation writes to the person what they confirmed, with the private link.
func (p *Pages) Confirmation(ctx context.Context, mandateID string) (letter.Letter, error) {
	m, err := p.Payments.Ledger.Mandate(ctx, mandateID)
	if err != nil {
		return letter.Letter{}, err
	}
	payees, err := p.payeeNames(ctx, m.Terms)
	if err != nil {
		return letter.Letter{}, err
	}
	l := letter.Letter{
		To: m.Email, Subject: "Your spending mandate",
		Intro:  fmt.Sprintf("You allowed an agent to pay %s for you.", payees),
		Lines:  []string{worst(m.Terms, m.CreatedAt, payees), fmt.Sprintf("At most %s for one payment.", dollars(m.Terms.MaxPerTx))},
		Action: "See every payment, and stop them at any time", Link: p.Payments.MandateURL(m.ID),
		Notes: []string{
			"Keep this link to yourself: anyone who has it can see your payments and stop them.",
			"If you did not allow this, open the link and stop it.",
		},
		Footer: "Mandate " + m.ID,
	}
	for _, f := range limitFacts(m.Terms) {
		l.Lines = append(l.Lines, f.Name+": "+f.Value+".")
	}
	return l, nil
}
