package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/mail"
	"github.com/paywarrant/paywarrant/server/internal/pages"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/telemetry"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Mode distinguishes a sandbox from the live service. Each refuses the credentials
// of the other.
type Mode string

const (
	// Sandbox moves no real money and has the test helpers (/v1/test_helpers/…).
	Sandbox Mode = "sandbox"
	// Live moves money.
	Live Mode = "live"
)

// ErrMailRefused reports a message that will never be delivered, for example because there
// is no such address.
var ErrMailRefused = mail.ErrRefused

// Mailer sends a message to a person. Package mailer has one that sends by SMTP.
type Mailer interface {
	// Mail sends a message. If it returns an error, the service logs it and calls Mail
	// again, for three days, unless the error is [ErrMailRefused]. The error must not
	// contain the text of the message, which may hold a private link.
	Mail(ctx context.Context, m Message) error
}

// TestHelperKey is a secret; it does not show when printed, logged or encoded.
type TestHelperKey string

const redacted = "[redacted]"

// String implements fmt.Stringer.
func (TestHelperKey) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (TestHelperKey) GoString() string { return redacted }

// LogValue implements slog.LogValuer.
func (TestHelperKey) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler, and with it JSON.
func (TestHelperKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Message is an email in plain text.
type Message struct {
	// To is the recipient's address.
	To string
	// Subject is one line of text.
	Subject string
	// Text is the body.
	Text string
	// HTML is the body as a page, with the same words.
	HTML string
}

// Config configures a [Server]. Zero fields mean their default.
type Config struct {
	// BaseURL is the service's public origin: "https://pay.example". It is the issuer
	// of its mandates. Only loopback addresses may use http. Required.
	BaseURL string
	// Mode is Sandbox or Live. Required.
	Mode Mode
	// Store is the service's database, from sqlite.Open or postgres.Open; the server closes
	// it. A store belongs to the mode and the BaseURL with which it was first used. Required.
	Store store.Store
	// Moved lets the store change to this BaseURL if it was first used with another one.
	// Mandates issued under the old URL are then refused. Default: New returns an
	// error. A sandbox may always change from one loopback address to another.
	Moved bool
	// Rails move money; the server closes those that can be closed. At least one.
	Rails []rail.Rail
	// Wrapper holds the key-encryption key that seals all keys in the store.
	// Required in live mode. Default in the sandbox: a fixed key, which protects nothing.
	Wrapper vault.Wrapper
	// Clock returns the current time. Default: time.Now; in the sandbox, a clock that
	// POST /v1/test_helpers/clock/advance moves forward.
	Clock func() time.Time
	// AdvanceClock moves a custom Clock forward when POST /v1/test_helpers/clock/advance
	// is called in the sandbox. It must be safe for concurrent use. Default: a custom
	// Clock cannot be moved through the API.
	AdvanceClock func(time.Duration)
	// Logger receives structured logs without secrets. Default: logs are discarded.
	Logger *slog.Logger
	// Metrics creates the metrics; telemetry/prom does so with Prometheus. Default: none.
	Metrics telemetry.Metrics
	// Traces starts spans; telemetry/opentelemetry does so with OpenTelemetry. Default: none.
	Traces telemetry.Traces
	// Mailer sends email. Default: no email is sent.
	Mailer Mailer
	// Mailbox returns the messages that a sandbox shows on the page "/mailbox" to all who can
	// open it, newest first, because Mailer does not send them. Default: there is no such page.
	Mailbox func() []Message
	// MerchantSignUp lets anyone who proves an email address create a merchant account on the
	// dashboard. Default: only the operator creates accounts.
	MerchantSignUp bool
	// Resolver resolves the host names of webhook endpoints. Default: the system resolver.
	Resolver *net.Resolver
	// RequestsPerSecond limits each merchant's charges, other writes and reads, counted
	// separately, with a burst of twice the limit. The same limit applies to each payer
	// at paywalls. Default: 100.
	RequestsPerSecond int
	// AnonymousPerSecond limits the requests of one client address that prove no identity:
	// failed authentication, invalid payments, receipt checks without credentials, pages
	// and test helpers, counted separately, with a burst of twice the limit. IPv6
	// addresses count by their /64. Default: RequestsPerSecond.
	AnonymousPerSecond int
	// TrustedProxies lists the addresses of the proxies that forward requests. The client
	// address is the last one in X-Forwarded-For or Forwarded that is not a trusted
	// proxy; these headers are ignored on connections from other addresses. Default:
	// none; the client address is that of the connection.
	TrustedProxies []netip.Prefix
	// ReconcileEvery is the pause between two comparisons of the ledger with the rails; see
	// [Reconcile]. Each difference is logged as an error and counted by a metric. One
	// instance compares for all. Default: the service does not compare.
	ReconcileEvery time.Duration
	// Upstreams are other catalogs of paid endpoints, whose entries the market lists. One instance
	// reads them for all, every five minutes. Default: none.
	Upstreams []Upstream
	// TestHelperKey is the key that callers of the sandbox's test helpers send as
	// X-Service-Test-Helper-Key. The helpers create merchants and advance the clock for
	// all. Default: none; the helpers are then open if BaseURL is a loopback address,
	// and closed otherwise.
	TestHelperKey TestHelperKey
	// TabCents is the block, in US cents, that a card authorizes for payments below 50 cents;
	// at least 100, so that a tab captures all that the one before left. A mandate's limits
	// make it smaller. Default: 500.
	TabCents int
	// MaxTabAdvanceCents is the most, in US cents, that the operator advances to one merchant
	// in a calendar month (UTC) for small payments that no card has paid yet. An open tab
	// counts as 50 cents until so much is drawn from it, so 5000 allows 100 at a time. Beyond
	// it no tab opens for the merchant until others are captured or the month ends. Default:
	// 5000.
	MaxTabAdvanceCents int
	// Links are shown to browsers on the page at "/", beside the API description, the
	// public keys and the error codes. Default: none.
	Links []Link
	// DocsURL is the prefix of "CODE.md" in the docUrl of errors. Default: the project's
	// pages. "-" omits docUrl.
	DocsURL string
}

// The bounds of [Config].TabCents.
const (
	MinTabCents = 2 * int(ledger.CardMinimum/money.MicrosPerCent)
	MaxTabCents = 10_000
)

const defaultTabCents = 500

// defaultAdvanceCents is the default of MaxTabAdvanceCents.
const defaultAdvanceCents = 5000

// minHelperKey is the shortest accepted TestHelperKey, so that it cannot be guessed.
const minHelperKey = 16

const defaultDocsURL = "https://github.com/paywarrant/paywarrant/blob/main/docs/errors/"

// Link is an entry of [Config].Links.
type Link struct {
	// Name is the text of the link.
	Name string
	// URL is its address. Default: none, and Name stands alone.
	URL string
	// Text is shown below it. Default: none.
	Text string
	// Post serves POST requests to URL, which must be a path of its own such as
	// "/dev/setup". The page shows a button, and Post is guarded as the service's forms are:
	// by host, origin and client address. Default: the page shows a link.
	Post http.Handler
}

func (c *Config) links() []pages.Link {
	all := make([]pages.Link, len(c.Links))
	for i, l := range c.Links {
		all[i] = pages.Link(l)
	}
	return all
}

// CheckBaseURL reports what is wrong with a [Config.BaseURL]. The text of the error fits
// after its name.
func CheckBaseURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New(`must be an origin such as "https://pay.example"`)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(u.Hostname())):
		return errors.New("must be https; http only for loopback addresses")
	}
	return nil
}

