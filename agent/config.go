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

// Service binds mandates to payments. [*client.Client] implements it.
type Service interface {
	// Balance returns what the mandate allows and what is left of the month.
	Balance(ctx context.Context, mandate string) (client.Balance, error)
	// CreatePresentation binds the mandate to one payment.
	CreatePresentation(ctx context.Context, mandate string, p client.PresentationParams) (client.Presentation, error)
}

// Wallet pays with signed transfers (EIP-3009), for x402 and the Payment scheme.
type Wallet interface {
	// Address returns the account that pays.
	Address() string
	// Asset returns the dollar token that the wallet pays with on a chain, and false if
	// it has none there. The token's name, version and decimals are taken from this
	// asset, never from a challenge.
	Asset(chainID int64) (x402.Asset, bool)
	// SignTransfer signs an authorization for a token that Asset returned, and returns
	// the signature as "0x" and hexadecimal digits.
	SignTransfer(ctx context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error)
}

// VelocityLimit limits what is spent in a sliding window. Payments that were sent and
// refused count as well, because a refusal is only the seller's claim.
type VelocityLimit struct {
	// Window is the length of the window. Required.
	Window time.Duration
	// MaxMicros limits the sum of the payments in the window, in millionths of a US
	// dollar. Default: no limit.
	MaxMicros int64
	// MaxPayments limits the number of payments in the window. Default and maximum: 10,000.
	MaxPayments int
}

