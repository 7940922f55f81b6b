package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults and bounds of [Config].
const (
	defaultMaxRetries = 3
	maxMaxRetries     = 10
	defaultTimeout    = 30 * time.Second
)

// Config says which service to call, and as whom. Printed, logged or marshalled,
// it does not show the API key; only in an unexported field of a struct of yours
// would fmt look past its methods.
type Config struct {
	// BaseURL is the address of the service, without /v1: https, or http to a
	// loopback address. Required.
	BaseURL string
	// MerchantID is sent with every call. Required.
	MerchantID string
	// APIKey is sent with every call, and to BaseURL alone. Required.
	APIKey string
	// TestHelperKey is sent with calls of a sandbox's test helpers, if the sandbox
	// requires one. Default: none.
	TestHelperKey string
	// HTTPClient sends the requests; a copy of it is used that follows no
	// redirect. Default: the settings of http.DefaultTransport, with more idle
	// connections and shorter answer headers allowed.
	HTTPClient *http.Client
	// Logger gets one debug line an attempt: route, status, duration, request
	// id; never a token, path or key. Default: none.
	Logger *slog.Logger
	// UserAgent goes before the package's own. Default: "paywarrant-go/" and [Version] alone.
	UserAgent string
	// MaxRetries is how often a call is sent again, where that is safe: up to 10.
	// Waiting for a charge that is still running (409) is not counted, but by a
	// bound of its own: about half a minute.
	// Default (0): 3. Negative: never.
	MaxRetries int
	// Timeout bounds one attempt, from dialling to the last byte of the answer.
	// A call takes MaxRetries+1 attempts and the pauses between them at most, and
	// ends with its ctx. Default (0): 30 s, three times the longest charge.
	Timeout time.Duration
}

// validate names the field that is wrong; it never shows a value, since a key
// may have landed in the wrong field.
func (c Config) validate() error {
	if err := validateBaseURL(c.BaseURL); err != nil {
		return fmt.Errorf("client: Config.BaseURL: %w", err)
	}
	if err := validateCredential(c.MerchantID); err != nil {
		return fmt.Errorf("client: Config.MerchantID: %w", err)
	}
	if err := validateCredential(c.APIKey); err != nil {
		return fmt.Errorf("client: Config.APIKey: %w", err)
	}
	if !printable(c.TestHelperKey) {
		return errors.New("client: Config.TestHelperKey: has characters that no header may carry")
	}
	if !printable(c.UserAgent) {
		return errors.New("client: Config.UserAgent: has characters that no header may carry")
	}
	if c.MaxRetries > maxMaxRetries {
		return fmt.Errorf("client: Config.MaxRetries: is over %d", maxMaxRetries)
	}
	if c.Timeout < 0 {
		return errors.New("client: Config.Timeout: is negative")
	}
	return nil
}

func validateBaseURL(s string) error {
	if s == "" {
		return errors.New("is required")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("is not a URL") // err shows the value, which may hold a password
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return errors.New("is not an absolute http or https URL")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("must be https: http would show the API key to the network")
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return errors.New("must have no user, query or fragment")
	}
	return nil
}

func validateCredential(s string) error {
	switch {
	case s == "":
		return errors.New("is required")
	case strings.Contains(s, " ") || !printable(s):
		return errors.New("has spaces, or characters that no header may carry")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// printable tells whether s is printable ASCII.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// String shows which service and merchant, and hides the API key.
func (c Config) String() string {
	return fmt.Sprintf("client.Config{BaseURL:%q MerchantID:%q APIKey:%s}", c.shownURL(), c.MerchantID, redacted)
}

// Format makes every verb print what String does.
func (c Config) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue shows which service and merchant, and hides the API key.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("base_url", c.shownURL()),
		slog.String("merchant_id", c.MerchantID),
		slog.String("api_key", redacted),
	)
}

// MarshalJSON shows which service and merchant, and hides the API key. It returns no error.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"baseUrl": c.shownURL(), "merchantId": c.MerchantID, "apiKey": redacted})
}

// shownURL is the base URL without anything secret that it should not hold.
func (c Config) shownURL() string {
	if validateBaseURL(c.BaseURL) != nil {
		return "[invalid]"
	}
	return c.BaseURL
}