func (c *Config) validate() error {
	if err := CheckBaseURL(c.BaseURL); err != nil {
		return fmt.Errorf("server: BaseURL %w", err)
	}
	switch {
	case c.Mode != Sandbox && c.Mode != Live:
		return fmt.Errorf("server: Mode must be %q or %q", Sandbox, Live)
	case c.Mode == Live && c.Mailbox != nil:
		return errors.New("server: Mailbox: live mode has none; messages hold private links")
	case c.Store == nil:
		return errors.New("server: Store is required")
	case c.AdvanceClock != nil && c.Clock == nil:
		return errors.New("server: AdvanceClock requires Clock")
	case len(c.Rails) == 0:
		return errors.New("server: Rails must hold at least one rail")
	case c.Mode == Live && c.Wrapper == nil:
		return errors.New("server: Wrapper is required in live mode")
	case c.RequestsPerSecond < 0:
		return errors.New("server: RequestsPerSecond must not be negative")
	case c.AnonymousPerSecond < 0:
		return errors.New("server: AnonymousPerSecond must not be negative")
	case CheckUpstreams(c.Upstreams) != nil:
		return fmt.Errorf("server: Upstreams: %w", CheckUpstreams(c.Upstreams))
	case c.TabCents != 0 && (c.TabCents < MinTabCents || c.TabCents > MaxTabCents):
		return fmt.Errorf("server: TabCents must be %d to %d", MinTabCents, MaxTabCents)
	case c.ReconcileEvery < 0:
		return errors.New("server: ReconcileEvery must not be negative")
	case c.MaxTabAdvanceCents < 0:
		return errors.New("server: MaxTabAdvanceCents must not be negative")
	case c.TestHelperKey != "" && (len(c.TestHelperKey) < minHelperKey || !text.Clean(string(c.TestHelperKey))):
		return fmt.Errorf("server: TestHelperKey must have at least %d printable characters", minHelperKey)
	case slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return !p.IsValid() }):
		return errors.New("server: TrustedProxies must hold valid prefixes")
	}
	c.BaseURL = origin(c.BaseURL)
	return c.defaults()
}

