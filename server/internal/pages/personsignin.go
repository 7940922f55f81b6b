package pages

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
)

// signInForm asks for an address or, once a code was mailed, for the code.
type signInForm struct {
	site.Faulty

	Email, Notice string
	Mailed        bool
	NoMail        bool // no code can be mailed
	Wallets       bool // a wallet can sign in
	WalletProblem string
}

func (p *Pages) showSignIn(w http.ResponseWriter, r *http.Request, status int, f signInForm) {
	f.NoMail, f.Wallets = p.Mails == nil, p.Wallets != nil
	p.Site.Render(w, r, site.Page{Template: p.enter, Title: "Sign in", Status: status, Content: f, Scripts: p.signing()})
}

func (p *Pages) personChallenge(r *http.Request, email string) signin.Challenge {
	return p.People.Challenge(r, signin.PersonSignIn, email)
}

// mailSignInCode mails a code to an address that has mandates, and answers the same for any
// other.
func (p *Pages) mailSignInCode(w http.ResponseWriter, r *http.Request) {
	if !p.Site.ParseForm(w, r) {
		return
	}
	f := signInForm{Email: strings.TrimSpace(r.PostForm.Get("email"))}
	err := p.Codes.SendCode(r.Context(), p.personChallenge(r, f.Email), httplog.ClientNetwork(r.Context()))
	switch {
	case err == nil:
		f.Mailed, f.Notice = true, "If "+f.Email+" was proven for a mandate, a code was mailed to it."
		p.showSignIn(w, r, http.StatusOK, f)
	case errors.Is(err, signin.ErrEmail):
		f.Faulty = site.Faulty{Error: "The email address is not complete.", Wrong: "email"}
		p.showSignIn(w, r, http.StatusUnprocessableEntity, f)
	case errors.Is(err, signin.ErrTooMany):
		f.Faulty = site.Faulty{Error: "Too many codes were asked for. Try again tomorrow, or open the private link of a mandate.", Wrong: "email"}
		p.showSignIn(w, r, http.StatusTooManyRequests, f)
	case errors.Is(err, signin.ErrNoMail):
		p.showSignIn(w, r, http.StatusUnprocessableEntity, f)
	default:
		p.failed(w, r, err)
	}
}

// signIn checks the code.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request) {
	if !p.Site.ParseForm(w, r) {
		return
	}
	f := signInForm{Email: strings.TrimSpace(r.PostForm.Get("email")), Mailed: true}
	email, err := p.Codes.Check(r.Context(), p.personChallenge(r, f.Email), r.PostForm.Get("code"))
	var wrong *signin.WrongCodeError
	switch {
	case err == nil:
		if err := p.People.Begin(r.Context(), signin.Account{Kind: signin.Email, ID: email}); err != nil {
			p.failed(w, r, err)
			return
		}
		p.Codes.Remember(w, email)
		p.Audit.Record(r.Context(), audit.PersonSignedIn)
		http.Redirect(w, r, "/me", http.StatusSeeOther)
		return
	case errors.Is(err, signin.ErrEmail):
		f.Mailed, f.Faulty = false, site.Faulty{Error: "The email address is not complete.", Wrong: "email"}
	case errors.Is(err, signin.ErrMalformed):
		f.Faulty = site.Faulty{Error: "A code has six digits, such as 123 456.", Wrong: fieldCode}
	case errors.As(err, &wrong) && wrong.AttemptsLeft > 0:
		f.Faulty = site.Faulty{Error: fmt.Sprintf("This is not the code. Attempts left: %d.", wrong.AttemptsLeft), Wrong: fieldCode}
	case errors.As(err, &wrong), errors.Is(err, signin.ErrNoCode):
		f.Mailed, f.Faulty = false, site.Faulty{Error: "This code is not valid any more. Ask for another one.", Wrong: "email"}
	default:
		p.failed(w, r, err)
		return
	}
	p.Audit.Record(r.Context(), audit.SignInRefused, slog.String("kind", string(signin.Email)))
	p.showSignIn(w, r, http.StatusUnprocessableEntity, f)
}

// signOut ends this session, or with "everywhere" all sessions of the account.
func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	if !p.Site.ParseForm(w, r) {
		return
	}
	end := p.People.End
	if r.PostForm.Get("everywhere") == "yes" {
		end = p.People.EndAll
	}
	if err := end(r.Context()); err != nil {
		p.failed(w, r, err)
		return
	}
	http.Redirect(w, r, "/me", http.StatusSeeOther)
}