// Config sets what an agent may spend, and how. Printed or logged, it hides all secrets.
type Config struct {
	// MaxPriceMicros limits the price of one request, in millionths of a US dollar. Required.
	MaxPriceMicros int64

	// ServiceURL is the address of the service that issued Mandate, without /v1. Required
	// with Token.
	ServiceURL string
	// Token is the agent's access token (token_…) with the scope pay, best bound to Mandate.
	// With the scope balance, the agent refuses early what the mandate's limits would
	// refuse. It is sent only to ServiceURL. Default: the agent does not pay by mandate,
	// unless Service is set.
	Token string
	// Mandate pays sellers that take mandates, and by x402 and the Payment scheme those that
	// do not know the service, if Wallet cannot: its token, or its id (del_…) if Token is of
	// the merchant that created it. Required with Token and with Service.
	Mandate string
	// Service binds the mandate to payments, in place of ServiceURL and Token. Default: a
	// client with Token.
	Service Service
	// BareMandateTo maps origins that may receive the mandate itself to the wallet
	// address that each must name as payee. The service accepts such a payment only if
	// the mandate lists that wallet's merchant. Default: none.
	BareMandateTo map[string]string
	// BundleTokens maps origins to the tokens of credit bundles that they accept.
	// Default: none.
	BundleTokens map[string]string
	// Wallet pays by x402 and the Payment scheme. Default: the agent does not.
	Wallet Wallet
	// Methods limits the payment methods. Default: every method that is configured.
	Methods []Method

	// BudgetMicros limits the sum of all payments of the transport, in millionths of a
	// US dollar. Payments that were sent and refused count. Default: no limit.
	BudgetMicros int64
	// VelocityLimits limit what is spent in a period. Default: no limit.
	VelocityLimits []VelocityLimit
	// Approve is called before a payment above ApproveAboveMicros, after every limit was
	// checked, and at most once per request. If it returns an error, nothing is paid. An
	// approval also covers other methods to pay the same payee no more than the approved
	// price. Default: every payment is approved.
	Approve func(ctx context.Context, p Purchase) error
	// ApproveAboveMicros is the price up to which Approve is not called, in millionths
	// of a US dollar. Default (0): Approve is called for every payment, including the
	// credit of a bundle.
	ApproveAboveMicros int64
	// OnPaid is called once for each payment that a seller confirms, with the requested
	// URL without its query, even if the response is lost later. Default: none.
	OnPaid func(ctx context.Context, url string, r Receipt)

	// Journal records purchases and what they cost, so that an agent that is killed neither
	// pays twice nor loses a payment. BudgetMicros and VelocityLimits then count all that the
	// journal has recorded, by every process that shares it. Package agent/journal has one
	// in a file and one in an SQL database. Default: memory alone, until the process ends.
	Journal Journal

	// Base sends requests. Default: a transport with the settings of
	// http.DefaultTransport that connects with DialContext.
	Base http.RoundTripper
	// WrapTransport wraps Base or its default, for tracing and metrics. The wrapper sees
	// credentials. Default: none.
	WrapTransport func(base http.RoundTripper) http.RoundTripper
	// DialContext opens connections if Base is nil. Default: a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// AllowPrivate lets a [Client] connect to addresses that are not public, such as
	// loopback in development. Without it, every address is checked when it is dialed,
	// also after redirects; no proxy is used, and Base and DialContext must be nil.
	// [NewTransport] ignores it. Default: public addresses only.
	AllowPrivate bool
	// MaxWait is the longest Retry-After after which a paid request is repeated
	// automatically. Default: 5 s. Negative: it is never repeated.
	MaxWait time.Duration
	// Logger records payments and refused payments, never a credential. Default: none.
	Logger *slog.Logger
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// dialTimeout limits connecting to public addresses.
const dialTimeout = 10 * time.Second

// publicOnly returns the configuration restricted to public addresses, unless
// AllowPrivate is set.
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

// validate checks the fields. The returned error names the invalid one.
func (c Config) validate() error {
	wrong := func(field, want string) error { return fmt.Errorf("agent: %s: %s", field, want) }
	switch {
	case c.MaxPriceMicros <= 0:
		return wrong("MaxPriceMicros", "is required")
	case (c.ServiceURL == "") != (c.Token == ""):
		return wrong("ServiceURL, Token", "go together")
	case c.Token != "" && c.Service != nil:
		return wrong("Token", "cannot be used with Service")
	case (c.Service == nil && c.Token == "") != (c.Mandate == ""):
		return wrong("Token, Mandate", "go together; Service can take the place of Token")
	case len(c.BareMandateTo) > 0 && !strings.HasPrefix(c.Mandate, "dtok_"):
		return wrong("BareMandateTo", "needs the token of the mandate, not its id")
	case c.BudgetMicros < 0:
		return wrong("BudgetMicros", "is negative")
	case c.ApproveAboveMicros < 0:
		return wrong("ApproveAboveMicros", "is negative")
	case !headerText(c.Mandate):
		return wrong("Mandate", "has characters that no token has")
	}
	for _, method := range c.Methods {
		if !slices.Contains(allMethods(), method) {
			return wrong("Methods", fmt.Sprintf("%q is not a payment method", string(method)))
		}
	}
	for i, v := range c.VelocityLimits {
		if v.Window <= 0 || v.MaxMicros < 0 || v.MaxPayments < 0 || v.MaxPayments > maxVelocityPayments {
			return wrong(fmt.Sprintf("VelocityLimits[%d]", i), "needs a positive Window and limits that are not negative")
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

// withService returns the configuration with a Service that uses Token, if it is set.
func (c Config) withService() (Config, error) {
	if c.Token == "" {
		return c, nil
	}
	service, err := client.New(client.Config{BaseURL: c.ServiceURL, AccessToken: c.Token})
	if err != nil {
		field := strings.NewReplacer("client: BaseURL", "agent: ServiceURL", "client: AccessToken", "agent: Token")
		return c, errors.New(field.Replace(err.Error()))
	}
	c.Service = service
	return c, nil
}

func (c Config) withDefaults() Config {
	if c.Base == nil {
		base := &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: c.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 100,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 256 << 10,
		}
		if c.DialContext != nil {
			base.Proxy = nil // the dialer would only check the proxy's address
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

// Format prints the limits and hides all secrets, for every verb.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "agent.Config{MaxPriceMicros: %d, Token: %s, Mandate: %s, BundleTokens: %d}", c.MaxPriceMicros, hidden(c.Token), hidden(c.Mandate), len(c.BundleTokens))
}

// LogValue returns the limits and hides all secrets.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int64("max_price_micros", c.MaxPriceMicros), slog.String("token", hidden(c.Token)), slog.String("mandate", hidden(c.Mandate)), slog.Int("bundle_tokens", len(c.BundleTokens)))
}

func hidden(secret string) string {
	if secret == "" {
		return "none"
	}
	return "[redacted]"
}

// checkOrigin accepts scheme and host with nothing after them.
func checkOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || Origin(u) != s {
		return errors.New("want origins, such as https://api.example.com")
	}
	return nil
}

// Origin returns the origin of a URL as [Config].BundleTokens spells it: scheme and host in
// lower case, without the scheme's default port.
func Origin(u *url.URL) string {
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

// headerText reports whether s can be sent in a header unchanged.
func headerText(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