// origin returns the form in which a base URL is compared and stored: scheme and host in
// lower case, without a slash. It returns a text that is no URL as it is.
func origin(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// moved reports whether the store may change from the previous BaseURL to this one.
func (c *Config) moved(previous string) bool {
	return c.respelled(previous) || c.Moved || (c.Mode == Sandbox && local(previous) && local(c.BaseURL))
}

// respelled reports whether the previous BaseURL is this one in another spelling: earlier
// versions stored it as it was configured.
func (c *Config) respelled(previous string) bool { return origin(previous) == c.BaseURL }

// movedAloud is moved, and logs a warning if the issuer changes: mandates that name the
// previous one are then refused. A slash at the end was never part of it.
func (c *Config) movedAloud(previous string) bool {
	ok := c.moved(previous)
	if ok && strings.TrimRight(previous, "/") != c.BaseURL {
		c.Logger.Warn("base URL has changed; mandates issued under the previous one are refused",
			slog.String("previous", previous), slog.String("baseUrl", c.BaseURL))
	}
	return ok
}

// VerifyStore reports whether a store belongs to the service of this mode and base URL:
// the error is the one that [New] would return, and nil if the store has no service yet.
// Moved is [Config].Moved; the store does not change. Programs that act on a service's
// store beside it call VerifyStore first.
func VerifyStore(ctx context.Context, store ledger.Owned, mode Mode, baseURL string, moved bool) error {
	cfg := Config{Mode: mode, BaseURL: origin(baseURL), Moved: moved}
	if err := ledger.Verify(ctx, store, string(mode), cfg.BaseURL, cfg.moved); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// ClaimStore records the service of this mode and base URL in a store that has none, and
// returns the errors of [VerifyStore] for one that has. Programs that prepare a store for
// a service call it before they write; [New] does too.
func ClaimStore(ctx context.Context, store ledger.Owned, mode Mode, baseURL string, moved bool) error {
	if err := VerifyStore(ctx, store, mode, baseURL, moved); err != nil {
		return err
	}
	if _, err := store.Claim(ctx, ledger.Identity{Mode: string(mode), Issuer: origin(baseURL), Epoch: ledger.Epoch}); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return VerifyStore(ctx, store, mode, baseURL, moved) // another program may have claimed it first
}

// local reports whether the host of a URL is a loopback address.
func local(base string) bool {
	u, err := url.Parse(base)
	return err == nil && loopback.Host(u.Hostname())
}

func (c *Config) defaults() error {
	if c.Wrapper == nil {
		fixed, err := sandboxWrapper()
		if err != nil {
			return fmt.Errorf("server: %w", err)
		}
		c.Wrapper = fixed
	}
	if c.Clock == nil && c.Mode == Sandbox {
		movable := &clock.Movable{}
		c.Clock, c.AdvanceClock = movable.Now, movable.Advance
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.TabCents = cmp.Or(c.TabCents, defaultTabCents)
	c.MaxTabAdvanceCents = cmp.Or(c.MaxTabAdvanceCents, defaultAdvanceCents)
	c.AnonymousPerSecond = cmp.Or(c.AnonymousPerSecond, c.RequestsPerSecond)
	switch c.DocsURL {
	case "":
		c.DocsURL = defaultDocsURL
	case "-":
		c.DocsURL = ""
	}
	return nil
}

// receivers reports which addresses webhooks may be sent to; nil means public ones
// only. A sandbox at a loopback address may send to receivers on the same machine. A
// sandbox that others reach may not, since anyone can open an account there.
func (c *Config) receivers() func(netip.Addr) bool {
	u, err := url.Parse(c.BaseURL)
	if err == nil && c.Mode == Sandbox && loopback.Host(u.Hostname()) {
		return func(netip.Addr) bool { return true }
	}
	return nil
}

// sandboxWrapper is the default wrapper of the sandbox.
func sandboxWrapper() (*vault.Local, error) {
	return vault.NewLocal([]byte("sandbox key, which seals nothing")) // 32 bytes
}
