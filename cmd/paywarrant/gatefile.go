package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/cmd/paywarrant/internal/gateproxy"
	"github.com/paywarrant/paywarrant/paywall"
)

// gateFile is the configuration of `gate`. docs/guides/proxy.md describes every key.
type gateFile struct {
	gateFixed

	Upstream string `toml:"upstream"`
	Origin   string `toml:"origin"`
	Service  string `toml:"service"`
	PayTo    string `toml:"pay_to"`
	TestMode bool   `toml:"test_mode"`
	Network  string `toml:"network"`
	Asset    *struct {
		Address  string `toml:"address"`
		Name     string `toml:"name"`
		Version  string `toml:"version"`
		Decimals int    `toml:"decimals"`
	} `toml:"asset"`

	MerchantID string `toml:"merchant_id"`
	APIKeyFile string `toml:"api_key_file"`
	SecretFile string `toml:"secret_file"`
	FactsKey   string `toml:"facts_key_file"`

	RefundUnserved bool        `toml:"refund_unserved"`
	TrustedProxies []string    `toml:"trusted_proxies"`
	Timeout        string      `toml:"timeout"`
	Routes         []gateRoute `toml:"routes"`

	apiKey string // from the environment, if there is no file
}

// gateFixed is what does not change while the gate runs.
type gateFixed struct {
	Listen      string    `toml:"listen"`
	Admin       string    `toml:"admin"`
	Redemptions string    `toml:"redemptions"`
	LogLevel    string    `toml:"log_level"`
	TLS         tlsConfig `toml:"tls"`
}

// gateRoute is a route of the file.
type gateRoute struct {
	Pattern       string         `toml:"path"`
	Free          bool           `toml:"free"`
	Price         string         `toml:"price"`
	PayTo         string         `toml:"pay_to"`
	Description   string         `toml:"description"`
	MimeType      string         `toml:"mime_type"`
	Metered       bool           `toml:"metered"`
	Hold          string         `toml:"hold"`
	BodyType      string         `toml:"body_type"`
	InputSchema   map[string]any `toml:"input_schema"`
	OutputSchema  map[string]any `toml:"output_schema"`
	OutputExample any            `toml:"output_example"`
}

// readGateFile reads a file strictly. The returned error names the file and the key.
func readGateFile(path string) (gateFile, error) {
	f := gateFile{gateFixed: gateFixed{Listen: defaultGateListen, LogLevel: "info"}}
	_, err := readTOML(path, &f)
	return f, err
}

// config returns the configuration of the proxy, with the contents of the files that the file
// names.
func (f gateFile) config() (gateproxy.Config, error) {
	c := gateproxy.Config{Upstream: f.Upstream, Paywall: paywall.Config{
		Origin: f.Origin, APIURL: f.Service, PayTo: f.PayTo, TestMode: f.TestMode, Network: f.Network, RefundUnserved: f.RefundUnserved,
	}}
	var err error
	if c.Timeout, err = optionalDuration("timeout", f.Timeout); err != nil {
		return c, err
	}
	if a := f.Asset; a != nil {
		c.Paywall.Asset = &paywall.Asset{Address: a.Address, Name: a.Name, Version: a.Version, Decimals: a.Decimals}
	}
	if c.Paywall.TrustedProxies, err = prefixes(f.TrustedProxies); err != nil {
		return c, err
	}
	if err := f.secrets(&c); err != nil {
		return c, err
	}
	for i, r := range f.Routes {
		route, err := r.route()
		if err != nil {
			return c, fmt.Errorf("routes[%d] %q: %w", i, r.Pattern, err)
		}
		c.Routes = append(c.Routes, route)
	}
	return c, nil
}

// secrets reads the files with secrets.
func (f gateFile) secrets(c *gateproxy.Config) error {
	key := f.apiKey
	if f.APIKeyFile != "" {
		text, err := secretFile("api_key_file", f.APIKeyFile)
		if err != nil {
			return err
		}
		key = string(text)
	}
	if (f.MerchantID == "") != (key == "") {
		return errors.New("merchant_id and api_key_file go together")
	}
	c.Paywall.Merchant = paywall.Merchant{ID: f.MerchantID, APIKey: key}
	if f.SecretFile != "" {
		text, err := secretFile("secret_file", f.SecretFile)
		if err != nil {
			return err
		}
		c.Paywall.Secrets = strings.Fields(string(text))
	}
	if f.FactsKey != "" {
		text, err := secretFile("facts_key_file", f.FactsKey)
		if err != nil {
			return err
		}
		c.FactsKey = text
	}
	return nil
}

// secretFile returns the content of a file that only its owner can read, without white space
// around it.
func secretFile(key, path string) ([]byte, error) {
	if err := private(path); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, fmt.Errorf("%s: %s is empty", key, path)
	}
	return text, nil
}

// route returns the route of the proxy.
func (r gateRoute) route() (gateproxy.Route, error) {
	out := gateproxy.Route{Pattern: r.Pattern, Free: r.Free}
	switch {
	case r.Free && (r.Price != "" || r.Metered):
		return out, errors.New("a free route has no price")
	case r.Free:
		return out, nil
	case r.Price == "":
		return out, errors.New("price: is required, or free = true")
	}
	hold, err := optionalDuration("hold", r.Hold)
	if err != nil {
		return out, err
	}
	out.Paid = paywall.Route{Price: r.Price, PayTo: r.PayTo, MimeType: r.MimeType, Metered: r.Metered, Hold: hold}
	if r.OutputSchema == nil {
		if r.Description != "" || r.InputSchema != nil || r.OutputExample != nil || r.BodyType != "" {
			return out, errors.New("output_schema: is required with description, input_schema, output_example and body_type: directories refuse a route without it")
		}
		return out, nil
	}
	out.Paid.Discovery = &paywall.Discovery{
		Description: r.Description, BodyType: r.BodyType, Output: paywall.Output{Schema: r.OutputSchema, Example: r.OutputExample},
	}
	if r.InputSchema != nil {
		out.Paid.Discovery.InputSchema = r.InputSchema
	}
	return out, nil
}

// optionalDuration parses a text such as "90s". An empty one is zero.
func optionalDuration(key, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q: want a duration such as 90s", key, text)
	}
	return d, nil
}
