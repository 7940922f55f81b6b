package dashboard

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// The paths of signing in and out.
const (
	SignInPath  = Root + "/sign-in"
	SignOutPath = Root + "/sign-out"
	codePath    = SignInPath + "/code"
	passkeyPath = SignInPath + "/passkey"
	accountPath = Root + "/account"
)

// maxAccounts limits the accounts of one address that are offered.
const maxAccounts = 20

// signInPage asks for an address or, once there is one, for the code that was mailed to it.
type signInPage struct {
	site.Faulty

	Action, Email string
	SignUp        bool // an account can be created
	Mail          bool // codes can be sent
	Passkeys      bool // passkeys can sign in
	PasskeyError  string
}

func (d *Dashboard) registerSignIn(mux *http.ServeMux) {
	open := func(h http.HandlerFunc) http.HandlerFunc { return d.sessions.Handler(h).ServeHTTP }
	form := func(path string, h http.HandlerFunc) {
		d.Site.Form(mux, path, open(func(w http.ResponseWriter, r *http.Request) {
			if d.Site.ParseForm(w, r) {
				h(w, r)
			}
		}))
	}
	d.Site.View(mux, SignInPath, open(d.showSignIn))
	form(SignInPath, d.sendCode)
	d.Site.View(mux, codePath, open(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, SignInPath, http.StatusSeeOther) }))
	form(codePath, d.enterCode)
	if d.SignIns.HasPasskeys() {
		d.Site.View(mux, passkeyPath, open(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, SignInPath, http.StatusSeeOther) }))
		form(passkeyPath, d.signInByPasskey)
		form(passkeyPath+"/options", d.askForPasskey)
	}
	d.Site.View(mux, accountPath, open(d.showAccounts))
	form(accountPath, d.chooseAccount)
	form(SignOutPath, d.signOut)
}

func (d *Dashboard) showSignIn(w http.ResponseWriter, r *http.Request) {
	if _, ok := d.sessions.Account(r.Context()); ok {
		http.Redirect(w, r, Root, http.StatusSeeOther)
		return
	}
	d.showSignInWith(w, r, http.StatusOK, signInPage{})
}

func (d *Dashboard) showSignInWith(w http.ResponseWriter, r *http.Request, status int, page signInPage) {
	page.Action, page.SignUp, page.Mail, page.Passkeys = SignInPath, d.SignUp, d.SignIns.SendsMail(), d.SignIns.HasPasskeys()
	shown := site.Page{Template: d.pages["signin"], Title: "Sign in", Status: status, Content: page}
	if page.Passkeys {
		shown.Scripts = []*site.Asset{d.passkey}
	}
	d.Site.Render(w, r, shown)
}

func (d *Dashboard) showCode(w http.ResponseWriter, r *http.Request, status int, page signInPage) {
	page.Action = codePath
	d.Site.Render(w, r, site.Page{Template: d.pages["code"], Title: "Enter the code", Status: status, Content: page})
}

// sendCode mails a code. The answer is the same whether or not the address has an account.
func (d *Dashboard) sendCode(w http.ResponseWriter, r *http.Request) {
	email := strings.TrimSpace(r.PostForm.Get("email"))
	err := d.SignIns.SendCode(r.Context(), d.sessions.Challenge(r, signin.MerchantSignIn, email), httplog.ClientNetwork(r.Context()))
	if problem := sendProblem(err); problem.Error != "" {
		d.showSignInWith(w, r, http.StatusUnprocessableEntity, signInPage{Email: email, Faulty: problem})
		return
	}
	if err != nil {
		d.Site.Failed(w, r, err)
		return
	}
	d.showCode(w, r, http.StatusOK, signInPage{Email: email})
}

// sendProblem says why no code was sent; empty if the person can do nothing about it.
func sendProblem(err error) site.Faulty {
	switch {
	case errors.Is(err, signin.ErrEmail):
		return site.Faulty{Error: "The email address is not complete.", Wrong: "email"}
	case errors.Is(err, signin.ErrTooMany):
		return site.Faulty{Error: "Too many codes were asked for. Try again tomorrow, or use the latest code that you received."}
	case errors.Is(err, signin.ErrNoMail):
		return site.Faulty{Error: "This service sends no mail, so it cannot send a code."}
	}
	return site.Faulty{}
}

// checkCode checks the code of a form and returns the address that it proves.
func (d *Dashboard) checkCode(r *http.Request, email string) (proven string, problem site.Faulty, err error) {
	proven, err = d.SignIns.Check(r.Context(), d.sessions.Challenge(r, signin.MerchantSignIn, email), r.PostForm.Get("code"))
	var wrong *signin.WrongCodeError
	switch {
	case errors.As(err, &wrong):
		d.Audit.Record(r.Context(), audit.AuthenticationFailed, slog.String("route", r.Pattern))
		return "", site.Faulty{Error: "This is not the code that was mailed. Attempts left: " + strconv.Itoa(wrong.AttemptsLeft) + ".", Wrong: "code"}, nil
	case errors.Is(err, signin.ErrMalformed):
		return "", site.Faulty{Error: "The code has six digits.", Wrong: "code"}, nil
	case errors.Is(err, signin.ErrNoCode), errors.Is(err, signin.ErrEmail):
		d.Audit.Record(r.Context(), audit.AuthenticationFailed, slog.String("route", r.Pattern))
		return "", site.Faulty{Error: "The code is not valid any more: it was used, it is older than ten minutes, or it was entered wrongly too often. Ask for a new one.", Wrong: "code"}, nil
	}
	return proven, site.Faulty{}, err
}

