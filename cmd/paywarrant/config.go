package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server"
)

// configFile is the path of a file that holds a [config] in TOML.
type configFile string

// config is what `serve` runs. docs/reference/operations.md describes every key.
type config struct {
	Mode    string `toml:"mode"`
	BaseURL string `toml:"base_url"`
	Listen  string `toml:"listen"`
	Store   string `toml:"store"`
	// Moved has a store that was of another base_url belong to this one.
	Moved             bool   `toml:"moved"`
	KeyFile           string `toml:"key_file"`
	RequestsPerSecond int    `toml:"requests_per_second"`
	// AnonymousPerSecond limits one client address. Zero: RequestsPerSecond.
	AnonymousPerSecond int `toml:"anonymous_per_second"`
	// TabCents and MaxTabAdvanceCents are about small payments by card. Zero: see server.Config.
	TabCents           int `toml:"tab_cents"`
	MaxTabAdvanceCents int `toml:"max_tab_advance_cents"`
	// TrustedProxies are addresses and prefixes of the proxies that forward requests.
	TrustedProxies []string `toml:"trusted_proxies"`
	// TestHelperKey is required by the sandbox's test helpers. Empty: see server.Config.
	TestHelperKey server.TestHelperKey `toml:"test_helper_key"`
	LogLevel      string               `toml:"log_level"`
	// LameDuck is how long /readyz answers 503 before the listener closes, as a text.
	LameDuck string `toml:"lame_duck"`
	// ReconcileEvery is the pause between reconciliations, as a text. Empty: none.
	ReconcileEvery string    `toml:"reconcile_every"`
	TLS            tlsConfig `toml:"tls"`
	// Metrics is the listener of the metrics. Default: none.
	Metrics     *metricsConfig `toml:"metrics"`
	SandboxCard cardsConfig    `toml:"sandbox_card"`
	// Mail is the mail server. Nil: no mail is sent.
	Mail *mailConfig `toml:"mail"`
	// Merchants says who may have an account.
	Merchants merchantsConfig `toml:"merchants"`
	// Upstreams are other catalogs, whose entries the market lists.
	Upstreams []upstreamConfig `toml:"upstream"`
	// Stripe is the card rail over Stripe. Nil: there is none.
	Stripe *stripeConfig `toml:"stripe"`
	// Chain is the chain rail. Nil: there is none.
	Chain *chainConfig `toml:"chain"`
}

// live reports whether money moves.
func (c config) live() bool { return c.Mode == string(server.Live) }

// upstreamConfig is another catalog of paid endpoints.
type upstreamConfig struct {
	Name string `toml:"name"`
	Kind string `toml:"kind"`
	URL  string `toml:"url"`
}

// upstreams returns the catalogs.
func (c config) upstreams() []server.Upstream {
	var all []server.Upstream
	for _, u := range c.Upstreams {
		all = append(all, server.Upstream{Name: u.Name, Kind: server.UpstreamKind(u.Kind), URL: u.URL})
	}
	return all
}

type merchantsConfig struct {
	// SignUp lets anyone who proves an email address create an account.
	SignUp bool `toml:"signup"`
}

type metricsConfig struct {
	Listen string `toml:"listen"`
}

type tlsConfig struct {
	Cert string `toml:"cert"`
	Key  string `toml:"key"`
}

// cardsConfig is the sandbox card rail: in the process, or at an address.
type cardsConfig struct {
	ProcessorURL string `toml:"processor_url"`
	ProcessorKey string `toml:"processor_key"`
}

// read reads the file strictly: a key that is not known is an error, as is one
// that is missing.
func (f configFile) read() (config, error) {
	c := config{Listen: ":8080", LogLevel: "info", LameDuck: "1s"}
	meta, err := readTOML(string(f), &c)
	if err != nil {
		return c, usage("%w", err)
	}
	if err := c.validate(meta.IsDefined); err != nil {
		return c, usage("%s: %w", f, err)
	}
	return c, nil
}

// validate finds what is missing or cannot be, before anything is opened; given reports
// whether the file has a key. The returned error names the key.
func (c config) validate(given func(key ...string) bool) error {
	for _, required := range []struct{ key, value string }{
		{"mode", c.Mode}, {"base_url", c.BaseURL}, {"store", c.Store}, {"key_file", c.KeyFile},
	} {
		if strings.TrimSpace(required.value) == "" {
			return fmt.Errorf("%s is required", required.key)
		}
	}
	if err := server.CheckBaseURL(c.BaseURL); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	if err := checkStore(c.Store); err != nil {
		return err
	}
	if d, err := time.ParseDuration(c.LameDuck); err != nil || d < 0 || d > time.Minute {
		return errors.New(`lame_duck: must be a text such as "5s", from 0s to 1m`)
	}
	if d, err := time.ParseDuration(c.ReconcileEvery); c.ReconcileEvery != "" && (err != nil || d < time.Hour) {
		return errors.New(`reconcile_every: must be a text such as "24h", at least 1h`)
	}
	switch {
	case c.Mode != string(server.Sandbox) && !c.live():
		return fmt.Errorf("mode: must be %q or %q", server.Sandbox, server.Live)
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return errors.New("tls.cert and tls.key go together")
	case c.Metrics != nil && c.Metrics.Listen == "":
		return errors.New(`metrics.listen is required: "127.0.0.1:9464"`)
	case c.RequestsPerSecond < 0:
		return errors.New("requests_per_second: must not be negative")
	case c.AnonymousPerSecond < 0:
		return errors.New("anonymous_per_second: must not be negative")
	case c.TabCents != 0 && (c.TabCents < server.MinTabCents || c.TabCents > server.MaxTabCents):
		return fmt.Errorf("tab_cents: must be %d to %d", server.MinTabCents, server.MaxTabCents)
	case c.MaxTabAdvanceCents < 0:
		return errors.New("max_tab_advance_cents: must not be negative")
	case c.live() && given("test_helper_key"):
		return errors.New("test_helper_key: there are no test helpers in live mode; leave it out")
	case c.live() && given("sandbox_card"):
		return errors.New("sandbox_card: there is no simulated card processor in live mode; use a [stripe] section")
	case c.Stripe != nil && given("sandbox_card"):
		return errors.New("sandbox_card: [stripe] is the card rail; leave one of the sections out")
	case c.live() && c.Chain == nil && c.Stripe == nil:
		return errors.New("mode: live needs a rail for real money: a [stripe] section, a [chain] section, or both")
	}
	if err := new(slog.Level).UnmarshalText([]byte(c.LogLevel)); err != nil {
		return errors.New("log_level: must be debug, info, warn or error")
	}
	if _, err := c.proxies(); err != nil {
		return err
	}
	if err := server.CheckUpstreams(c.upstreams()); err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	if c.Mail != nil {
		if _, err := c.Mail.open(); err != nil {
			return err
		}
	}
	if c.Chain == nil {
		return nil
	}
	_, err := c.Chain.parse(c.live())
	return err
}

// reconcileEvery returns the pause between reconciliations; zero: none.
func (c config) reconcileEvery() time.Duration {
	d, _ := time.ParseDuration(c.ReconcileEvery) // validate has read it
	return d
}

// proxies are the trusted proxies.
func (c config) proxies() ([]netip.Prefix, error) { return prefixes(c.TrustedProxies) }

// prefixes parses addresses and prefixes; a single address is a prefix of its full length.
func prefixes(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if a, invalid := netip.ParseAddr(text); err != nil && invalid == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf(`trusted_proxies: %q is no address or prefix, such as "10.0.0.0/8"`, text)
		}
		all = append(all, p)
	}
	return all, nil
}
