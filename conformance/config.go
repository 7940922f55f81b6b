package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/loopback"
)

// Config configures [Validate].
type Config struct {
	// URL is the address of the paid endpoint. Required.
	URL string
	// Method is the HTTP method. Default: GET, or POST with Body.
	Method string
	// Body is the body of every request. Default: none.
	Body []byte
	// ContentType is the type of Body. Default: application/json.
	ContentType string

	// Wallet pays. It requires BudgetMicros, and https or a loopback address. Default: nothing is paid.
	Wallet agent.Wallet
	// BudgetMicros limits the sum of all payments that are signed, in millionths of a US
	// dollar. A payment that the server refused counts too. It requires Wallet.
	BudgetMicros int64

	// Timeout limits a request without payment. A request with a payment has four times as
	// long. Default: 15 s.
	Timeout time.Duration
	// Transport sends the requests. Default: one with the settings of
	// http.DefaultTransport and a limit on headers.
	Transport http.RoundTripper
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// withDefaults returns the configuration with its defaults set, and the parsed URL.
func (c Config) withDefaults() (Config, *url.URL, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return c, nil, errors.New("URL: is malformed") // the parser's error repeats credentials
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return c, nil, errors.New("URL: must be an absolute http or https address")
	case u.User != nil:
		return c, nil, errors.New("URL: must have no user or password")
	case (c.Wallet == nil) != (c.BudgetMicros == 0):
		return c, nil, errors.New("BudgetMicros: is required with Wallet, and only then")
	case c.Wallet != nil && u.Scheme != "https" && !loopback.Host(u.Hostname()):
		return c, nil, errors.New("URL: refusing to pay over plain HTTP")
	case c.BudgetMicros < 0:
		return c, nil, fmt.Errorf("BudgetMicros: %d is negative", c.BudgetMicros)
	}
	u.Fragment = ""
	if c.Method == "" {
		c.Method = http.MethodGet
		if len(c.Body) > 0 {
			c.Method = http.MethodPost
		}
	}
	if c.ContentType == "" {
		c.ContentType = "application/json"
	}
	if c.Timeout <= 0 {
		c.Timeout = 15 * time.Second
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c, u, nil
}
