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
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets/style.css
var style []byte

//go:embed assets/wallet.js
var walletScript []byte

// Merchants finds merchants by their ids.
type Merchants interface {
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
}

// Config configures the pages. Every field is required, except MailConfirmation and PerAddress.
type Config struct {
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
	// PerAddress is how many pages one client address may open each second, and how many
	// forms it may send, with bursts of twice that. Default: 100.
	PerAddress int
	// Methods returns the payment methods of rails, the usual one first.
	Methods func(of ...rail.Name) []rail.Method
	// MailConfirmation queues [Pages.Confirmation] of a mandate. Nil: no mail is sent, and
	// no page asks for an address.
	MailConfirmation func(ctx context.Context, mandateID string)
	// Mailbox returns the messages of the page "/mailbox", newest first. Nil: there is no
	// such page.
	Mailbox func() []Mail
}

// Pages serves them.
type Pages struct {
	Config

	views, forms                      *ratelimit.Limits
	stylePath, scriptPath             string
	setup, pay, result, mandate, stop *template.Template
	lower, start, mailbox             *template.Template
}

// New parses the templates; they are part of the program, so a broken one panics.
func New(cfg Config) *Pages {
	parse := func(name string) *template.Template {
		return template.Must(template.ParseFS(templates, "templates/layout.html", "templates/methods.html", "templates/revoke.html", "templates/limit.html", "templates/"+name))
	}
	if cfg.PerAddress == 0 {
		cfg.PerAddress = 100
	}
	limits := func() *ratelimit.Limits {
		return ratelimit.New(ratelimit.Config{PerSecond: cfg.PerAddress, Clock: cfg.Clock})
	}
	return &Pages{
		Config: cfg, views: limits(), forms: limits(), setup: parse("setup.html"), pay: parse("checkout.html"), result: parse("result.html"),
		mandate: parse("mandate.html"), stop: parse("stop.html"), lower: parse("lower.html"), start: parse("home.html"), mailbox: parse("mailbox.html"),
		stylePath: assetPath("style", style, ".css"), scriptPath: assetPath("wallet", walletScript, ".js"),
	}
}

// assetPath names what is in an asset, so that it can be kept for ever.
func assetPath(name string, content []byte, ext string) string {
	sum := sha256.Sum256(content)
	return "/assets/" + name + "-" + hex.EncodeToString(sum[:6]) + ext
}

// Register adds the pages to mux. Forms that come from another site are refused.
func (p *Pages) Register(mux *http.ServeMux) {
	ownForms := http.NewCrossOriginProtection()
	ownForms.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.message(w, r, http.StatusForbidden, result{
			Tone: "bad", Badge: "Refused", Headline: "This form came from another site",
			Text: "Open the link that you were given once more, and confirm there.",
		})
	}))
	view := func(path string, h http.HandlerFunc) { mux.Handle("GET "+path, p.guarded(p.views, h)) }
	form := func(path string, h http.HandlerFunc) {
		mux.Handle("POST "+path, p.guarded(p.forms, ownForms.Handler(h)))
	}
	view("/{$}", p.showHome)
	view("/setup/{sessionToken}", p.showSetup)
	form("/setup/{sessionToken}", p.decide)
	view("/setup/{sessionToken}/card", p.showReturned)
	view("/setup/{sessionToken}/{proof}", p.showDecided)
	form("/setup/{sessionToken}/wallet", p.proposeToWallet)
	view("/checkout/{checkoutId}/{proof}", p.showCheckout)
	form("/checkout/{checkoutId}/{proof}", p.payCheckout)
	view("/receipts/{transactionId}/{proof}", p.receipt)
	view("/m/{mandateId}/{proof}", p.showMandate)
	view("/m/{mandateId}/{proof}/stop", p.askToStop)
	form("/m/{mandateId}/{proof}/stop", p.stopMandate)
	view("/m/{mandateId}/{proof}/limits", p.askForLimits)
	form("/m/{mandateId}/{proof}/limits", p.lowerLimits)
	if p.Mailbox != nil {
		view(mailboxPath, p.showMailbox)
	}
	for _, l := range p.Links {
		if l.Post != nil {
			form(l.URL, l.Post.ServeHTTP)
			view(l.URL, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusSeeOther) })
		}
	}
	mux.HandleFunc("GET "+p.stylePath, asset("text/css; charset=utf-8", style))
	mux.HandleFunc("GET "+p.scriptPath, asset("text/javascript; charset=utf-8", walletScript))
}

func asset(mediaType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(content) // the client may have gone
	}
}

// result is a page without a form.
type result struct {
	Tone, Badge, Headline, Text, Amount, Merchant, Return string
	Worst                                                 string // what a mandate can cost at most
	Warn                                                  bool   // show Worst as a warning
	Private                                               string // address of a mandate's private page
	Receipt                                               string // address of a receipt
	Next                                                  string // address of the card processor's page
	Note                                                  string // what to do next
	Facts                                                 []fact
	Points                                                []string
	Revoke                                                *revokeView
}

type fact struct{ Name, Value string }

func (p *Pages) message(w http.ResponseWriter, r *http.Request, status int, content result) {
	p.render(w, r, status, p.result, content.Headline, content)
}

// scripted is content that asks a browser's wallet.
type scripted interface{ asksWallet() bool }

const policy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// render writes a page whole or not at all. Nothing else may be loaded by it,
// frame it, or learn its address, which opens it.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, page *template.Template, title string, content any) {
	var body bytes.Buffer
	rules, script := policy, ""
	if c, ok := content.(scripted); ok && c.asksWallet() {
		rules, script = policy+"; script-src 'self'; connect-src 'self'", p.scriptPath
	}
	err := page.ExecuteTemplate(&body, "layout", map[string]any{
		"Title": title, "Style": p.stylePath, "Script": script, "Sandbox": p.Sandbox, "Content": content,
	})
	if err != nil {
		p.Logger.ErrorContext(r.Context(), "page not rendered", slog.String("requestId", httplog.RequestID(r.Context())),
			slog.String("error", err.Error()))
		http.Error(w, "This page failed on our side.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", rules)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may have gone
}

// failed shows what a person can do about an error; causes go to the log alone.
func (p *Pages) failed(w http.ResponseWriter, r *http.Request, err error) {
	if httplog.HungUp(r.Context(), err) {
		w.WriteHeader(httplog.StatusClientClosedRequest)
		return
	}
	p.Logger.ErrorContext(r.Context(), "page failed", slog.String("requestId", httplog.RequestID(r.Context())),
		slog.String("route", r.Pattern), slog.String("error", err.Error()))
	p.message(w, r, http.StatusInternalServerError, result{
		Tone: "bad", Badge: "Failed", Headline: "Something failed on our side",
		Text: "Nothing was decided. Please try again in a moment. Reference: " + httplog.RequestID(r.Context()),
	})
}

func (p *Pages) missing(w http.ResponseWriter, r *http.Request) {
	p.message(w, r, http.StatusNotFound, result{
		Tone: "bad", Badge: "Not found", Headline: "There is nothing behind this link",
		Text: "It may have been cut off on its way to you. Ask for a new one where you got it.",
	})
}
