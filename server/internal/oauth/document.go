package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/internal/text"
)

const (
	// maxDocument limits a metadata document, in bytes.
	maxDocument = 10 << 10
	// fetchTimeout limits a fetch.
	fetchTimeout = 5 * time.Second
	// maxFetches limits the fetches at the same time, and maxFetchesOfOne those for one merchant: an
	// app that answers slowly does not hold up the apps of others.
	maxFetches, maxFetchesOfOne = 64, 2
	// maxCached limits the documents that are cached.
	maxCached = 1000
	// The time for which a document is cached: if its answer says nothing, and at most.
	cacheFor, maxCacheFor = 10 * time.Minute, 24 * time.Hour
	// maxAppName limits the name of an app, in characters.
	maxAppName = 60
)

// documentError reports a metadata document that cannot be used. Its text is for the person
// at the browser, and does not depend on what an address inside answered.
type documentError struct{ text string }

func (e *documentError) Error() string { return e.text }

// documents fetches and caches metadata documents.
type documents struct {
	client *http.Client
	clock  func() time.Time
	cache  *otter.Cache[string, cached]
	busy   chan struct{}
	limits *ratelimit.Limits // by merchant

	mu       sync.Mutex
	fetching map[string]int // fetches in progress, by merchant
}

// begin counts a fetch for a merchant, and reports whether it may begin.
func (d *documents) begin(merchantID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fetching[merchantID] >= maxFetchesOfOne {
		return false
	}
	d.fetching[merchantID]++
	return true
}

// end ends what begin has counted.
func (d *documents) end(merchantID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fetching[merchantID]--; d.fetching[merchantID] == 0 {
		delete(d.fetching, merchantID)
	}
}

type cached struct {
	app   app
	until time.Time
}

// guarded returns a transport that reaches public addresses only, unless private is set.
func guarded(private bool) http.RoundTripper {
	dialer := ssrf.Dialer(fetchTimeout)
	if private {
		dialer = &net.Dialer{Timeout: fetchTimeout}
	}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: fetchTimeout, ResponseHeaderTimeout: fetchTimeout,
		MaxResponseHeaderBytes: maxDocument, DisableKeepAlives: true, DisableCompression: true,
	}
}

func newDocuments(transport http.RoundTripper, clock func() time.Time) *documents {
	return &documents{
		client: &http.Client{
			Transport: transport, Timeout: fetchTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		clock: clock, cache: otter.Must(&otter.Options[string, cached]{MaximumSize: maxCached}), busy: make(chan struct{}, maxFetches),
		limits: ratelimit.New(ratelimit.Config{PerSecond: 1, Burst: 10, Clock: clock}), fetching: map[string]int{},
	}
}

// app returns the client that the document at a URL describes. It returns a [*documentError].
func (d *documents) app(ctx context.Context, clientID, merchantID string) (app, error) {
	if c, ok := d.cache.GetIfPresent(clientID); ok && d.clock().Before(c.until) {
		return c.app, nil
	}
	u, err := documentURL(clientID)
	if err != nil {
		return app{}, &documentError{"The address of the app " + err.Error() + "."}
	}
	if a := d.limits.Take(merchantID); !a.OK || !d.begin(merchantID) {
		return app{}, &documentError{"You opened too many pages of apps. Try again in a moment."}
	}
	defer d.end(merchantID)
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return app{}, ctx.Err()
	}
	a, lifetime, err := d.fetch(ctx, clientID)
	if err != nil {
		return app{}, err
	}
	a.Host = u.Host
	if lifetime > 0 {
		d.cache.Set(clientID, cached{a, d.clock().Add(min(lifetime, maxCacheFor))})
	}
	return a, nil
}

// clientDocument is the part of a metadata document that counts here.
type clientDocument struct {
	ClientID     string   `json:"client_id"`
	Name         string   `json:"client_name"`
	RedirectURIs []string `json:"redirect_uris"`
	AuthMethod   string   `json:"token_endpoint_auth_method"`
	Secret       string   `json:"client_secret"`
}

// fetch reads the document at a URL, whole or not at all, and for how long it may be cached.
func (d *documents) fetch(ctx context.Context, at string) (app, time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody) //nolint:gosec // the transport checks the address
	if err != nil {
		return app{}, 0, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(r) //nolint:gosec // as above
	if err != nil {
		if ctx.Err() != nil {
			return app{}, 0, ctx.Err()
		}
		return app{}, 0, &documentError{"The address of the app does not answer."}
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || (media != "application/json" && !strings.HasSuffix(media, "+json")) {
		return app{}, 0, &documentError{"The address of the app has no description of it."}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil || len(body) > maxDocument {
		return app{}, 0, &documentError{"The description of the app is too long, or did not arrive whole."}
	}
	var doc clientDocument
	if err := httpjson.Unmarshal(body, &doc); err != nil {
		return app{}, 0, &documentError{"The description of the app is not valid: " + err.Error() + "."}
	}
	redirects, err := doc.check(at)
	if err != nil {
		return app{}, 0, &documentError{"The description of the app is not valid: " + err.Error() + "."}
	}
	return app{ID: at, Name: doc.Name, Redirects: redirects}, lifetime(resp.Header), nil
}

// check returns the redirect URIs of a document that was fetched at an address.
func (c clientDocument) check(at string) (redirects []string, err error) {
	switch {
	case c.ClientID != at:
		return nil, errors.New("client_id is not its own address")
	case c.Secret != "" || (c.AuthMethod != "" && c.AuthMethod != authNone):
		return nil, errors.New("token_endpoint_auth_method must be none")
	case c.Name == "":
		return nil, errors.New("client_name is missing")
	}
	if err := text.Check(c.Name, maxAppName); err != nil {
		return nil, fmt.Errorf("client_name %w", err)
	}
	return usable(c.RedirectURIs)
}

// lifetime returns for how long an answer may be cached.
func lifetime(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				return time.Duration(seconds) * time.Second
			}
		}
	}
	return cacheFor
}
