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
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/x402"
)

// Service binds mandates to payments. A [*client.Client] is one.
type Service interface {
	// Balance tells what the mandate allows and what is left of the month.
	Balance(ctx context.Context, mandate string) (client.Balance, error)
	// CreatePresentation binds the mandate to one payment.
	CreatePresentation(ctx context.Context, mandate string, p client.PresentationParams) (client.Presentation, error)
}

// Wallet pays by signed transfers (EIP-3009), for x402 and the Payment scheme.
type Wallet interface {
	// Address is the account that pays.
	Address() string
	// Asset is the dollar token that the wallet pays with on a chain; false where
	// it has none there. Name, version and decimals are taken from here and never
	// from a challenge.
	Asset(chainID int64) (x402.Asset, bool)
	// SignTransfer signs an authorization for a token that Asset gave, and returns
	// the signature as "0x" and hexadecimal.
	SignTransfer(ctx context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error)
}

// Clock tells the time. Tests move it.
type Clock interface{ Now() time.Time }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

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
	// the wallet that it must ask to pay. The service takes it only where the
	// mandate names that wallet's merchant. Default: none.
	BareMandateTo map[string]string
	// BundleTokens are tokens of credit bundles, by the origin that takes them.
	// Default: none.
	BundleTokens map[string]string
	// Wallet pays by x402 and the Payment scheme. Default: not.
	Wallet Wallet
	// Ways are those that may be used. Default: every way that is configured.
	Ways []Way

	// Velocities bound what is spent in a time. Default: not bounded.
	Velocities []Velocity
	// Approve is asked before a payment above ApproveAboveMicros is made, and with
	// 0 before every one, the credit of a bundle included; an error stops it.
	// Default: nobody is asked.
	Approve            func(ctx context.Context, p Purchase) error
	ApproveAboveMicros int64

	// Base sends requests, through redirects as well where the agent's own client
	// follows them. Default: one like http.DefaultTransport, which dials with
	// DialContext and is not shared.
	Base http.RoundTripper
	// PublicOnly refuses to connect to addresses that are not of the public
	// internet, judged after the name was resolved and at every redirect, and uses
	// no proxy. Programs that fetch what a model asks for need it; it excludes Base
	// and DialContext. Default: loopback and private addresses are reached.
	PublicOnly bool
	// DialContext connects, where Base is not set. Default: a plain dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxWait is the longest Retry-After that is waited for before a paid request
	// is sent again. Default: 5 s; negative: never.
	MaxWait time.Duration
	// Logger gets what was paid and what was not, never a credential. Default: none.
	Logger *slog.Logger
	// Clock tells the time. Default: the system's.
	Clock Clock
}

// dialTimeout is how long connecting may take, where only public addresses are dialled.
const dialTimeout = 10 * time.Second

// DefaultMaxWait is the default of [Config.MaxWait].
const DefaultMaxWait = 5 * time.Second

// validate names the field that is wrong.
func (c Config) validate() error {
	wrong := func(field, want string) error { return fmt.Errorf("agent: %s: %s", field, want) }
	switch {
	case c.MaxPriceMicros <= 0:
		return wrong("MaxPriceMicros", "is required")
	case (c.Service == nil) != (c.Mandate == ""):
		return wrong("Service, Mandate", "go together")
	case len(c.BareMandateTo) > 0 && !strings.HasPrefix(c.Mandate, "dtok_"):
		return wrong("BareMandateTo", "needs the token of the mandate, not its id")
	case c.PublicOnly && (c.Base != nil || c.DialContext != nil):
		return wrong("PublicOnly", "excludes Base and DialContext")
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
	if c.PublicOnly {
		c.DialContext = ssrf.Dialer(dialTimeout).DialContext
	}
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
		c.Clock = systemClock{}
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

// secure tells whether a credential may be sent there.
func secure(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return u.Scheme == "http" && (host == "localhost" || (ip != nil && ip.IsLoopback()))
}

// headerText tells whether s can be sent in a header as it is.
func headerText(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
