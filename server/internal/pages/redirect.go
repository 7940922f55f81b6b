package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// A card that is entered on a page of the processor is bound to its session by three proofs:
//
//   - The cookie: the browser that left is the browser that returns.
//   - The state in the return address, which fits one cookie.
//   - The proof in the form: the method returned with both in this session. The rail
//     refuses the method in any other session.
//
// They keep an attacker from completing another person's session. They do not keep an
// attacker from sending the processor's page to another person, who then enters a card: the
// return address is readable by everyone who opens that page, and the attacker has the
// cookie. Three things work against that:
//
//   - The processor's page shows who may charge the card, at most how much, and that it is
//     meant for the person who came from here.
//   - The other person's browser returns without the cookie. That ends the setup, and the
//     rail refuses the card from then on.
//   - The confirmation is also mailed to the address that the processor has of the payer.
//
// An attacker who confirms before the other person's browser returns is not stopped:
// SECURITY.md says so.
const (
	proofReturn    = "return"
	proofConnected = "connected"
	returnState    = "state"
	// browserLifetime is the lifetime of the cookie in seconds.
	browserLifetime = 3600
)

// cardPage is the choice on the setup page of a card that is entered elsewhere.
type cardPage struct {
	Method, Proof string // of the card that was entered; empty: none yet
}

// cardPage returns the choice for a session, or nil.
func (p *Pages) cardPage(s payment.Session, in entered) *cardPage {
	if _, ok := p.Payments.Redirector(s.Terms.Rails); !ok {
		return nil
	}
	if p.Payments.IsSetupProof(s, proofConnected, in.method, in.connected) {
		return &cardPage{Method: in.method, Proof: in.connected}
	}
	return &cardPage{}
}

// browserCookie is the name of the cookie; only https allows the prefix.
func (p *Pages) browserCookie() string {
	if strings.HasPrefix(p.BaseURL, "https:") {
		return "__Host-setup"
	}
	return "setup"
}

// leave sends the person to the processor's page. What was entered comes back with them,
// except the email address.
func (p *Pages) leave(w http.ResponseWriter, r *http.Request, s payment.Session) {
	back := url.Values{}
	for name, values := range r.PostForm {
		switch name {
		case "email", "mailed", "code", "proven", "method", "connected", "proposal", "signature", "action", returnState: // rail.ReturnedMethod is "method"
		default:
			back[name] = values
		}
	}
	notice, err := p.notice(r.Context(), s.Terms)
	if err == nil {
		err = p.depart(w, r, s, departure{
			page: p.BaseURL + "/setup/" + s.Token, back: back, notice: notice,
			text: "You come back here afterwards, and confirm your limits. Nothing is charged.",
		})
	}
	switch {
	case errors.Is(err, ledger.ErrSessionFinished):
		p.decided(w, r, s, ledger.Mandate{})
	case err != nil:
		p.failed(w, r, err)
	}
}

// departure is how a person leaves a page for the processor's.
type departure struct {
	page   string     // the address of the page
	back   url.Values // what comes back with the person
	notice string     // is shown on the processor's page
	text   string     // is shown before
}

// depart sends the person to the processor's page. After an error nothing is written.
func (p *Pages) depart(w http.ResponseWriter, r *http.Request, s payment.Session, d departure) error {
	browser := id.NewCapability("")
	d.back.Set(returnState, p.Payments.SetupProof(s, proofReturn, browser))
	address, err := p.Payments.BeginSetup(r.Context(), s, browser, rail.Setup{ReturnURL: d.page + "/card?" + d.back.Encode(), CancelURL: d.page, Notice: d.notice})
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever base_url is https
		Name: p.browserCookie(), Value: browser, Path: "/", MaxAge: browserLifetime, HttpOnly: true,
		Secure: strings.HasPrefix(p.BaseURL, "https:"), SameSite: http.SameSiteLaxMode,
	})
	// A redirect of the form would need the processor's address in the content policy.
	w.Header().Set("Refresh", "0; url="+address)
	p.message(w, r, http.StatusOK, result{
		Tone: "wait", Badge: "Next", Headline: "Enter your card on the card processor's page",
		Text: d.text, Next: address,
	})
	return nil
}

// arrived returns the method with which a person came back, and its proof for the form. It
// reports false after it has refused the return.
func (p *Pages) arrived(w http.ResponseWriter, r *http.Request, s payment.Session) (method, proof string, ok bool) {
	query := r.URL.Query()
	method = query.Get(rail.ReturnedMethod)
	cookie, err := r.Cookie(p.browserCookie())
	if err != nil || !p.Payments.IsSetupProof(s, proofReturn, cookie.Value, query.Get(returnState)) || !site.Clean(query) {
		p.refuseReturn(w, r, s, method)
		return "", "", false
	}
	return method, p.Payments.SetupProof(s, proofConnected, method), true
}

// showReturned shows the setup page to a person who has entered a card.
func (p *Pages) showReturned(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	if s.Status != ledger.SessionPending {
		p.showOutcome(w, r, s)
		return
	}
	method, proof, ok := p.arrived(w, r, s)
	if !ok {
		return
	}
	in := enteredIn(r.URL.Query())
	in.method, in.connected = method, proof
	p.showForm(w, r, s, http.StatusOK, in, problem{})
}

// refuseReturn ends a setup that returned to another browser than the one that left.
func (p *Pages) refuseReturn(w http.ResponseWriter, r *http.Request, s payment.Session, method string) {
	// The setup ends even if the person closes the page.
	if err := p.Payments.EndSetup(context.WithoutCancel(r.Context()), s, method); err != nil {
		p.failed(w, r, err)
		return
	}
	p.Audit.Record(r.Context(), audit.SetupRefused, slog.String("merchantId", s.MerchantID))
	p.message(w, r, http.StatusForbidden, result{
		Tone: "bad", Badge: "Refused", Headline: "This card was not entered from this browser",
		Text: "The card is not connected and will not be charged. To use it, open the link that you were given, and enter the card in the same browser.",
		Note: "If somebody sent you the card processor's page, you were about to pay for them. Do not open it again.",
	})
}

// notice is what the processor's page shows beside its button.
func (p *Pages) notice(ctx context.Context, t ledger.Terms) (string, error) {
	payees, err := p.payeeNames(ctx, t)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Continue only if you came here from %s yourself. If somebody sent you this page, close it. AI agents will pay %s with this card "+
		"without asking you again: at most %s for one payment and %s a month, until %s.",
		host(p.BaseURL), payees, dollars(t.MaxPerTx), dollars(t.MaxMonthly), day(t.ExpiresAt)), nil
}

// CardConnected writes to the owner of a card, at the address that the card processor has,
// that the card pays for a mandate. The letter has no recipient if there is no such address,
// or if it is the one to which the confirmation goes.
func (p *Pages) CardConnected(ctx context.Context, mandateID string) (letter.Letter, error) {
	confirmation, err := p.Confirmation(ctx, mandateID)
	if err != nil {
		return letter.Letter{}, err
	}
	address, err := p.Payments.PayerEmail(ctx, mandateID)
	if err != nil || strings.EqualFold(address, confirmation.To) {
		return letter.Letter{}, err
	}
	confirmation.To, confirmation.Subject = address, "Your card was connected to a spending mandate"
	return confirmation, nil
}
