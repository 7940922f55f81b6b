package pages

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
)

// walletCookie is the name of the cookie that binds a text to the browser that asked for it.
func (p *Pages) walletCookie() string {
	if strings.HasPrefix(p.BaseURL, "https:") {
		return "__Host-me-wallet"
	}
	return "me-wallet"
}

func (p *Pages) setWalletCookie(w http.ResponseWriter, browser string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever base_url is https
		Name: p.walletCookie(), Value: browser, Path: "/", MaxAge: maxAge, HttpOnly: true,
		Secure: strings.HasPrefix(p.BaseURL, "https:"), SameSite: http.SameSiteStrictMode,
	})
}

// textToSign is the answer to the script of the sign-in page.
type textToSign struct {
	Text    string `json:"text,omitempty"`
	At      string `json:"at,omitempty"`
	Problem string `json:"problem,omitempty"`
}

const noAddress = "Your wallet gave no address."

// askWallet answers what a wallet signs to sign in. It stores nothing.
func (p *Pages) askWallet(w http.ResponseWriter, r *http.Request) {
	if p.Wallets == nil {
		p.missing(w, r)
		return
	}
	if !p.Site.ParseForm(w, r) {
		return
	}
	address, err := x402.ParseAddress(r.PostForm.Get("wallet"))
	if err != nil {
		answerScript(w, http.StatusUnprocessableEntity, textToSign{Problem: noAddress})
		return
	}
	browser := id.NewCapability("")
	p.setWalletCookie(w, browser, int(signin.WalletLifetime/time.Second))
	at := p.Clock().UTC().Format(time.RFC3339)
	answerScript(w, http.StatusOK, textToSign{Text: p.Codes.Text(p.walletText(address, browser, at)), At: at})
}

func (p *Pages) walletText(address, browser, at string) signin.WalletText {
	return signin.WalletText{Address: address, ChainID: p.ChainID, Browser: browser, At: at}
}

// signInByWallet takes the signature.
func (p *Pages) signInByWallet(w http.ResponseWriter, r *http.Request) {
	if p.Wallets == nil {
		p.missing(w, r)
		return
	}
	if !p.Site.ParseForm(w, r) {
		return
	}
	address, problem, err := p.provenWallet(r)
	if err == nil && problem == "" {
		p.setWalletCookie(w, "", -1)
		err = p.People.Begin(r.Context(), signin.Account{Kind: signin.Wallet, ID: strings.ToLower(address)})
	}
	switch {
	case err != nil:
		p.failed(w, r, err)
	case problem != "":
		p.Audit.Record(r.Context(), audit.SignInRefused, slog.String("kind", string(signin.Wallet)))
		p.showSignIn(w, r, http.StatusUnprocessableEntity, signInForm{WalletProblem: problem})
	default:
		p.Audit.Record(r.Context(), audit.PersonSignedIn)
		http.Redirect(w, r, "/me", http.StatusSeeOther)
	}
}

// provenWallet returns the wallet of a form with a valid signature, or the problem.
func (p *Pages) provenWallet(r *http.Request) (address, problem string, err error) {
	const again = "This page was opened too long ago, or in another browser. Sign in again."
	if address, err = x402.ParseAddress(r.PostForm.Get("wallet")); err != nil {
		return "", noAddress, nil //nolint:nilerr // the person reads it
	}
	browser, err := r.Cookie(p.walletCookie())
	at := r.PostForm.Get("at")
	if err != nil || browser.Value == "" || !p.Codes.Current(at) {
		return "", again, nil //nolint:nilerr // the person reads it
	}
	// A stranger's wallet is refused before the chain is asked, in the same words as a wrong
	// signature, so the answer does not say who has mandates.
	refused := "The wallet " + address + " did not sign this, or has confirmed no mandate here."
	ids, err := p.Owners.MandatesOfOwner(r.Context(), string(signin.Wallet), strings.ToLower(address), "", 1)
	if err != nil || len(ids) == 0 {
		return "", refused, err
	}
	err = p.Wallets.VerifySigned(r.Context(), address, p.Codes.Text(p.walletText(address, browser.Value, at)), r.PostForm.Get("signature"))
	if errors.Is(err, rail.ErrSignature) {
		return "", refused, nil
	}
	return address, "", err
}

// signing returns the script of the sign-in page if a wallet can sign there.
func (p *Pages) signing() []*site.Asset {
	if p.Wallets == nil {
		return nil
	}
	return []*site.Asset{p.Site.Sign}
}
