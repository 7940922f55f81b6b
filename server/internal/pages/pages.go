// Package pages serves what people see in a browser: the setup page, where they
// confirm the limits of a mandate, the mandate's private page, where they follow and
// stop it, checkouts and receipts. The pages are plain HTML with one style sheet.
// They work without JavaScript, except for requests to a wallet in the browser.
//
// Addresses are capabilities. The merchant knows those of setup pages, checkouts and
// receipts. Only the person knows the private page of a mandate: it is shown after
// confirming, and mailed, and stands on no page that a merchant can open.
package pages

import (
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

//go:embed templates/*.html
var templates embed.FS

var (
	//go:embed assets/wallet.js
	walletScript []byte
	//go:embed assets/setup.js
	setupScript []byte
)

// Merchants finds merchants by their ids.
type Merchants interface {
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
}

// The kinds of messages, which are stored: see [Pages.Confirmation],
// [Pages.CardConnected] and [Pages.CardChanged].
const (
	MandateConfirmed = "mandate_confirmed"
	CardConnected    = "card_connected"
	CardChanged      = "card_changed"
)

// Config configures the pages. Every field is required, except the two that queue mail.
type Config struct {
	// Site renders and guards the pages.
	Site      *site.Site
	Payments  *payment.Service
	Merchants Merchants
	Clock     func() time.Time
	Logger    *slog.Logger
	Sandbox   bool
	// Links are shown on the page at "/". Default: none.
	Links []Link
	// DocsURL is put before the name of a page about errors. Default: no page is linked.
	DocsURL string
	// BaseURL is the origin that the pages are served under.
	BaseURL string
	// Audit logs security events. Nil: none.
	Audit *audit.Log
	// Methods returns the payment methods of rails, the usual one first.
	Methods func(of ...rail.Name) []rail.Method
	// Codes prove email addresses.
	Codes Codes
	// People are the sessions of people on their dashboard.
	People People
	// Wallets verifies what wallets sign to sign in, on the chain with ChainID. Nil: no
	// wallet signs in.
	Wallets rail.SignatureVerifier
	ChainID uint64
	// Owners stores who confirmed a mandate.
	Owners store.MandateOwners
	// Notices stores what people want to be mailed, and MostNotices is the number of payments
	// of one mandate that are mailed in a day.
	Notices     store.NoticesStore
	MostNotices int
	// Mails is the queue of messages to people. Nil: no mail is sent, and no page asks for
	// an address.
	Mails Mails
	// Mailbox returns the messages of the page "/mailbox", newest first. Nil: there is no
	// such page.
	Mailbox func() []Mail
}

// Pages serves them.
type Pages struct {
	Config

	wallet, typing                    *site.Asset // scripts: of pages that ask a wallet, and of the setup page
	setup, pay, result, mandate, stop *template.Template
	lower, notify, start, mailbox     *template.Template
	person, enter, data, card         *template.Template
}

// New parses the templates; they are part of the program, so a broken one panics.
func New(cfg Config) *Pages {
	parse := func(name string) *template.Template {
		return cfg.Site.Parse(templates, "templates/methods.html", "templates/revoke.html", "templates/limit.html", "templates/"+name)
	}
	return &Pages{
		Config: cfg, wallet: site.NewAsset("wallet", ".js", walletScript), typing: site.NewAsset("setup", ".js", setupScript),
		setup: parse("setup.html"), pay: parse("checkout.html"),
		result: parse("result.html"), mandate: parse("mandate.html"), stop: parse("stop.html"), lower: parse("lower.html"),
		notify: parse("notices.html"),
		start:  parse("home.html"), mailbox: parse("mailbox.html"),
		person: parse("person.html"), enter: parse("signin.html"), data: parse("data.html"), card: parse("card.html"),
	}
}

// Register adds the pages to mux. Forms that come from another site are refused.
func (p *Pages) Register(mux *http.ServeMux) {
	view := func(path string, h http.HandlerFunc) { p.Site.View(mux, path, h) }
	form := func(path string, h http.HandlerFunc) { p.Site.Form(mux, path, h) }
	view("/{$}", p.showHome)
	view("/setup/{sessionToken}", p.showSetup)
	form("/setup/{sessionToken}", p.decide)
	view("/setup/{sessionToken}/card", p.showReturned)
	view("/setup/{sessionToken}/{proof}", p.showDecided)
	form("/setup/{sessionToken}/worst", p.sayWorst)
	form("/setup/{sessionToken}/wallet", p.proposeToWallet)
	view("/checkout/{checkoutId}/{proof}", p.showCheckout)
	form("/checkout/{checkoutId}/{proof}", p.payCheckout)
	view("/checkout/{checkoutId}/{proof}/card", p.showCheckoutReturned)
	view("/receipts/{transactionId}/{proof}", p.receipt)
	view("/m/{mandateId}/{proof}", p.showMandate)
	view("/m/{mandateId}/{proof}/stop", p.askToStop)
	form("/m/{mandateId}/{proof}/stop", p.stopMandate)
	form("/m/{mandateId}/{proof}/pause", p.pauseMandate)
	view("/m/{mandateId}/{proof}/pause", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, ".", http.StatusSeeOther) })
	view("/m/{mandateId}/{proof}/limits", p.askForLimits)
	form("/m/{mandateId}/{proof}/limits", p.lowerLimits)
	view("/m/{mandateId}/{proof}/notices", p.askForNotices)
	form("/m/{mandateId}/{proof}/notices", p.setNotices)
	p.registerPerson(mux)
	if p.Mailbox != nil {
		view(mailboxPath, p.showMailbox)
	}
	for _, l := range p.Links {
		if l.Post != nil {
			form(l.URL, l.Post.ServeHTTP)
			view(l.URL, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusSeeOther) })
		}
	}
	p.wallet.Register(mux)
	p.typing.Register(mux)
}

// result is a page without a form.
type result struct {
	Tone, Badge, Headline, Text, Amount, Merchant, Return string
	Worst                                                 string   // what a mandate can cost at most
	Warn                                                  bool     // show Worst as a warning
	Private                                               string   // address of a mandate's private page
	Receipt                                               string   // address of a receipt
	Next                                                  string   // address of the card processor's page
	Note                                                  string   // what to do next
	Help                                                  []string // about a receipt: how to stop and to dispute
	Facts                                                 []fact
	Points                                                []string
	Revoke                                                *revokeView
}

type fact struct{ Name, Value string }

func (p *Pages) message(w http.ResponseWriter, r *http.Request, status int, content result) {
	p.render(w, r, status, p.result, content.Headline, content)
}

// scripted is content with scripts of its own.
type scripted interface {
	scripts(p *Pages) []*site.Asset
}

// askingWallet returns the script of a page that asks a browser's wallet, if it does.
func (p *Pages) askingWallet(asks bool) []*site.Asset {
	if !asks {
		return nil
	}
	return []*site.Asset{p.wallet}
}

func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, page *template.Template, title string, content any) {
	shown := site.Page{Template: page, Title: title, Status: status, Content: content}
	if c, ok := content.(scripted); ok {
		shown.Scripts = c.scripts(p)
	}
	p.Site.Render(w, r, shown)
}

func (p *Pages) failed(w http.ResponseWriter, r *http.Request, err error) { p.Site.Failed(w, r, err) }

func (p *Pages) missing(w http.ResponseWriter, r *http.Request) { p.Site.Missing(w, r) }
