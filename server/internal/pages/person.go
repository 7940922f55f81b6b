package pages

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// mandatesOnPage is the number of mandates on one page of the dashboard.
const mandatesOnPage = 20

// People are the sessions of people on their dashboard.
type People interface {
	// Challenge returns the challenge of a code that is valid in this browser alone.
	Challenge(r *http.Request, p signin.Purpose, email string) signin.Challenge
	Handler(next http.Handler) http.Handler
	Account(ctx context.Context) (signin.Account, bool)
	Begin(ctx context.Context, a signin.Account) error
	Fresh(ctx context.Context, within time.Duration) bool
	End(ctx context.Context) error
	EndAll(ctx context.Context) error
}

// dashboard is the list of a person's mandates.
type dashboard struct {
	Mandates []mandateLine
	Pager    site.Pager
}

// mandateLine is one mandate in the list.
type mandateLine struct {
	ID, Link, Payees, Until, Month, Spent, Limit string
	Card                                         string // the path of its change; empty if there is none to change

	Badge                site.Badge
	SpentCents, MaxCents int64
}

// registerPerson adds the pages of the dashboard.
func (p *Pages) registerPerson(mux *http.ServeMux) {
	with := func(h http.HandlerFunc) http.HandlerFunc { return p.People.Handler(h).ServeHTTP }
	p.Site.View(mux, "/me", with(p.showDashboard))
	p.Site.Form(mux, "/me/code", with(p.mailSignInCode))
	p.Site.Form(mux, "/me/sign-in", with(p.signIn))
	p.Site.Form(mux, "/me/wallet", with(p.signInByWallet))
	p.Site.Form(mux, "/me/wallet/text", p.askWallet)
	p.Site.Form(mux, "/me/sign-out", with(p.signOut))
	p.Site.View(mux, "/me/mandates/{mandateId}/card", with(p.signedIn(p.askForCard)))
	p.Site.Form(mux, "/me/mandates/{mandateId}/card", with(p.signedIn(p.changeCard)))
	p.Site.View(mux, "/me/mandates/{mandateId}/card/card", with(p.signedIn(p.showCardReturned)))
	p.Site.View(mux, "/me/data", with(p.signedIn(p.showData)))
	p.Site.View(mux, "/me/payments.json", with(p.signedIn(p.exportJSON)))
	p.Site.View(mux, "/me/payments.csv", with(p.signedIn(p.exportCSV)))
	p.Site.Form(mux, "/me/erase", with(p.signedIn(p.erase)))
}

// personHandler answers a request of a person who is signed in.
type personHandler func(w http.ResponseWriter, r *http.Request, a signin.Account)

// signedIn leads those who are not signed in to the sign-in page.
func (p *Pages) signedIn(next personHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, ok := p.People.Account(r.Context())
		if !ok {
			http.Redirect(w, r, "/me", http.StatusSeeOther)
			return
		}
		next(w, r, a)
	}
}

// menu is the navigation of the dashboard.
func (p *Pages) menu(a signin.Account, current string) *site.Menu {
	m := &site.Menu{Label: "Dashboard", Account: a.ID, SignOut: "/me/sign-out", Items: []site.MenuItem{
		{Name: "Mandates", URL: "/me", Icon: "mandates"}, {Name: "Your data", URL: "/me/data", Icon: "person"},
	}}
	for i := range m.Items {
		m.Items[i].Current = m.Items[i].URL == current
	}
	return m
}

func (p *Pages) showDashboard(w http.ResponseWriter, r *http.Request) {
	a, ok := p.People.Account(r.Context())
	if !ok {
		p.showSignIn(w, r, http.StatusOK, signInForm{})
		return
	}
	before := r.URL.Query().Get("before")
	if before != "" && !id.Valid(id.Mandate, before) {
		p.missing(w, r)
		return
	}
	mandates, next, err := p.mandatesOf(r.Context(), a, before)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	var d dashboard
	for _, m := range mandates {
		line, err := p.mandateLine(r.Context(), m)
		if err != nil {
			p.failed(w, r, err)
			return
		}
		d.Mandates = append(d.Mandates, line)
	}
	if before != "" {
		d.Pager.First = "/me"
	}
	if next != "" {
		d.Pager.Next = "/me?before=" + next
	}
	p.Site.Render(w, r, site.Page{Template: p.person, Title: "Your mandates", Content: d, Menu: p.menu(a, "/me")})
}

// mandatesOf returns a page of an account's mandates, and where the next page begins: empty
// if there is none.
func (p *Pages) mandatesOf(ctx context.Context, a signin.Account, before string) (mandates []ledger.Mandate, next string, err error) {
	ids, err := p.Owners.MandatesOfOwner(ctx, string(a.Kind), a.ID, before, mandatesOnPage+1)
	if err != nil {
		return nil, "", err
	}
	if len(ids) > mandatesOnPage {
		ids = ids[:mandatesOnPage]
		next = ids[mandatesOnPage-1]
	}
	for _, mandateID := range ids {
		m, err := p.Payments.Ledger.Mandate(ctx, mandateID)
		if err != nil {
			return nil, "", fmt.Errorf("read mandate %s: %w", mandateID, err)
		}
		mandates = append(mandates, m)
	}
	return mandates, next, nil
}

func (p *Pages) mandateLine(ctx context.Context, m ledger.Mandate) (mandateLine, error) {
	payees, err := p.payeeNames(ctx, m.Terms)
	if err != nil {
		return mandateLine{}, err
	}
	now := p.Clock()
	spent := m.SpentInMonth(now)
	line := mandateLine{
		ID: m.ID, Link: p.Payments.MandateURL(m.ID), Payees: capital(payees), Until: moment(m.Terms.ExpiresAt), Month: now.UTC().Format("January 2006"),
		Spent: dollars(spent), Limit: dollars(m.Terms.MaxMonthly), SpentCents: int64(spent.CentsUp()), MaxCents: int64(m.Terms.MaxMonthly.CentsDown()),
	}
	if p.Payments.CardSession(m).Status == ledger.SessionPending {
		line.Card = cardPath(m)
	}
	switch {
	case m.Status == ledger.MandateRevoked:
		line.Badge = site.Badge{Tone: site.Bad, Text: "Stopped"}
	case !now.Before(m.Terms.ExpiresAt):
		line.Badge = site.Badge{Tone: site.Neutral, Text: "Expired"}
	case !m.PausedAt.IsZero():
		line.Badge = site.Badge{Tone: site.Wait, Text: "Paused"}
	default:
		line.Badge = site.Badge{Tone: site.Good, Text: "Active"}
	}
	return line, nil
}
