package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/telemetry"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Mode tells a sandbox from the live service. Credentials of one are refused by
// the other.
type Mode string

const (
	// Sandbox moves no real money and has the test helpers (/v1/test_helpers/…).
	Sandbox Mode = "sandbox"
	// Live moves money.
	Live Mode = "live"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Mailer sends a message to a person.
type Mailer interface {
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

// Message is a mail in plain text.
type Message struct{ To, Subject, Text string }

// Config configures a [Server]. Zero fields mean their default.
type Config struct {
	// BaseURL is where the service is reached from outside, without a path:
	// "https://pay.example". It is the issuer of its mandates. http only for
	// addresses of the loopback interface. Required.
	BaseURL string
	// Mode is Sandbox or Live. Required.
	Mode Mode
	// Store keeps the ledger; the server closes it. A store belongs to the mode and the
	// BaseURL with which it was first used. Required.
	Store ledger.Store
	// Moved has the store belong to BaseURL from now on, if it belonged to another one.
	// Mandates that were issued under the other URL are then refused. Default: New
	// returns an error. In a sandbox, one loopback address may follow another.
	Moved bool
	// Rails move money; the server closes those that can be closed. At least one.
	Rails []rail.Rail
	// Wrapper holds the key-encryption key that seals all keys in the store.
	// Required in live mode. Default in the sandbox: a fixed key, which protects nothing.
	Wrapper vault.Wrapper
	// Clock tells the time. Default: the system's, which the sandbox's test
	// helpers can move. One with a method Advance(time.Duration) is moved by them too.
	Clock Clock
	// Logger is told what happens, without secrets. Default: discards.
	Logger *slog.Logger
	// Telemetry counts and traces what happens. Default: nobody does.
	Telemetry *telemetry.Telemetry
	// Mailer sends mails. Default: nobody is mailed.
	Mailer Mailer
	// Resolver resolves the names of webhook endpoints. Default: the system's.
	Resolver *net.Resolver
	// RequestsPerSecond is how often one merchant may call, charges, other
	// writes and reads counted apart, with a burst of twice that. A payer who pays
	// paywalls has a limit of the same size. Default: 100.
	RequestsPerSecond int
	// AnonymousPerSecond is how often one client address may send requests that prove
	// nobody's identity: failed authentication, worthless payments, checks of receipts
	// without credentials, pages, test helpers, each counted apart, with a burst of
	// twice that. An IPv6 address counts with its /64. Default: RequestsPerSecond.
	AnonymousPerSecond int
	// TrustedProxies are the addresses of the proxies that forward requests. The
	// client's address is the last one in X-Forwarded-For or Forwarded that is none of
	// them; headers that others send do not count. Default: none, and the client is
	// whoever connects.
	TrustedProxies []netip.Prefix
	// TestHelperKey admits those who send it as X-Service-Test-Helper-Key to the test
	// helpers of the sandbox, which make merchants and move the clock for everybody.
	// Default: none; then the helpers are open if BaseURL is a loopback address, and
	// closed to everybody if it is not.
	TestHelperKey TestHelperKey
	// DocsURL is put before "CODE.md" in the docUrl of errors. Default: the project's
	// own pages; "-": no docUrl.
	DocsURL string
}

// minHelperKey is the length of the shortest key that cannot be guessed by trying.
const minHelperKey = 16

const defaultDocsURL = "https://github.com/paywarrant/paywarrant/blob/main/docs/errors/"

// advancer is a clock that test helpers can move.
type advancer interface {
	Clock
	Advance(d time.Duration)
}

// CheckBaseURL reports what is wrong with a [Config.BaseURL]. The text of the error fits
// after its name.
func CheckBaseURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New(`must be an origin such as "https://pay.example"`)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
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
	case c.Store == nil:
		return errors.New("server: Store is required")
	case len(c.Rails) == 0:
		return errors.New("server: Rails must hold at least one rail")
	case c.Mode == Live && c.Wrapper == nil:
		return errors.New("server: Wrapper is required in live mode")
	case c.RequestsPerSecond < 0:
		return errors.New("server: RequestsPerSecond must not be negative")
	case c.AnonymousPerSecond < 0:
		return errors.New("server: AnonymousPerSecond must not be negative")
	case c.TestHelperKey != "" && (len(c.TestHelperKey) < minHelperKey || !text.Clean(string(c.TestHelperKey))):
		return fmt.Errorf("server: TestHelperKey must have at least %d printable characters", minHelperKey)
	case slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return !p.IsValid() }):
		return errors.New("server: TrustedProxies must hold valid prefixes")
	}
	u, _ := url.Parse(c.BaseURL) // as checked
	c.BaseURL = u.Scheme + "://" + u.Host
	return c.defaults()
}

// moved reports whether the store may have been of another BaseURL.
func (c *Config) moved(former string) bool {
	return c.Moved || (c.Mode == Sandbox && local(former) && local(c.BaseURL))
}

// local reports whether a URL is of the loopback interface.
func local(base string) bool {
	u, err := url.Parse(base)
	return err == nil && loopback(u.Hostname())
}

func (c *Config) defaults() error {
	if c.Wrapper == nil {
		fixed, err := sandboxWrapper()
		if err != nil {
			return fmt.Errorf("server: %w", err)
		}
		c.Wrapper = fixed
	}
	if c.Clock == nil {
		c.Clock = &clock.Movable{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Telemetry.Logs(c.Logger)
	c.AnonymousPerSecond = cmp.Or(c.AnonymousPerSecond, c.RequestsPerSecond)
	switch c.DocsURL {
	case "":
		c.DocsURL = defaultDocsURL
	case "-":
		c.DocsURL = ""
	}
	return nil
}

// receivers tells which addresses webhooks may be sent to; nil: those of the public
// internet. A sandbox on somebody's own machine may send to receivers there. One
// that others reach may not: anybody can have an account there.
func (c *Config) receivers() func(netip.Addr) bool {
	u, err := url.Parse(c.BaseURL)
	if err == nil && c.Mode == Sandbox && loopback(u.Hostname()) {
		return func(netip.Addr) bool { return true }
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// sandboxWrapper is the default wrapper of the sandbox.
func sandboxWrapper() (*vault.Local, error) {
	return vault.NewLocal([]byte("sandbox key, which seals nothing")) // 32 bytes
}
