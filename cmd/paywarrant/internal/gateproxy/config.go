package gateproxy

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
)

// DefaultTimeout is the default of [Config].Timeout.
const DefaultTimeout = time.Minute

// minFactsKey is the shortest key of facts, in bytes.
const minFactsKey = 32

// Config configures a [Proxy].
type Config struct {
	// Upstream is the base URL of the service: "http://127.0.0.1:3000". Required.
	Upstream string
	// Paywall configures the gate: Origin, PayTo and APIURL are required. Its prices and
	// resources are those of Routes.
	Paywall paywall.Config
	// Routes are the routes. At least one has a price.
	Routes []Route
	// FactsKey signs the facts about payments, with HMAC-SHA256: X-Payment-Facts is then a JWT.
	// At least 32 bytes. Default: facts are not signed.
	FactsKey []byte
	// Timeout is how long the upstream may take to begin its response. Default:
	// [DefaultTimeout].
	Timeout time.Duration
}

// Route is a route.
type Route struct {
	// Pattern is a method and a path, or a path alone, in the form of [net/http.ServeMux]:
	// "GET /reports/{id}", "/files/". Required.
	Pattern string
	// Free routes need no payment.
	Free bool
	// Paid describes the payment of a route that is not free. Its resource is the path.
	Paid paywall.Route
}

// split returns the method, or "" for all, and the path of the pattern.
func (r Route) split() (method, path string, err error) {
	method, path, found := strings.Cut(r.Pattern, " ")
	if !found {
		method, path = "", r.Pattern
	}
	path = strings.TrimLeft(path, " \t")
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", "", errors.New(`want "METHOD /path" or "/path"`)
	case method != strings.ToUpper(method):
		return "", "", fmt.Errorf("method %q: want upper case", method)
	}
	return method, path, nil
}

// resource returns the path as the pattern of a resource, or "" if the resource of a request
// is its path.
func resource(path string) string {
	if strings.HasSuffix(path, "/") || strings.Contains(path, "...}") || strings.Contains(path, "{$}") {
		return ""
	}
	return path
}

// target parses Upstream.
func (c Config) target() (*url.URL, error) {
	u, err := url.Parse(c.Upstream)
	switch {
	case c.Upstream == "":
		return nil, errors.New("upstream: is required")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("upstream: %q: want http:// or https:// and a host", c.Upstream)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("upstream: must have no user, query or fragment")
	}
	return u, nil
}

// check checks what the paywall does not.
func (c Config) check() error {
	switch {
	case c.Paywall.Origin == "":
		return errors.New("origin: is required")
	case len(c.FactsKey) > 0 && len(c.FactsKey) < minFactsKey:
		return fmt.Errorf("facts_key_file: the key has %d bytes, want %d or more", len(c.FactsKey), minFactsKey)
	case c.Timeout < 0:
		return errors.New("timeout: must not be negative")
	}
	for _, r := range c.Routes {
		if !r.Free {
			return nil
		}
	}
	return errors.New("routes: none has a price")
}
