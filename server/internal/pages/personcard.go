package pages

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// cardForm is the page on which a person changes the card of a mandate.
type cardForm struct {
	Action, Payees, Now, Error string
	Methods                    methodChoices
	Card                       *cardPage // nil: no card is entered elsewhere
}

func cardPath(m ledger.Mandate) string { return "/me/mandates/" + m.ID + "/card" }

// ownMandate finds the mandate of a person's address, whose card can change. If there is none, it
// answers the request.
func (p *Pages) ownMandate(w http.ResponseWriter, r *http.Request, a signin.Account) (m ledger.Mandate, ok bool) {
	mandateID := r.PathValue("mandateId")
	owns, err := p.Owners.OwnsMandate(r.Context(), string(a.Kind), a.ID, mandateID)
	if err == nil && owns {
		m, err = p.Payments.Ledger.Mandate(r.Context(), mandateID)
	}
	switch {
	case err != nil:
		p.failed(w, r, err)
	case !owns:
		p.missing(w, r)
	case p.Payments.CardSession(m).Status != ledger.SessionPending:
		http.Redirect(w, r, "/me", http.StatusSeeOther)
	default:
		return m, true
	}
	return m, false
}

func (p *Pages) askForCard(w http.ResponseWriter, r *http.Request, a signin.Account) {
	if m, ok := p.ownMandate(w, r, a); ok {
		p.showCardForm(w, r, a, m, http.StatusOK, entered{}, "")
	}
}

func (p *Pages) showCardForm(w http.ResponseWriter, r *http.Request, a signin.Account, m ledger.Mandate, status int, in entered, problem string) {
	payees, err := p.payeeNames(r.Context(), m.Terms)
	var instruments []rail.Instrument
	if err == nil {
		instruments, err = p.Payments.Instruments(r.Context(), m.ID, m.Card)
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	f := cardForm{
		Action: cardPath(m), Payees: payees, Error: problem, Methods: choices(p.Methods(rail.Card), in.method), Card: p.cardPage(p.Payments.CardSession(m), in),
	}
	for _, i := range instruments {
		if i.Rail == rail.Card {
			f.Now = paidWith(i)
		}
	}
	p.Site.Render(w, r, site.Page{Template: p.card, Title: "Change the card", Status: status, Content: f, Menu: p.menu(a, "/me")})
}

// showCardReturned shows the form to a person who has entered a card on the processor's page.
func (p *Pages) showCardReturned(w http.ResponseWriter, r *http.Request, a signin.Account) {
	m, ok := p.ownMandate(w, r, a)
	if !ok {
		return
	}
	if method, proof, ok := p.arrived(w, r, p.Payments.CardSession(m)); ok {
		p.showCardForm(w, r, a, m, http.StatusOK, entered{method: method, connected: proof}, "")
	}
}

// changeCard takes the form.
func (p *Pages) changeCard(w http.ResponseWriter, r *http.Request, a signin.Account) {
	m, ok := p.ownMandate(w, r, a)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	if r.PostForm.Get("action") == "card" {
		p.leaveForCard(w, r, m)
		return
	}
	in := entered{method: r.PostForm.Get("method"), connected: r.PostForm.Get("connected")}
	wrong, err := p.changeTo(r.Context(), m, in)
	switch {
	case err != nil && !errors.Is(err, ledger.ErrSessionFinished):
		p.failed(w, r, err)
	case wrong != "":
		p.showCardForm(w, r, a, m, http.StatusUnprocessableEntity, in, wrong)
	default:
		http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
	}
}

// changeTo changes the card; the problem is what the person can put right.
func (p *Pages) changeTo(ctx context.Context, m ledger.Mandate, in entered) (wrong string, err error) {
	entered := p.Payments.IsSetupProof(p.Payments.CardSession(m), proofConnected, in.method, in.connected)
	if !entered && !slices.ContainsFunc(p.Methods(rail.Card), func(o rail.Method) bool { return o.Name == in.method }) {
		return chooseMethod, nil
	}
	var subject string
	_, err = p.Payments.ChangeCard(ctx, m, in.method, func(ctx context.Context, reference string) error {
		if subject = m.ID + " " + reference; p.Mails == nil {
			return nil
		}
		if entered {
			if err := p.Mails.Expect(ctx, CardConnected, m.ID); err != nil {
				return err
			}
		}
		return p.Mails.Expect(ctx, CardChanged, subject)
	})
	var refused *payment.MethodError
	switch {
	case errors.As(err, &refused):
		return "This card was refused (" + strings.ReplaceAll(string(refused.Reason), "_", " ") + "). Choose another one. Nothing was changed.", nil
	case errors.Is(err, payment.ErrTooManyCards):
		return "Too many cards were tried for this mandate. Try again tomorrow. Nothing was changed.", nil
	case errors.Is(err, rail.ErrUnknownMethod):
		return chooseMethod, nil
	case err != nil:
		return "", err
	}
	p.Audit.Did(ctx, audit.Person(m.ID), "mandate.change-card", m.ID)
	p.Audit.Record(ctx, audit.CardChanged, slog.String("mandateId", m.ID))
	if p.Mails != nil {
		p.Mails.Hasten(ctx, CardChanged, subject)
		p.Mails.Hasten(ctx, CardConnected, m.ID)
	}
	return "", nil
}

// leaveForCard sends the person to the processor's page.
func (p *Pages) leaveForCard(w http.ResponseWriter, r *http.Request, m ledger.Mandate) {
	notice, err := p.notice(r.Context(), m.Terms)
	if err == nil {
		err = p.depart(w, r, p.Payments.CardSession(m), departure{
			page: p.BaseURL + cardPath(m), back: url.Values{}, notice: notice,
			text: "You come back here afterwards, and confirm the change. Nothing is charged.",
		})
	}
	switch {
	case errors.Is(err, ledger.ErrSessionFinished), errors.Is(err, rail.ErrUnknownMethod):
		http.Redirect(w, r, "/me", http.StatusSeeOther)
	case err != nil:
		p.failed(w, r, err)
	}
}

// CardChanged writes to the person that the card of a mandate has changed. The subject is the
// mandate and the new card. The letter has no recipient if the mandate has not that card.
func (p *Pages) CardChanged(ctx context.Context, subject string) (letter.Letter, error) {
	mandateID, reference, _ := strings.Cut(subject, " ")
	l, err := p.Confirmation(ctx, mandateID)
	if err != nil {
		return letter.Letter{}, err
	}
	m, err := p.Payments.Ledger.Mandate(ctx, mandateID)
	if err != nil || m.Card != reference {
		return letter.Letter{}, err
	}
	l.Subject, l.Intro = "The card of your spending mandate was changed", "Another card pays for your mandate from now on, within these limits:"
	l.Notes[len(l.Notes)-1] = "If you did not change it, open the link and stop the payments."
	return l, nil
}
