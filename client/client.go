package client

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Version is the version of this package. The client sends it in User-Agent.
const Version = "0.1.0"

const (
	// maxIdleConnsPerHost keeps connections open for reuse. The standard library keeps
	// two, so a burst of charges would open a connection for each.
	maxIdleConnsPerHost = 64
	// maxAnswerHeader limits the header of a response, in bytes.
	maxAnswerHeader = 64 << 10
)

// Client calls the merchant API. It is safe for concurrent use. Create one and reuse it.
type Client struct {
	baseURL    string
	http       *http.Client
	log        *slog.Logger
	maxRetries int
	timeout    time.Duration
	merchantID string
	userAgent  string
	apiKey     func() string // a function, so that a printed Client does not show it
	token      func() string // in place of apiKey; a function for the same reason
	helperKey  func() string // for the test helpers; a function for the same reason
}

// New returns a Client. It performs no I/O. The returned error names the invalid field.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Client{
		baseURL:    strings.TrimRight(cfg.BaseURL, "/"),
		http:       newHTTPClient(cfg.HTTPClient),
		log:        cfg.Logger,
		maxRetries: max(cfg.MaxRetries, 0),
		timeout:    cfg.Timeout,
		merchantID: cfg.MerchantID,
		userAgent:  strings.TrimSpace(cfg.UserAgent + " paywarrant-go/" + Version),
		apiKey:     func() string { return cfg.APIKey },
		token:      func() string { return cfg.AccessToken },
		helperKey:  func() string { return cfg.TestHelperKey },
	}
	if cfg.MaxRetries == 0 {
		c.maxRetries = defaultMaxRetries
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// CloseIdleConnections closes connections that no call is using. Call it when the
// client is no longer needed, unless it shares a [Config].HTTPClient.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// newHTTPClient copies given, so that the caller's client keeps following redirects.
// The copy does not: a redirect could send the credentials to another host.
func newHTTPClient(given *http.Client) *http.Client {
	var hc http.Client
	if given != nil {
		hc = *given
	} else {
		hc.Transport = newTransport()
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hc
}

func newTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program replaced it, perhaps for tracing: use that
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = maxIdleConnsPerHost
	t.MaxResponseHeaderBytes = maxAnswerHeader
	return t
}
