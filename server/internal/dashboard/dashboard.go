// Package dashboard serves a merchant's pages under /dashboard: what was paid, refunds,
// mandates, API keys, webhooks, settings and, in a sandbox, test helpers. Its operations are
// those of the merchant API; it only shows them.
//
// Every page belongs to the merchant that is signed in. What belongs to another merchant does
// not exist there. Each change is a form that is guarded by package site, repeats without a
// second effect or is refused, and is written to the audit log.
package dashboard

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets/passkey.js
var passkeyScript []byte

// Store is the part of the store that is read here.
type Store interface {
	store.Reports
	store.Passkeys
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
	APIKeys(ctx context.Context, merchantID string) ([]store.APIKey, error)
	SetMerchantProfile(ctx context.Context, id string, p store.MerchantProfile) error
	SetMerchantWallet(ctx context.Context, id, payTo string) error
	RevokeAPIKey(ctx context.Context, hash string, at time.Time) (bool, error)
	OAuthGrants(ctx context.Context, merchantID string, now time.Time, limit int) ([]store.OAuthGrant, error)
	OAuthGrant(ctx context.Context, id string) (store.OAuthGrant, error)
	RevokeOAuthGrant(ctx context.Context, merchantID, id string, at time.Time) (bool, error)
}

// Keys manages API keys.
type Keys interface {
	// NewKey returns a key, which is not valid before AddKey.
	NewKey(merchantID, label string, scopes []string) (plain string, key store.APIKey)
	AddKey(ctx context.Context, key store.APIKey) error
}

// Tokens manages the access tokens that merchants create.
type Tokens interface {
	IssueToken(ctx context.Context, t store.AccessToken, life time.Duration) (string, store.AccessToken, error)
	Tokens(ctx context.Context, merchantID, before string, limit int) ([]store.AccessToken, error)
	// RevokeToken returns ledger.ErrNotFound for a token of another merchant.
	RevokeToken(ctx context.Context, merchantID, tokenID string) (store.AccessToken, bool, error)
}

// Webhooks manages a merchant's endpoints and events. It returns ledger.ErrNotFound for
// those of another merchant.
type Webhooks interface {
	CreateEndpoint(ctx context.Context, merchantID, url string, types []webhook.Type) (store.WebhookEndpoint, string, error)
	Endpoints(ctx context.Context, merchantID string) ([]store.WebhookEndpoint, error)
	Endpoint(ctx context.Context, merchantID, endpointID string) (store.WebhookEndpoint, error)
	DeleteEndpoint(ctx context.Context, merchantID, endpointID string) error
	RotateSecret(ctx context.Context, merchantID, endpointID string) (store.WebhookEndpoint, string, error)
	TestEndpoint(ctx context.Context, merchantID, endpointID string) (store.Delivery, error)
	Event(ctx context.Context, merchantID, eventID string) (ledger.Event, error)
	Events(ctx context.Context, merchantID, before, after string, limit int, wait time.Duration) ([]ledger.Event, error)
	Redeliver(ctx context.Context, merchantID, eventID string) (int, error)
	Deliveries(ctx context.Context, merchantID, eventID string) ([]store.Delivery, error)
	// Body returns an event as sent to endpoints.
	Body(e ledger.Event) []byte
}

// Config configures a Dashboard. Every field is required, except those with a
// default.
type Config struct {
	Site     *site.Site
	Payments *payment.Service
	Store    Store
	Keys     Keys
	Tokens   Tokens
	Webhooks Webhooks
	SignIns  *signin.Service
	Clock    func() time.Time
	Logger   *slog.Logger
	// Receiver returns an error for a URL that can never receive events.
	Receiver func(url string) error
	// Wallets verifies what wallets sign. Nil: no rail pays to wallets.
	Wallets rail.SignatureVerifier
	// Methods are the payment methods of the sandbox's page. Empty: there is no such page.
	Methods []rail.Method
	// Advance moves the clock of the sandbox. Nil: the page does not.
	Advance func(time.Duration) error
	// SignUp lets anyone who proves an address create an account, with NewMerchant.
	SignUp      bool
	NewMerchant func(ctx context.Context, name, website, email string) (ledger.Merchant, error)
	// Post queues the letter of [Dashboard.AccountLetter]. Nil: none is sent.
	Post func(ctx context.Context, subject string)
	// Audit logs security events. Nil: none.
	Audit *audit.Log
}

