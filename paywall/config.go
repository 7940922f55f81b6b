package paywall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/x402"
)

// Defaults of [Config].
const (
	DefaultMaxTimeout = 60 * time.Second
	DefaultTimeout    = 20 * time.Second
	// DefaultUnprovenPerSecond is the default of [Config.UnprovenPerSecond].
	DefaultUnprovenPerSecond = 10
	DefaultMimeType          = "application/json"
)

// Addresses of external facilitators, in live and in test mode.
const (
	DefaultExternalFacilitator     = "https://api.cdp.coinbase.com/platform/v2/x402"
	DefaultExternalFacilitatorTest = "https://x402.org/facilitator"
)

// Config describes what is sold, who is paid, and who settles. However it is
// printed or logged, it shows no secret.
type Config struct {
	// Price of one request in USDC, a decimal with at most six decimals: "0.01".
	// Required, unless PriceFunc is set.
	Price string
	// PriceFunc returns the price of a request, as Price; "" means Price. If it
	// returns an error, the gate answers 500. It must return the same for the
	// request that pays as for the one that asked. Default: Price for every request.
	PriceFunc func(*http.Request) (string, error)
	// PayTo is the wallet that is paid, EIP-55 checksummed. Required, unless
	// PayToFunc is set.
	PayTo string
	// PayToFunc returns the wallet that a request pays, as PayTo; "" means PayTo.
	// The rules are those of PriceFunc. Default: PayTo for every request.
	PayToFunc func(*http.Request) (string, error)
	// TestMode uses the test network, Base Sepolia instead of Base, and allows
	// http for loopback addresses. Default: false.
	TestMode bool
	// APIURL is the service, without /v1. It settles payments and issues mandates.
	// Required.
	APIURL string

	// Resource is the absolute URL that clients request, without the query. Clients
	// reject a 402 that names a different URL, and directories list the endpoint
	// under it. It may be a pattern, "https://api.example.com/reports/{id}", which is
	// filled from the request; with Origin, a path is enough. Required, unless Origin
	// or ResourceFunc is set.
	Resource string
	// Origin is scheme and host of the API as its clients see it:
	// "https://api.example.com". Routes without a Resource sell the path that is
	// asked for under it. Default: none.
	Origin string
	// ResourceFunc returns the absolute URL that a request asks for. If it returns an
	// error, the gate answers 500. Default: Resource, or the path under Origin.
	ResourceFunc func(*http.Request) (string, error)
	// MimeType of the answer. Default: application/json.
	MimeType string
	// MaxTimeout is how long a challenge can be paid, in whole seconds. Default: 60 s.
	MaxTimeout time.Duration
	// CreditBundle sells and takes prepaid requests. Default: none.
	CreditBundle *CreditBundle
	// Discovery describes the endpoint to directories. Default: not described.
	Discovery *Discovery

	// Skip reports whether a request is served without payment: a subscriber's, or
	// one with an API key that the program has checked. Default: none is.
	Skip func(*http.Request) bool
	// Served reports whether an answer of the handler with this status is what was
	// paid for. If it is not, the payment stays unfulfilled, and the same credential
	// is let through again. Default: any below 400 except 304, and no answer to HEAD.
	Served func(status int) bool
	// OnPaid is called for each payment once it is settled, before the handler runs.
	// It should return at once. Default: none.
	OnPaid func(*http.Request, Payment)
	// OnRefused is called for each credential that is refused, before the answer. It
	// should return at once. Default: none.
	OnRefused func(*http.Request, Refusal)

	// Secrets bind challenges of the Payment scheme: the first signs, all verify,
	// so that they can be rotated. At least 16 bytes each, the same on all
	// instances. Default: a random secret that does not survive a restart.
	Secrets []string

	// Network is another chain than that of the mode: "eip155:31337". Default: by TestMode.
	Network string
	// Asset is another token than USDC of the network. Default: USDC if it is known
	// on the network, else required.
	Asset *Asset

	// Facilitator settles x402 and the Payment scheme: the URL that /verify and
	// /settle are below. Default: the service's, APIURL + "/v1/x402".
	Facilitator string
	// ExternalFacilitator verifies and settles x402 version 2 instead. It needs
	// FacilitatorKeyID and FacilitatorSecret, except at a loopback address. Default:
	// if these are set, [DefaultExternalFacilitator] on Base and
	// [DefaultExternalFacilitatorTest] on Base Sepolia; else Facilitator, which writes
	// no entry of an external catalog.
	ExternalFacilitator string
	// FacilitatorKeyID (UUID) and FacilitatorSecret (base64 of 64 bytes) sign the
	// calls to ExternalFacilitator. Default: none.
	FacilitatorKeyID, FacilitatorSecret string
	// Merchant is sent to the service with every settlement. Default: the service
	// finds the merchant by PayTo.
	Merchant Merchant
	// Settler settles in another way than by calls to the service. It replaces
	// Facilitator and the mandate settlement. If the service is embedded in the
	// same program, its Transport in HTTPClient is enough, and nothing goes over a
	// network. Default: the service over HTTP.
	Settler Settler

	// UnprovenPerSecond is how many signed transfers that turn out worthless one client
	// address may send each second, with a burst of ten times that; further ones are
	// answered 429 and the facilitator is not asked. Good transfers do not count, nor
	// do those of payers who paid from the same address within the last hour. An IPv6
	// address counts with its /64. Default: 10. Negative: no limit.
	UnprovenPerSecond int
	// TrustedProxies are the addresses of the proxies that forward requests. The
	// client's address is the last one in X-Forwarded-For or Forwarded that is none of
	// them; headers that others send do not count. Default: none, and the client is
	// whoever connects: behind a proxy, all clients then share one limit.
	TrustedProxies []netip.Prefix

	// Redemptions remembers what was redeemed; several instances share an [SQL].
	// Default: memory of this process, for [DefaultMaxRedemptions] credentials.
	Redemptions Redemptions
	// Page writes the page that browsers get with a 402, for each request. If it
	// returns an error, the answer is JSON. Default: a plain page.
	Page func(w io.Writer, r *http.Request, p PageData) error
	// NoPage answers browsers with JSON like everybody else.
	NoPage bool

	// Timeout bounds one call to the service or a facilitator. Default: 20 s.
	Timeout time.Duration
	// HTTPClient calls them; a copy is used that follows no redirect. Default:
	// http.DefaultTransport with more idle connections per host, which
	// [Gate.CloseIdleConnections] closes.
	HTTPClient *http.Client
	// Logger gets what was refused and why, never a credential. Default: none.
	Logger *slog.Logger
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Asset is a token with EIP-3009; see [x402.Asset].
type Asset struct {
	// Address of the token contract, EIP-55 checksummed.
	Address string
	// Name and Version of its EIP-712 domain.
	Name, Version string
	// Decimals of one token, 6 to 18. Default: 6.
	Decimals int
}

// Merchant is an account of the service.
type Merchant struct{ ID, APIKey string }

// CreditBundle sells requests in advance. Its tokens are the merchant's own.
type CreditBundle struct {
	// Tiers that can be bought.
	Tiers []Tier
	// PurchaseURL sells them, BalanceURL reports what is left of one.
	PurchaseURL, BalanceURL string
	// ValidateAndDeduct checks a token and takes one credit, atomically. If it
	// returns an error, the outcome is not known and the gate answers 503. Required.
	ValidateAndDeduct func(ctx context.Context, token string) (BundleResult, error)
	// Refund returns the credit of a request that was not served. Default: none is
	// returned.
	Refund func(ctx context.Context, token string) error
}

// Tier is one size of bundle; see [x402.Tier].
type Tier = x402.Tier

// BundleResult is the outcome of [CreditBundle.ValidateAndDeduct].
type BundleResult struct {
	// Valid reports that a credit was taken.
	Valid bool
	// CreditsRemaining are left.
	CreditsRemaining int64
	// TenantID is the merchant's own name for the owner of the token.
	TenantID string
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	if c.MimeType == "" {
		c.MimeType = DefaultMimeType
	}
	if c.MaxTimeout == 0 {
		c.MaxTimeout = DefaultMaxTimeout
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.UnprovenPerSecond == 0 {
		c.UnprovenPerSecond = DefaultUnprovenPerSecond
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Transport: newTransport()}
	}
	if c.Redemptions == nil {
		c.Redemptions = NewMemory(MemoryConfig{Clock: c.Clock})
	}
	if c.Network == "" {
		c.Network = x402.NetworkBase
		if c.TestMode {
			c.Network = x402.NetworkBaseSepolia
		}
	}
	return c
}

// newTransport keeps more connections to one host than the default: all calls go to two.
func newTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// validate names the first field that is wrong, beyond those of the route.
func (c Config) validate() error {
	if err := checkURL(c.APIURL, c.TestMode, false); err != nil {
		return field("APIURL", err)
	}
	if c.Origin != "" {
		if err := checkURL(c.Origin, c.TestMode, false); err != nil {
			return field("Origin", err)
		}
		if c.Origin != origin(c.Origin) {
			return field("Origin", errors.New("want scheme and host alone"))
		}
	}
	if c.Facilitator != "" {
		if err := checkURL(c.Facilitator, c.TestMode, false); err != nil {
			return field("Facilitator", err)
		}
	}
	if c.ExternalFacilitator != "" {
		if err := checkURL(c.ExternalFacilitator, c.TestMode, false); err != nil {
			return field("ExternalFacilitator", err)
		}
		if c.FacilitatorKeyID == "" && !loopback.Host(host(c.ExternalFacilitator)) {
			return field("ExternalFacilitator", errors.New("needs FacilitatorKeyID and FacilitatorSecret: external facilitators refuse unsigned calls"))
		}
	}
	if (c.FacilitatorKeyID == "") != (c.FacilitatorSecret == "") {
		return field("FacilitatorKeyID", errors.New("want both FacilitatorKeyID and FacilitatorSecret, or neither"))
	}
	if (c.Merchant.ID == "") != (c.Merchant.APIKey == "") {
		return field("Merchant", errors.New("want both ID and APIKey, or neither"))
	}
	if c.Timeout < 0 {
		return field("Timeout", errors.New("is negative"))
	}
	if slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return !p.IsValid() }) {
		return field("TrustedProxies", errors.New("has an invalid prefix"))
	}
	if c.Page != nil && c.NoPage {
		return field("NoPage", errors.New("is set together with Page"))
	}
	return c.validateBundle()
}

