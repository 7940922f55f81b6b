package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/x402"
)

// Service binds mandates to payments. A [*client.Client] is one.
type Service interface {
	// Balance returns what the mandate allows and what is left of the month.
	Balance(ctx context.Context, mandate string) (client.Balance, error)
	// CreatePresentation binds the mandate to one payment.
	CreatePresentation(ctx context.Context, mandate string, p client.PresentationParams) (client.Presentation, error)
}

// Wallet pays by signed transfers (EIP-3009), for x402 and the Payment scheme.
type Wallet interface {
	// Address is the account that pays.
	Address() string
	// Asset is the dollar token that the wallet pays with on a chain; false if
	// it has none there. Name, version and decimals are taken from here and never
	// from a challenge.
	Asset(chainID int64) (x402.Asset, bool)
	// SignTransfer signs an authorization for a token that Asset gave, and returns
	// the signature as "0x" and hexadecimal.
	SignTransfer(ctx context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error)
}

// Velocity bounds what is spent in a sliding window. What was sent and refused
// counts too: a seller's refusal is only its word.
type Velocity struct {
	// Window is how far back payments count. Required.
	Window time.Duration
	// MaxMicros is how much may be spent in it, in millionths of a US dollar.
	// Default: not bounded.
	MaxMicros int64
	// MaxPayments is how often may be paid in it. Default and most: 10,000.
	MaxPayments int
}

// Config says what an agent may spend, and how. However it is printed or logged,
// it shows no secret.
type Config struct {
	// MaxPriceMicros is the most that one request may cost, in millionths of a US
	// dollar. Required.
	MaxPriceMicros int64

	// Service and Mandate pay by mandate: its token or, for the merchant that
	// created it, its id. Both or neither. Default: not by mandate.
	Service Service
	Mandate string
	// BareMandateTo are origins that may be shown the mandate itself, each with
	// the wallet that it must ask to pay. The service takes it only if the
	// mandate names that wallet's merchant. Default: none.
	BareMandateTo map[string]string
	// BundleTokens are tokens of credit bundles, by the origin that takes them.
	// Default: none.
	BundleTokens map[string]string
	// Wallet pays by x402 and the Payment scheme. Default: not.
	Wallet Wallet
	// Ways are those that may be used. Default: every way that is configured.
	Ways []Way

	// BudgetMicros is the most that may be spent in all, in millionths of a US
	// dollar, as long as the transport lives. What was sent and refused counts.
	// Default: not bounded.
	BudgetMicros int64
	// Velocities bound what is spent in a time. Default: not bounded.
	Velocities []Velocity
	// Approve is called before a payment above ApproveAboveMicros is made, and with
	// 0 before every one, the credit of a bundle included: once a request, after
	// every limit was checked. An error stops the payment. What it approved covers
	// other ways to pay the same payee no more. Default: every payment is approved.
	Approve            func(ctx context.Context, p Purchase) error
	ApproveAboveMicros int64
	// OnPaid is called once for each payment that a seller confirms, with the
	// address asked, without query, also if the answer is lost later. Default: none.
	OnPaid func(ctx context.Context, url string, r Receipt)

	// Base sends requests. Default: a transport like http.DefaultTransport, which
	// dials with DialContext and is not shared.
	Base http.RoundTripper
	// WrapTransport wraps Base or its default, for tracing and metrics. It sees
	// credentials. Default: none.
	WrapTransport func(base http.RoundTripper) http.RoundTripper
	// DialContext connects, if Base is not set. Default: a plain dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// AllowPrivate lets a [Client] reach addresses that are not of the public
	// internet, such as loopback in development. Without it addresses are judged
	// when they are dialed, at every redirect; there is no proxy, and Base and
	// DialContext cannot be set. [NewTransport] ignores it. Default: public only.
	AllowPrivate bool
	// MaxWait is the longest Retry-After after which a paid request is sent again by
	// itself. Default: 5 s; negative: never.
	MaxWait time.Duration
	// Logger records what was paid and what was not, never a credential. Default: none.
	Logger *slog.Logger
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// dialTimeout bounds connecting, if only public addresses are dialed.
const dialTimeout = 10 * time.Second

// publicOnly returns a configuration that reaches public addresses only.
func (c Config) publicOnly() (Config, error) {
	if c.AllowPrivate {
		return c, nil
	}
	if c.Base != nil {
		return c, errors.New("agent: Base: cannot be restricted to public addresses: set AllowPrivate, or WrapTransport instead of Base")
	}
	if c.DialContext != nil {
		return c, errors.New("agent: DialContext: cannot be restricted to public addresses: set AllowPrivate")
	}
	dialer := ssrf.Dialer(dialTimeout)
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if errors.Is(err, ssrf.ErrForbidden) {
			err = fmt.Errorf("%w: agent.Config.AllowPrivate permits it", err)
		}
		return conn, err
	}
	return c, nil
}