// Dashboard serves the pages.
type Dashboard struct {
	Config

	sessions *signin.Sessions
	days     *days
	pages    map[string]*template.Template
	passkey  *site.Asset
}

// pageNames are the templates of the pages.
var pageNames = []string{
	"overview", "transactions", "transaction", "mandates", "mandate", "revoke", "keys", "passkeys", "tokens", "apps", "webhooks", "endpoint", "event", "events",
	"signin", "code", "account", "prove", "settings", "sandbox",
}

// New parses the templates; they are part of the program, so a broken one panics.
func New(cfg Config) *Dashboard {
	d := &Dashboard{Config: cfg, pages: map[string]*template.Template{}, days: newDays(cfg.Store, cfg.Clock, cfg.Logger)}
	d.passkey = site.NewAsset("passkey", ".js", passkeyScript)
	d.sessions = cfg.SignIns.Sessions("merchant", cfg.Site.Failed, signin.Merchant, signin.Email)
	for _, name := range pageNames {
		d.pages[name] = cfg.Site.Parse(templates, "templates/parts.html", "templates/"+name+".html")
	}
	return d
}

// Close waits for background work.
func (d *Dashboard) Close() { d.days.close() }

// Root is the path of the overview.
const Root = "/dashboard"

// Register adds the pages to mux.
func (d *Dashboard) Register(mux *http.ServeMux) {
	view := func(path string, h handler) { d.Site.View(mux, Root+path, d.signedIn(h)) }
	form := func(path string, h handler) { d.Site.Form(mux, Root+path, d.signedIn(d.formed(h))) }
	view("", d.showOverview)
	view("/transactions", d.showTransactions)
	view("/transactions.csv", d.writeTransactions)
	view("/transactions/{transactionId}", d.showTransaction)
	form("/transactions/{transactionId}/refunds", d.refund)
	view("/mandates", d.showMandates)
	view("/mandates/{mandateId}", d.showMandate)
	view("/mandates/{mandateId}/revoke", d.askToRevoke)
	form("/mandates/{mandateId}/revoke", d.revoke)
	view("/keys", d.showKeys)
	form("/prove", d.askToProve)
	form("/prove/code", d.prove)
	form("/keys", d.guarded("/keys", d.createKey))
	form("/keys/{keyId}/revoke", d.revokeKey)
	if d.SignIns.HasPasskeys() {
		view(passkeysPath, d.showPasskeys)
		form(passkeysPath, d.guarded(passkeysPath, d.addPasskey))
		form(passkeysPath+"/options", d.guarded(passkeysPath, d.askForNewPasskey))
		form(passkeysPath+"/{passkeyId}/remove", d.guarded(passkeysPath, d.removePasskey))
		d.passkey.Register(mux)
	}
	view("/tokens", d.showTokens)
	form("/tokens", d.guarded("/tokens", d.createToken))
	form("/tokens/{tokenId}/revoke", d.revokeToken)
	view("/apps", d.showApps)
	form("/apps/{grantId}/disconnect", d.disconnect)
	view("/webhooks", d.showWebhooks)
	form("/webhooks", d.guarded("/webhooks", d.createEndpoint))
	view("/webhooks/{endpointId}", d.showEndpoint)
	form("/webhooks/{endpointId}/delete", d.deleteEndpoint)
	form("/webhooks/{endpointId}/rotate", d.guarded("/webhooks", d.rotateSecret))
	form("/webhooks/{endpointId}/test", d.testEndpoint)
	view("/events", d.showEvents)
	view("/events/{eventId}", d.showEvent)
	form("/events/{eventId}/redeliver", d.redeliver)
	view("/settings", d.showSettings)
	form("/settings", d.setProfile)
	form("/settings/wallet", d.guarded("/settings", d.setWallet))
	if len(d.Methods) > 0 {
		view("/sandbox", d.showSandbox)
		form("/sandbox/complete", d.completeSession)
	}
	if d.Advance != nil {
		form("/sandbox/clock", d.moveClock)
	}
	d.registerSignIn(mux)
	view("/", func(w http.ResponseWriter, v visit) { d.failed(w, v, ledger.ErrNotFound) })
}

