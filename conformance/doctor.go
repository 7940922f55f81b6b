package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
)

// DoctorConfig configures [Doctor].
type DoctorConfig struct {
	// Config describes the endpoint. Wallet and BudgetMicros must not be set.
	Config
	// Directories are the base addresses of x402 directories, to which /discovery/resources is
	// appended. Default: none, and whether the endpoint is listed is not checked.
	Directories []string
	// Resolver looks up names. Default: net.DefaultResolver.
	Resolver *net.Resolver
}

// DoctorRules returns the rules of [Doctor] in the order in which they are checked: what a
// directory needs before it lists an endpoint.
func DoctorRules() []Rule {
	rules := reachRules()
	for _, r := range Rules() {
		if slices.Contains(listing, r.ID) {
			rules = append(rules, r)
		}
	}
	return append(rules, listedRule())
}

// listing are the rules of [Validate] on which directories depend.
var listing = []string{
	"http.status", "http.protocol", "http.time", "http.size", "x402v2.challenge", "x402v2.resource", "x402v2.network", "x402v2.amount",
	"mpp.challenge", "mpp.realm", "discovery.bazaar", "discovery.output", "discovery.openapi", "discovery.path", "discovery.payment",
	"discovery.price", "discovery.answer",
}

// Doctor finds out why directories do not list an endpoint. Unlike [Validate] it returns a
// report even if the endpoint does not answer. It moves no money. The returned error names an
// invalid field, or is that of ctx.
func Doctor(ctx context.Context, c DoctorConfig) (Report, error) {
	if c.Wallet != nil || c.BudgetMicros != 0 {
		return Report{}, errors.New("conformance: Wallet: the doctor pays nothing")
	}
	own, target, err := c.withDefaults()
	if err != nil {
		return Report{}, fmt.Errorf("conformance: %w", err)
	}
	for i, d := range c.Directories {
		if u, err := url.Parse(d); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			return Report{}, fmt.Errorf("conformance: Directories[%d] must be an absolute http or https address", i)
		}
	}
	p := newProbe(own, target)
	defer p.close()
	p.directories, p.resolver = c.Directories, c.Resolver
	if p.resolver == nil {
		p.resolver = net.DefaultResolver
	}
	report := Report{URL: target.String(), Method: own.Method, Protocols: []string{}}
	for _, r := range DoctorRules() {
		v := r.check(ctx, p)
		if err := ctx.Err(); err != nil {
			return report, err
		}
		report.Results = append(report.Results, Result{r, v.status, v.detail})
	}
	if asked, _ := p.asked(ctx); asked != nil {
		report.Protocols = asked.protocols()
	}
	return report, nil
}