func (c Config) validateBundle() error {
	b := c.CreditBundle
	if b == nil {
		return nil
	}
	if b.ValidateAndDeduct == nil {
		return field("CreditBundle.ValidateAndDeduct", errors.New("is required"))
	}
	if err := checkURL(b.PurchaseURL, c.TestMode, true); err != nil {
		return field("CreditBundle.PurchaseURL", err)
	}
	if b.BalanceURL != "" {
		if err := checkURL(b.BalanceURL, c.TestMode, true); err != nil {
			return field("CreditBundle.BalanceURL", err)
		}
	}
	if len(b.Tiers) == 0 {
		return field("CreditBundle.Tiers", errors.New("is empty"))
	}
	for i, t := range b.Tiers {
		if t.Name == "" || t.USDCents <= 0 || t.Requests <= 0 {
			return field(fmt.Sprintf("CreditBundle.Tiers[%d]", i), errors.New("want a name, a price and a number of requests"))
		}
	}
	return nil
}

// field names what is wrong in the configuration.
func field(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		name, err = name+"."+inner.name, inner.err
	}
	return &fieldError{name, err}
}

type fieldError struct {
	name string
	err  error
}

func (e *fieldError) Error() string { return "paywall: " + e.name + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

// Format shows what is sold and hides every secret, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "paywall.Config{Price:%q PayTo:%q Resource:%q APIURL:%q TestMode:%t}", c.Price, c.PayTo, c.Resource, c.APIURL, c.TestMode)
}

// LogValue shows what is sold and hides every secret.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("price", c.Price), slog.String("pay_to", c.PayTo), slog.String("resource", c.Resource),
		slog.String("api_url", c.APIURL), slog.Bool("test_mode", c.TestMode),
	)
}

// Format shows the id and hides the key, whatever the verb.
func (m Merchant) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "paywall.Merchant{ID:%q APIKey:[redacted]}", m.ID)
}

// LogValue shows the id and hides the key.
func (m Merchant) LogValue() slog.Value { return slog.StringValue(m.ID) }
