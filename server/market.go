package server

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server/internal/market"
)

// UpstreamKind is the kind of a catalog.
type UpstreamKind string

// The kinds of catalogs.
const (
	// UpstreamX402 is an x402 catalog: URL is the address of its discovery/resources.
	UpstreamX402 UpstreamKind = "x402"
	// UpstreamMPP is a directory of MPP services: URL is the address of its document.
	UpstreamMPP UpstreamKind = "mpp"
)

// Upstream is another catalog of paid endpoints.
type Upstream struct {
	// Name identifies the catalog in listings, logs and metrics: 1 to 32 lower-case letters,
	// digits and hyphens. Required.
	Name string
	// Kind is the form of the catalog. Required.
	Kind UpstreamKind
	// URL is its address: https, or http to a loopback address of a sandbox. Required.
	URL string
}

// maxUpstreams limits the catalogs of a service.
const maxUpstreams = 32

// CheckUpstreams reports what is wrong with [Config].Upstreams. The text of the error fits after
// the name of the field.
func CheckUpstreams(all []Upstream) error {
	if len(all) > maxUpstreams {
		return fmt.Errorf("must be at most %d", maxUpstreams)
	}
	names := map[string]bool{}
	for _, u := range all {
		at, err := url.Parse(u.URL)
		switch {
		case u.Name == "" || len(u.Name) > 32 || strings.Trim(u.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
			return fmt.Errorf("name %q must be 1 to 32 lower-case letters, digits and hyphens", u.Name)
		case names[u.Name]:
			return fmt.Errorf("name %q is used twice", u.Name)
		case !slices.Contains([]UpstreamKind{UpstreamX402, UpstreamMPP}, u.Kind):
			return fmt.Errorf("kind of %s must be %q or %q", u.Name, UpstreamX402, UpstreamMPP)
		case err != nil || at.Hostname() == "" || at.User != nil || at.Fragment != "":
			return fmt.Errorf("url of %s must be an absolute URL without user and fragment", u.Name)
		case at.Scheme != "https" && (at.Scheme != "http" || !loopback.Host(at.Hostname())):
			return errors.New("url of " + u.Name + " must be https; http only for loopback addresses")
		}
		names[u.Name] = true
	}
	return nil
}

func (s *Server) newMarket() *market.Market {
	cfg := s.config
	m := market.Config{
		Store: cfg.Store, Merchant: cfg.Store.Merchant, Clock: cfg.Clock, Logger: cfg.Logger, AllowPrivate: cfg.onLoopback(), Pulled: s.recorder.Pulled,
		Payee: s.merchantAt,
	}
	for _, u := range cfg.Upstreams {
		m.Upstreams = append(m.Upstreams, market.Upstream{Name: u.Name, Kind: market.Kind(u.Kind), URL: u.URL})
	}
	return market.New(m)
}
