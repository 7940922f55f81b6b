package paywall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

// Clock tells the time. Tests move it.
type Clock interface{ Now() time.Time }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Defaults of [Config].
const (
	DefaultMaxTimeout = 60 * time.Second
	DefaultTimeout    = 20 * time.Second
	DefaultMimeType   = "application/json"
)

// Addresses of external facilitators, in live and in test mode.
const (
	DefaultExternalFacilitator     = "https://api.cdp.coinbase.com/platform/v2/x402"
	DefaultExternalFacilitatorTest = "https://x402.org/facilitator"
)

// Config says what is sold, to whom the money goes, and who settles. However it
// is printed or logged, it shows no secret.
type Config struct {
	// Price of one request in USDC, a decimal with at most six decimals: "0.01".
	// Required, unless PriceFunc is set.
	Price string
	// PriceFunc gives the price of a request, as Price; "" takes Price. An error
	// answers 500. It must answer the same for the request that pays as for the
	// one that asked. Default: Price for every request.
	PriceFunc func(*http.Request) (string, error)
	// PayTo is the wallet that is paid, EIP-55 checksummed. Required.
	PayTo string
	// TestMode uses the test network, Base Sepolia instead of Base, and allows
	// http for loopback addresses. Default: false.
	TestMode bool
	// APIURL is the service, without /v1. It settles, and issues mandates. Required.
	APIURL string
	// Resource is the full URL of what is sold, as its clients call it, without
	// query: they refuse to pay for another, and directories list it by this. Required.
	Resource string
	// MimeType of the answer. Default: application/json.
	MimeType string
	// MaxTimeout is how long a challenge can be paid, in whole seconds. Default: 60 s.
	MaxTimeout time.Duration
	// CreditBundle sells and takes prepaid requests. Default: none.
	CreditBundle *CreditBundle
	// Discovery describes the endpoint to directories. Default: not described.
	Discovery *Discovery

	// Secrets bind challenges of the Payment scheme: the first signs, all verify,
	// so that they can be rotated. At least 16 bytes each, the same on all
	// instances. Default: one made up, which ends with the process.
	Secrets []string

	// Network is another chain than that of the mode: "eip155:31337". Default: by TestMode.
	Network string
	// Asset is another token than USDC of the network. Default: USDC where it is
	// known, else required.
	Asset *Asset

	// Facilitator settles x402 version 1 and the Payment scheme: the address that
	// /settle comes after. Default: the service's, APIURL + "/v1/x402".
	Facilitator string
	// ExternalFacilitator verifies and settles x402 version 2. Default: by
	// TestMode [DefaultExternalFacilitator] or [DefaultExternalFacilitatorTest];
	// for other networks, and where APIURL is a loopback address, Facilitator.
	ExternalFacilitator string
	// FacilitatorKeyID (UUID) and FacilitatorSecret (base64 of 64 bytes) sign the
	// calls to ExternalFacilitator; without them it writes no catalog entry.
	// Default: unsigned.
	FacilitatorKeyID, FacilitatorSecret string
	// Merchant is sent to the service with every settlement. Default: the service
	// knows the merchant by PayTo.
	Merchant Merchant
	// Settler settles in another way than by calls to the service. It replaces
	// Facilitator and the mandate settlement. Where the service is embedded in the
	// same program, its Transport in HTTPClient is all that is needed, and nothing
	// goes over a network. Default: the service over HTTP.
	Settler Settler

	// Redemptions remembers what was redeemed; several instances share an [SQL].
	// Default: memory of this process, for [DefaultMaxRedemptions] credentials.
	Redemptions Redemptions
	// Page writes the page that browsers get with a 402. Default: a plain one.
	Page func(w io.Writer, p PageData) error
	// NoPage answers browsers with JSON like everybody else.
	NoPage bool

	// Timeout bounds one call to the service or a facilitator. Default: 20 s.
	Timeout time.Duration
	// HTTPClient calls them; a copy is used that follows no redirect. Default:
	// http.DefaultTransport with more idle connections a host.
	HTTPClient *http.Client
	// Logger gets what was refused and why, never a credential. Default: none.
	Logger *slog.Logger
	// Clock tells the time. Default: the system's.
	Clock Clock
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
	// PurchaseURL sells them, BalanceURL tells what is left of one.
	PurchaseURL, BalanceURL string
	// ValidateAndDeduct checks a token and takes one credit, atomically. An error
	// says that this cannot be decided now, and answers 503. Required.
	ValidateAndDeduct func(ctx context.Context, token string) (BundleResult, error)
	// GiveBack returns the credit of a request that was not served. Default: it is not.
	GiveBack func(ctx context.Context, token string) error
}

// Tier is one size of bundle; see [x402.Tier].
type Tier = x402.Tier

// BundleResult is what became of a bundle token.
type BundleResult struct {
	// Valid tells that a credit was taken.
	Valid bool
	// CreditsRemaining are left.
	CreditsRemaining int64
	// TenantID is the merchant's own name for whose token it is.
	TenantID string
}

// withDefaults fills in what was left out.
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
	if c.Clock == nil {
		c.Clock = systemClock{}
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
	if c.Facilitator != "" {
		if err := checkURL(c.Facilitator, c.TestMode, false); err != nil {
			return field("Facilitator", err)
		}
	}
	if c.ExternalFacilitator != "" {
		if err := checkURL(c.ExternalFacilitator, c.TestMode, false); err != nil {
			return field("ExternalFacilitator", err)
		}
	}
	if (c.Merchant.ID == "") != (c.Merchant.APIKey == "") {
		return field("Merchant", errors.New("want both ID and APIKey, or neither"))
	}
	if c.Timeout < 0 {
		return field("Timeout", errors.New("is negative"))
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
