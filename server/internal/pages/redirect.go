package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// A card that is entered on a page of the processor is bound to its session by three proofs.
// They keep an attacker from completing another person's session, and from having another
// person enter a card for the attacker's session:
//
//   - The cookie: the browser that left is the browser that returns. An attacker who sends
//     the processor's page to another person cannot have that person's browser return.
//   - The state in the return address: only the browser that finishes the processor's page
//     receives it. The attacker who began the setup cannot compute it, and it fits one cookie.
//   - The proof in the form: the method returned with both in this session. The rail
//     refuses the method in any other session.
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
	browser := id.NewCapability("")
	back := url.Values{}
	for name, values := range r.PostForm {
		switch name {
		case "email", "method", "connected", "proposal", "signature", "action", returnState: // rail.ReturnedMethod is "method"
		default:
			back[name] = values
		}
	}
	page := p.BaseURL + "/setup/" + s.Token
	back.Set(returnState, p.Payments.SetupProof(s, proofReturn, browser))
	address, err := p.Payments.BeginSetup(r.Context(), s, browser, page+"/card?"+back.Encode(), page)
	switch {
	case errors.Is(err, ledger.ErrSessionFinished):
		p.decided(w, r, s, ledger.Mandate{})
		return
	case err != nil:
		p.failed(w, r, err)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever base_url is https
		Name: p.browserCookie(), Value: browser, Path: "/", MaxAge: browserLifetime, HttpOnly: true,
		Secure: strings.HasPrefix(p.BaseURL, "https:"), SameSite: http.SameSiteLaxMode,
	})
	// A redirect of the form would need the processor's address in the content policy.
	w.Header().Set("Refresh", "0; url="+address)
	p.message(w, r, http.StatusOK, result{
		Tone: "wait", Badge: "Next", Headline: "Enter your card on the card processor's page",
		Text: "You come back here afterwards, and confirm your limits. Nothing is charged.", Next: address,
	})
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
	query := r.URL.Query()
	cookie, err := r.Cookie(p.browserCookie())
	if err != nil || !p.Payments.IsSetupProof(s, proofReturn, cookie.Value, query.Get(returnState)) || !site.Clean(query) {
		p.message(w, r, http.StatusForbidden, result{
			Tone: "bad", Badge: "Refused", Headline: "This card was not entered from this browser",
			Text: "Nothing was confirmed. Open the link that you were given once more, and enter the card there.",
		})
		return
	}
	in := enteredIn(query)
	in.method = query.Get(rail.ReturnedMethod)
	in.connected = p.Payments.SetupProof(s, proofConnected, in.method)
	p.showForm(w, r, s, http.StatusOK, in, problem{})
}
