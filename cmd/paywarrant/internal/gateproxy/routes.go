package gateproxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/paywall"
)

// build makes what a configuration describes.
func (p *Proxy) build(c Config) (*generation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	to, err := newUpstream(c, p.o)
	if err != nil {
		return nil, err
	}
	c.Paywall.Redemptions, c.Paywall.Logger, c.Paywall.Clock = p.o.Redemptions, p.o.Logger, p.o.Clock
	c.Paywall.OnPaid, c.Paywall.OnRefused = onPaid, onRefused
	if len(c.Paywall.Secrets) == 0 {
		c.Paywall.Secrets = p.secrets
	}
	t := &table{mux: http.NewServeMux(), folded: http.NewServeMux(), prices: map[string]money.Micros{}, upstream: to, metrics: p.metrics}
	if err := t.gates(c); err != nil {
		return nil, err
	}
	for i, r := range c.Routes {
		if err := t.add(r); err != nil {
			return nil, fmt.Errorf("routes[%d] %q: %w", i, r.Pattern, err)
		}
	}
	t.describe()
	return &generation{gates: []*paywall.Gate{t.gate, t.free}, handler: http.HandlerFunc(t.serve), upstream: to}, nil
}

// table is the routes of a configuration.
type table struct {
	gate, free *paywall.Gate // free skips payment, and removes credentials
	mux        *http.ServeMux
	// folded has the routes in lower case: services that ignore case take more addresses for
	// one than the mux does.
	folded   *http.ServeMux
	prices   map[string]money.Micros // by folded pattern
	upstream *upstream
	metrics  *metrics
}

// gates makes the gate from which those of the routes are derived, and that of free routes.
func (t *table) gates(c Config) (err error) {
	base := c.Paywall
	for _, r := range c.Routes {
		if !r.Free {
			base.Price, base.PriceFunc = r.Paid.Price, r.Paid.PriceFunc
			break
		}
	}
	if t.gate, err = paywall.New(base); err != nil {
		return err
	}
	base.Skip = func(*http.Request) bool { return true }
	t.free, err = paywall.New(base)
	return err
}

// add adds a route.
func (t *table) add(r Route) error {
	method, path, err := r.split()
	if err != nil {
		return err
	}
	own := t.free
	if !r.Free {
		paid := r.Paid
		paid.Resource = resource(path)
		if paid.Discovery != nil && paid.Discovery.Method == "" {
			described := *paid.Discovery
			described.Method = method
			paid.Discovery = &described
		}
		if own, err = t.gate.Derive(paid); err != nil {
			return err
		}
	}
	price, _ := money.ParseDecimal(r.Paid.Price) // as Derive has checked; zero if it is free
	h := t.unlessDearer(price, t.metrics.of(r.Pattern, own.Require(t.upstream)))
	if err := handle(t.mux, r.Pattern, h); err != nil {
		return err
	}
	folded := strings.TrimSpace(method + " " + strings.ToLower(path))
	if err := handle(t.folded, folded, h); err != nil {
		return fmt.Errorf("differs from another route in case only: %w", err)
	}
	t.prices[folded] = price
	if method != "" {
		_ = handle(t.mux, http.MethodOptions+" "+path, h) // preflights; another method of the path may have it
	}
	return nil
}

// describe serves openapi.json and llms.txt, unless there are routes for them.
func (t *table) describe() {
	_ = handle(t.mux, "GET /openapi.json", t.gate.OpenAPI())
	_ = handle(t.mux, "GET /llms.txt", t.gate.LLMs())
}

// handle registers a handler. The mux panics if the pattern is invalid or taken.
func handle(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New(callers.ReplaceAllString(fmt.Sprint(p), ""))
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// callers are the places in the program that the mux names.
var callers = regexp.MustCompile(` \(registered at [^)]*\)`)

// serve answers a request with the route that it matches.
func (t *table) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect, r.Method == http.MethodTrace, r.Method != strings.ToUpper(r.Method):
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "The gate passes no request with this method on. Methods are in upper case.")
	case ambiguous(r.URL):
		refuse(w, http.StatusBadRequest, "validation_error", "The path has an encoded slash, a dot segment or a character that servers read differently.")
	default:
		t.mux.ServeHTTP(w, r)
	}
}

// unlessDearer refuses a request that only the spelling of its path keeps from a route with a
// higher price.
func (t *table) unlessDearer(price money.Micros, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bare := strings.TrimRight(parameters.ReplaceAllString(strings.ToLower(r.URL.Path), ""), "/")
		probe := http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{}}
		for _, probe.URL.Path = range []string{bare, bare + "/"} {
			if probe.URL.Path == "" {
				continue
			}
			_, pattern := t.folded.Handler(&probe)
			if t.prices[pattern] > price {
				refuse(w, http.StatusNotFound, "not_found", "This path is that of a route with a higher price, spelled differently.")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// parameters are what follows a semicolon in a segment of a path; some servers ignore it.
var parameters = regexp.MustCompile(`;[^/]*`)

// refuse answers with an error of the gate.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Cache-Control", "no-store")
	httpjson.Write(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}
