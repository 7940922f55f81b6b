package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// Report is the result of [Validate].
type Report struct {
	// URL is the address that was judged.
	URL string `json:"url"`
	// Method is the HTTP method of the requests.
	Method string `json:"method"`
	// Protocols are the protocols of the challenge: "x402 v2", "x402 v1", "MPP".
	Protocols []string `json:"protocols"`
	// Results are the results, in the order of [Rules].
	Results []Result `json:"results"`
	// SignedMicros is the sum of the payments that were signed for the server, in millionths
	// of a US dollar: the most that the validation can have cost.
	SignedMicros int64 `json:"signedMicros"`
	// PaidMicros is the sum of the payments for which the server served.
	PaidMicros int64 `json:"paidMicros"`
}

// Count returns the number of results with a status.
func (r Report) Count(s Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// Validate judges the endpoint of a configuration by every rule. The returned error names an
// invalid field, or is that of the connection if the server did not answer at all, or of ctx.
func Validate(ctx context.Context, c Config) (Report, error) {
	c, target, err := c.withDefaults()
	if err != nil {
		return Report{}, fmt.Errorf("conformance: %w", err)
	}
	p := newProbe(c, target)
	defer p.close()
	report := Report{URL: target.String(), Method: c.Method, Protocols: []string{}}
	if err := p.plain(ctx).err; err != nil {
		return report, fmt.Errorf("ask %s: %w", target.Redacted(), err)
	}
	for _, r := range Rules() {
		v := skip("moves money: allow it with a wallet and a budget")
		if !r.Pays || c.Wallet != nil {
			v = r.check(ctx, p)
		}
		if err := ctx.Err(); err != nil {
			return report, err
		}
		report.Results = append(report.Results, Result{r, v.status, v.detail})
	}
	if asked, _ := p.asked(ctx); asked != nil {
		report.Protocols = slices.Clone(asked.protocols())
	}
	report.SignedMicros, report.PaidMicros = p.signed, p.paid
	return report, nil
}

// transport returns the default transport.
func transport() *http.Transport {
	t := &http.Transport{}
	if base, ok := http.DefaultTransport.(*http.Transport); ok {
		t = base.Clone()
	}
	t.MaxResponseHeaderBytes, t.MaxIdleConnsPerHost = maxHeaders, concurrent
	return t
}
