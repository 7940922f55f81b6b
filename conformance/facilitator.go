package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/x402"
)

// FacilitatorConfig configures [Facilitator].
type FacilitatorConfig struct {
	// URL is the base address of the facilitator, to which /verify and /settle are appended.
	// It must settle on Base Sepolia, or on a development chain with its chain id and token.
	// Required.
	URL string
	// Wallet holds test USDC. About a dozen payments of a cent are settled from it. Required.
	Wallet agent.Wallet
	// Chain reads the chain and sends transactions. Package conformance/onchain has one.
	// Default: what only the chain shows is not checked.
	Chain Chain
	// Timeout limits a request. Default: 60 s.
	Timeout time.Duration
	// Transport sends the requests. Default: one with the settings of
	// http.DefaultTransport.
	Transport http.RoundTripper
	// Clock returns the chain's time. Default: time.Now.
	Clock func() time.Time
}

// Chain reads a test chain and sends transactions to it.
type Chain interface {
	// Transferred reports whether a transaction succeeded and its token logged exactly the
	// transfer of an authorization.
	Transferred(ctx context.Context, transaction, token string, a x402.Authorization) (bool, error)
	// Approved reports whether a token has ever logged an approval of a spender.
	Approved(ctx context.Context, token, spender string) (bool, error)
	// Broadcast executes a signed authorization, waits for its receipt, and returns the
	// transaction.
	Broadcast(ctx context.Context, token string, e x402.Exact) (transaction string, err error)
}

// FacilitatorRules returns the rules of [Facilitator] in the order in which they are checked.
func FacilitatorRules() []Rule { return facilitatorRules() }

// Facilitator judges an x402 facilitator by eight rules, on a test chain. Published studies
// found that each of 15 public facilitators broke at least one of them. It settles payments
// of the wallet to random accounts. The returned error names an invalid field, or is that of
// the connection, or of ctx.
func Facilitator(ctx context.Context, c FacilitatorConfig) (Report, error) {
	b, err := newBench(c)
	if err != nil {
		return Report{}, err
	}
	defer b.idle()
	report := Report{URL: b.base, Method: http.MethodPost, Protocols: []string{version2}}
	if _, err := b.get(ctx, "/supported"); err != nil {
		return report, fmt.Errorf("ask %s: %w", b.base, err)
	}
	for _, r := range facilitatorRules() {
		v := r.conform(ctx, b)
		if err := ctx.Err(); err != nil {
			return report, err
		}
		report.Results = append(report.Results, Result{r, v.status, v.detail})
	}
	report.SignedMicros, report.PaidMicros = b.signed, b.settled
	return report, nil
}

// newBench returns what the rules of facilitators share.
func newBench(c FacilitatorConfig) (*bench, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, errors.New("conformance: URL: must be an absolute http or https address")
	case u.User != nil || u.RawQuery != "":
		return nil, errors.New("conformance: URL: must have no user, password or query")
	case c.Wallet == nil:
		return nil, errors.New("conformance: Wallet: is required")
	}
	asset, ok := c.Wallet.Asset(testChain)
	if known, _ := x402.USDC(testChain); !ok || asset != known {
		return nil, fmt.Errorf("conformance: Wallet: has no USDC on chain %d", testChain)
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	b := &bench{cfg: c, base: strings.TrimSuffix(u.String(), "/"), host: u, asset: asset, idle: func() {}}
	rt := c.Transport
	if rt == nil {
		own := transport()
		own.MaxIdleConnsPerHost = batch
		rt, b.idle = own, own.CloseIdleConnections
	}
	b.client = &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b, nil
}