// visit is a request of the merchant that is signed in.
type visit struct {
	*http.Request

	merchant ledger.Merchant
}

type handler func(w http.ResponseWriter, v visit)

// signedIn serves h to the merchant that is signed in, and sends others to the sign-in page.
func (d *Dashboard) signedIn(h handler) http.HandlerFunc {
	return d.sessions.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m, ok := d.merchantOf(w, r); ok {
			h(w, visit{r, m})
		}
	})).ServeHTTP
}

// formed reads the form before h is called.
func (d *Dashboard) formed(h handler) handler {
	return func(w http.ResponseWriter, v visit) {
		if d.Site.ParseForm(w, v.Request) {
			h(w, v)
		}
	}
}

// section is an entry of the menu.
type section struct{ name, path, icon string }

var sections = []section{
	{"Overview", "", "overview"},
	{"Transactions", "/transactions", "transactions"},
	{"Mandates", "/mandates", "mandates"},
	{"API keys", "/keys", "keys"},
	{"Passkeys", passkeysPath, "keys"},
	{"Access tokens", "/tokens", "keys"},
	{"Connected apps", "/apps", "apps"},
	{"Webhooks", "/webhooks", "webhooks"},
	{"Settings", "/settings", "settings"},
	{"Sandbox", sandboxPath, "sandbox"},
}

func (d *Dashboard) menu(v visit, path string) *site.Menu {
	m := &site.Menu{Label: "Dashboard", Account: v.merchant.Name, SignOut: SignOutPath}
	for _, s := range sections {
		if s.path == sandboxPath && len(d.Methods) == 0 || s.path == passkeysPath && !d.SignIns.HasPasskeys() {
			continue
		}
		m.Items = append(m.Items, site.MenuItem{Name: s.name, URL: Root + s.path, Icon: s.icon, Current: s.path == path})
	}
	return m
}

// show writes a page of the section with a path.
func (d *Dashboard) show(w http.ResponseWriter, v visit, path string, page site.Page, name string) {
	page.Template, page.Menu = d.pages[name], d.menu(v, path)
	d.Site.Render(w, v.Request, page)
}

// failed reports an error. What belongs to another merchant does not exist.
func (d *Dashboard) failed(w http.ResponseWriter, v visit, err error) {
	if !errors.Is(err, ledger.ErrNotFound) {
		d.Site.Failed(w, v.Request, err)
		return
	}
	d.Site.Message(w, v.Request, http.StatusNotFound, site.Message{
		Badge: site.Badge{Tone: site.Bad, Text: "Not found"}, Headline: "Your account has nothing here",
		Text: "It may belong to another account, or its id is not complete.", Next: Root, Action: "Back to the overview", Menu: d.menu(v, "-"),
	})
}

// did writes an action of the merchant to the audit log.
func (d *Dashboard) did(v visit, action, subject string, attrs ...slog.Attr) {
	d.Audit.Did(v.Context(), audit.Merchant(v.merchant.ID), action, subject, attrs...)
}

// back redirects to a page after a form, so that loading it again sends nothing.
func back(w http.ResponseWriter, v visit, path string) {
	http.Redirect(w, v.Request, Root+path, http.StatusSeeOther)
}

// record logs a security event.
func (d *Dashboard) record(v visit, e audit.Event, name, value string) {
	d.Audit.Record(v.Context(), e, slog.String(name, value), slog.String("merchantId", v.merchant.ID))
}

// sortFacts puts facts in the order of their names.
func sortFacts(facts []fact) {
	slices.SortFunc(facts, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
}