// enterCode signs in who proves an address.
func (d *Dashboard) enterCode(w http.ResponseWriter, r *http.Request) {
	email := strings.TrimSpace(r.PostForm.Get("email"))
	proven, problem, err := d.checkCode(r, email)
	if err == nil && problem.Error == "" {
		d.SignIns.Remember(w, proven)
		err = d.begin(r, proven)
	}
	switch {
	case err != nil:
		d.Site.Failed(w, r, err)
	case problem.Error != "":
		d.showCode(w, r, http.StatusUnprocessableEntity, signInPage{Email: email, Faulty: problem})
	default:
		d.arrive(w, r)
	}
}

// begin signs in the one merchant of an address. If there is none or a choice, it signs in
// the address, which sees the page of accounts.
func (d *Dashboard) begin(r *http.Request, email string) error {
	all, err := d.Store.MerchantsByEmail(r.Context(), email, maxAccounts)
	if err != nil {
		return err
	}
	if len(all) == 1 {
		if err := d.sessions.Begin(r.Context(), merchantAccount(all[0].ID, email)); err != nil {
			return err
		}
		d.Audit.Did(r.Context(), audit.Merchant(all[0].ID), "sign-in", all[0].ID)
		return nil
	}
	return d.sessions.Begin(r.Context(), signin.Account{Kind: signin.Email, ID: email})
}

func merchantAccount(merchantID, email string) signin.Account {
	return signin.Account{Kind: signin.Merchant, ID: merchantID, Email: email}
}

func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request) {
	if err := d.sessions.End(r.Context()); err != nil {
		d.Site.Failed(w, r, err)
		return
	}
	d.Site.Message(w, r, http.StatusOK, site.Message{
		Badge: site.Badge{Tone: site.Good, Text: "Signed out"}, Headline: "You are signed out", Next: SignInPath, Action: "Sign in again",
	})
}

// FreshFor is how long a proof of the address allows to create keys and to change where
// money goes.
const FreshFor = 10 * time.Minute

// guarded asks for a new code before h, unless one was entered within FreshFor. A form is not
// sent on: its page is opened again after the code.
func (d *Dashboard) guarded(page string, h handler) handler {
	return func(w http.ResponseWriter, v visit) {
		if d.sessions.Fresh(v.Context(), FreshFor) {
			h(w, v)
			return
		}
		d.showProve(w, v, http.StatusForbidden, provePage{Next: page})
	}
}

// provePage asks who is signed in to prove the address again.
type provePage struct {
	site.Faulty

	Next, Email string
	Sent        bool
}

// provable are the pages that lead to the question, and back from it.
var provable = []string{"/keys", passkeysPath, "/tokens", "/settings", "/webhooks", returning}

func (d *Dashboard) showProve(w http.ResponseWriter, v visit, status int, page provePage) {
	page.Email = v.merchant.Email
	d.show(w, v, page.Next, site.Page{Title: "Confirm that it is you", Status: status, Content: page}, "prove")
}

// askToProve sends a code and asks for it.
func (d *Dashboard) askToProve(w http.ResponseWriter, v visit) {
	page := provePage{Next: nextOf(v)}
	err := d.SignIns.SendCode(v.Context(), d.sessions.Challenge(v.Request, signin.MerchantSignIn, v.merchant.Email), httplog.ClientNetwork(v.Context()))
	if page.Faulty = sendProblem(err); err != nil && page.Error == "" {
		d.failed(w, v, err)
		return
	}
	page.Sent = err == nil
	d.showProve(w, v, http.StatusOK, page)
}

func (d *Dashboard) prove(w http.ResponseWriter, v visit) {
	_, problem, err := d.checkCode(v.Request, v.merchant.Email)
	switch {
	case err != nil:
		d.failed(w, v, err)
	case problem.Error != "":
		d.showProve(w, v, http.StatusUnprocessableEntity, provePage{Next: nextOf(v), Sent: true, Faulty: problem})
	default:
		d.sessions.Prove(v.Context())
		d.did(v, "prove", v.merchant.ID)
		if nextOf(v) == returning {
			d.arrive(w, v.Request)
			return
		}
		back(w, v, nextOf(v))
	}
}

// nextOf returns the page that a form leads back to.
func nextOf(v visit) string {
	for _, path := range provable {
		if v.PostForm.Get("next") == path {
			return path
		}
	}
	return ""
}

// merchantOf returns the merchant of a session, or answers where to sign in.
func (d *Dashboard) merchantOf(w http.ResponseWriter, r *http.Request) (ledger.Merchant, bool) {
	account, ok := d.sessions.Account(r.Context())
	switch {
	case !ok:
		http.Redirect(w, r, SignInPath, http.StatusSeeOther)
		return ledger.Merchant{}, false
	case account.Kind != signin.Merchant:
		http.Redirect(w, r, accountPath, http.StatusSeeOther)
		return ledger.Merchant{}, false
	}
	m, err := d.Store.Merchant(r.Context(), account.ID)
	if err != nil {
		d.Site.Failed(w, r, err)
		return ledger.Merchant{}, false
	}
	if !strings.EqualFold(m.Email, account.Email) { // the merchant has another address since
		if err := d.sessions.End(r.Context()); err != nil {
			d.Site.Failed(w, r, err)
			return ledger.Merchant{}, false
		}
		http.Redirect(w, r, SignInPath, http.StatusSeeOther)
		return ledger.Merchant{}, false
	}
	return m, true
}
