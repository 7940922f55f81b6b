package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

// Defaults and limits of [Config].
const (
	defaultMaxRetries = 3
	maxMaxRetries     = 10
	defaultTimeout    = 30 * time.Second
)

// Config selects the service and the credentials: a merchant's API key, or an agent's access
// token. A Config that is printed, logged or marshaled hides both. The exception is a Config in an unexported
// struct field, because fmt does not call the methods of unexported fields.
type Config struct {
	// BaseURL is the address of the service without /v1: https, or http to a loopback
	// address. Required.
	BaseURL string
	// MerchantID identifies the merchant (mer_…). Required with APIKey.
	MerchantID string
	// APIKey is the merchant's secret (sk_…). It is sent only to BaseURL. Required without
	// AccessToken.
	APIKey string
	// AccessToken is an agent's secret (token_…), in place of MerchantID and APIKey. The
	// service permits what its scopes allow, and answers [ErrInsufficientScope] to
	// everything else. It is sent only to BaseURL. Default: none.
	AccessToken string
	// TestHelperKey is sent with calls of a sandbox's test helpers, if the sandbox
	// requires one. Default: none.
	TestHelperKey string
	// HTTPClient sends the requests. The client uses a copy that does not follow
	// redirects. Default: a client with the settings of http.DefaultTransport, but with
	// more idle connections and a lower limit for response headers.
	HTTPClient *http.Client
	// Logger receives one debug record per attempt: route, status, duration and
	// request id, never a token, path or key. Default: none.
	Logger *slog.Logger
	// UserAgent is put before the package's own User-Agent, "paywarrant-go/" and
	// [Version]. Default: none.
	UserAgent string
	// MaxRetries is the maximum number of retries of a call that is safe to repeat: up
	// to 10. Waiting for a charge that is still in progress (409) is not counted; it has
	// its own limit of about half a minute. Default (0): 3. Negative: no retries.
	MaxRetries int
	// Timeout limits one attempt, from dialing to the last byte of the response. A call
	// takes at most MaxRetries+1 attempts and the pauses between them, and ends when its
	// context is done. Default (0): 30 s, three times the longest charge.
	Timeout time.Duration
}

// validate checks the fields. The returned error names the invalid one but never contains the
// value, because a key may have been put in the wrong field.
func (c Config) validate() error {
	if err := validateBaseURL(c.BaseURL); err != nil {
		return fmt.Errorf("client: BaseURL: %w", err)
	}
	if err := c.validateCredentials(); err != nil {
		return err
	}
	if !printable(c.TestHelperKey) {
		return errors.New("client: TestHelperKey: contains characters that a header cannot carry")
	}
	if !printable(c.UserAgent) {
		return errors.New("client: UserAgent: contains characters that a header cannot carry")
	}
	if c.MaxRetries > maxMaxRetries {
		return fmt.Errorf("client: MaxRetries: must be at most %d", maxMaxRetries)
	}
	if c.Timeout < 0 {
		return errors.New("client: Timeout: must not be negative")
	}
	return nil
}

func (c Config) validateCredentials() error {
	if c.AccessToken != "" {
		switch err := validateCredential(c.AccessToken); {
		case err != nil:
			return fmt.Errorf("client: AccessToken: %w", err)
		case !strings.HasPrefix(c.AccessToken, "token_"):
			return errors.New("client: AccessToken: does not begin with token_")
		case c.APIKey != "" || c.MerchantID != "":
			return errors.New("client: AccessToken: cannot be used with MerchantID and APIKey")
		}
		return nil
	}
	if err := validateCredential(c.MerchantID); err != nil {
		return fmt.Errorf("client: MerchantID: %w", err)
	}
	if err := validateCredential(c.APIKey); err != nil {
		return fmt.Errorf("client: APIKey: %w", err)
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
		return errors.New("is not a URL") // err contains the value, which may hold a password
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return errors.New("is not an absolute http or https URL")
	case u.Scheme == "http" && !loopback.Host(u.Hostname()):
		return errors.New("must be https: http would reveal the credentials to the network")
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
		return errors.New("contains spaces, or characters that a header cannot carry")
	}
	return nil
}

// printable reports whether s is printable ASCII.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// String returns the service's address and the merchant, and hides the credentials.
func (c Config) String() string {
	if c.AccessToken != "" {
		return fmt.Sprintf("client.Config{BaseURL:%q AccessToken:%s}", c.shownURL(), redacted)
	}
	return fmt.Sprintf("client.Config{BaseURL:%q MerchantID:%q APIKey:%s}", c.shownURL(), c.MerchantID, redacted)
}

// Format prints what String returns, for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue returns the service's address and the merchant, and hides the credentials.
func (c Config) LogValue() slog.Value {
	if c.AccessToken != "" {
		return slog.GroupValue(slog.String("base_url", c.shownURL()), slog.String("access_token", redacted))
	}
	return slog.GroupValue(
		slog.String("base_url", c.shownURL()),
		slog.String("merchant_id", c.MerchantID),
		slog.String("api_key", redacted),
	)
}

// MarshalJSON returns the service's address and the merchant, and hides the credentials.
// The error is always nil.
func (c Config) MarshalJSON() ([]byte, error) {
	if c.AccessToken != "" {
		return json.Marshal(map[string]string{"baseUrl": c.shownURL(), "accessToken": redacted})
	}
	return json.Marshal(map[string]string{"baseUrl": c.shownURL(), "merchantId": c.MerchantID, "apiKey": redacted})
}

// shownURL returns the base URL if it is valid, since an invalid one may hold a secret.
func (c Config) shownURL() string {
	if validateBaseURL(c.BaseURL) != nil {
		return "[invalid]"
	}
	return c.BaseURL
}