// DefaultMaxWait is the default of [Config.MaxWait].
const DefaultMaxWait = 5 * time.Second

// validate returns an error that names the invalid field.
func (c Config) validate() error {
	wrong := func(field, want string) error { return fmt.Errorf("agent: %s: %s", field, want) }
	switch {
	case c.MaxPriceMicros <= 0:
		return wrong("MaxPriceMicros", "is required")
	case (c.Service == nil) != (c.Mandate == ""):
		return wrong("Service, Mandate", "go together")
	case len(c.BareMandateTo) > 0 && !strings.HasPrefix(c.Mandate, "dtok_"):
		return wrong("BareMandateTo", "needs the token of the mandate, not its id")
	case c.BudgetMicros < 0:
		return wrong("BudgetMicros", "is negative")
	case c.ApproveAboveMicros < 0:
		return wrong("ApproveAboveMicros", "is negative")
	case !headerText(c.Mandate):
		return wrong("Mandate", "has characters that no token has")
	}
	for _, way := range c.Ways {
		if !slices.Contains(allWays(), way) {
			return wrong("Ways", fmt.Sprintf("%q is none", string(way)))
		}
	}
	for i, v := range c.Velocities {
		if v.Window <= 0 || v.MaxMicros < 0 || v.MaxPayments < 0 || v.MaxPayments > maxVelocity {
			return wrong(fmt.Sprintf("Velocities[%d]", i), "want a positive window and limits from 0 on")
		}
	}
	for at, token := range c.BundleTokens {
		if err := checkOrigin(at); err != nil {
			return fmt.Errorf("agent: BundleTokens: %w", err)
		}
		if token == "" || !headerText(token) {
			return wrong("BundleTokens", "the token for "+at+" is malformed")
		}
	}
	for at, payTo := range c.BareMandateTo {
		if err := checkOrigin(at); err != nil {
			return fmt.Errorf("agent: BareMandateTo: %w", err)
		}
		if _, err := x402.ParseAddress(payTo); err != nil {
			return fmt.Errorf("agent: BareMandateTo: %w", err)
		}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Base == nil {
		base := &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: c.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 100,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 256 << 10,
		}
		if c.DialContext != nil {
			base.Proxy = nil // a proxy would be dialled instead, and go anywhere
		}
		c.Base = base
	}
	if c.MaxWait == 0 {
		c.MaxWait = DefaultMaxWait
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// Format shows the limits and hides every secret, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "agent.Config{MaxPriceMicros: %d, Mandate: %s, BundleTokens: %d}", c.MaxPriceMicros, hidden(c.Mandate), len(c.BundleTokens))
}

// LogValue shows the limits and hides every secret.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int64("max_price_micros", c.MaxPriceMicros), slog.String("mandate", hidden(c.Mandate)), slog.Int("bundle_tokens", len(c.BundleTokens)))
}

func hidden(secret string) string {
	if secret == "" {
		return "none"
	}
	return "[redacted]"
}

// checkOrigin takes scheme and host, and nothing after them.
func checkOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || origin(u) != s {
		return errors.New("want origins, such as https://api.example.com")
	}
	return nil
}

// origin is scheme and host, lower case, without the scheme's own port.
func origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}

// secure reports whether a credential may be sent to u.
func secure(u *url.URL) bool {
	return u.Scheme == "https" || (u.Scheme == "http" && loopback.Host(u.Hostname()))
}

// headerText reports whether s can be sent in a header as it is.
func headerText(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
