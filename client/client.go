package client

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Version is the version of this package, as the service sees it in User-Agent.
const Version = "0.1.0"

const (
	// maxIdleConnsPerHost lets a busy service keep its connections: the standard
	// library keeps two, and a burst of charges would dial anew for each.
	maxIdleConnsPerHost = 64
	// maxAnswerHeader bounds the header of an answer, in bytes.
	maxAnswerHeader = 64 << 10
)

// Client calls the merchant API. It is safe for concurrent use; make one and keep it.
type Client struct {
	baseURL    string
	http       *http.Client
	log        *slog.Logger
	maxRetries int
	timeout    time.Duration
	merchantID string
	userAgent  string
	apiKey     func() string // a function, so that printing a Client cannot show it
	helperKey  func() string // of the test helpers; likewise
}

// New makes a client. It sends nothing. It returns an error that names the field
// of cfg that is wrong.
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

// CloseIdleConnections closes the connections that no call is using. Call it when
// the client is no longer needed, where it made its own HTTP client.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// newHTTPClient copies given, so that the caller's client keeps following
// redirects where ours must not: they would carry the API key to another host.
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
	if !ok { // the program has replaced it, with tracing perhaps: take that
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = maxIdleConnsPerHost
	t.MaxResponseHeaderBytes = maxAnswerHeader
	return t
}
