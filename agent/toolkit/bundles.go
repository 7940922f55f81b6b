package toolkit

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/loopback"
)

// PurchaseBundleIn names a seller's page of bundles.
type PurchaseBundleIn struct {
	// MerchantBundleURL is the address of the page. Required.
	MerchantBundleURL string `json:"merchantBundleUrl"`
}

// Tier is a bundle on offer.
type Tier struct {
	// Name is the name of the bundle.
	Name string `json:"name"`
	// USDCents is the price in US cents.
	USDCents int64 `json:"usdCents"`
	// Requests is the number of requests that the bundle pays for.
	Requests int64 `json:"requests"`
}

// PurchaseBundleOut is where a person buys a bundle.
type PurchaseBundleOut struct {
	// CheckoutURL is the link for the person.
	CheckoutURL string `json:"checkoutUrl" jsonschema:"Give this link to the person"`
	// Tiers are the bundles on offer.
	Tiers []Tier `json:"tiers"`
}

// PurchaseBundle returns the bundles of a seller and the link where a person buys one.
func (k *Kit) PurchaseBundle(ctx context.Context, in PurchaseBundleIn) (PurchaseBundleOut, error) {
	u, err := secureURL(in.MerchantBundleURL)
	if err != nil {
		return PurchaseBundleOut{}, invalid("merchantBundleUrl", err.Error())
	}
	var page struct {
		PurchaseURL string `json:"purchaseUrl"`
		Tiers       []Tier `json:"tiers"`
	}
	if err := k.read(ctx, u, "", &page); err != nil {
		return PurchaseBundleOut{}, err
	}
	out := PurchaseBundleOut{CheckoutURL: u.String(), Tiers: page.Tiers}
	if p, err := secureURL(page.PurchaseURL); err == nil && agent.Origin(p) == agent.Origin(u) { // a link to elsewhere is not the seller's
		out.CheckoutURL = p.String()
	}
	if len(out.Tiers) == 0 {
		return PurchaseBundleOut{}, &Error{Code: CodeFetchFailed, Message: "The page lists no bundles.", Remedy: FixInput, Next: "Check merchantBundleUrl."}
	}
	return out, nil
}

// BundleBalanceIn names a bundle.
type BundleBalanceIn struct {
	// MerchantBalanceURL is the address of the seller's balance. Required.
	MerchantBalanceURL string `json:"merchantBalanceUrl"`
	// BundleToken is the token of the bundle. Required.
	BundleToken string `json:"bundleToken"`
}

// BundleBalanceOut is what is left of a bundle.
type BundleBalanceOut struct {
	// CreditsRemaining is the number of credits that are left.
	CreditsRemaining int64 `json:"creditsRemaining"`
	// Tier is the name of the bundle.
	Tier string `json:"tier"`
}

// BundleBalance returns what is left of a bundle. The token is sent to the given URL alone.
func (k *Kit) BundleBalance(ctx context.Context, in BundleBalanceIn) (BundleBalanceOut, error) {
	u, err := secureURL(in.MerchantBalanceURL)
	if err != nil {
		return BundleBalanceOut{}, invalid("merchantBalanceUrl", err.Error())
	}
	if in.BundleToken == "" || strings.ContainsFunc(in.BundleToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return BundleBalanceOut{}, invalid("bundleToken", "is required: the token of a bundle")
	}
	var out BundleBalanceOut
	err = k.read(ctx, u, in.BundleToken, &out)
	return out, err
}

// maxPage limits what is read of a seller's description.
const maxPage = 64 << 10

// read fetches JSON without ever paying. It follows redirects only for requests without a
// bundle's token.
func (k *Kit) read(ctx context.Context, u *url.URL, bundleToken string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, agent.FetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return k.explain(err, bundleToken)
	}
	r.Header.Set("Accept", "application/json")
	if bundleToken != "" {
		r.Header.Set(agent.HeaderBundleToken, bundleToken)
	}
	resp, err := k.free.Do(r)
	if err != nil {
		return k.explain(err, bundleToken)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return k.explain(err, bundleToken)
	}
	failed := &Error{Code: CodeFetchFailed, Remedy: FixInput, Next: "Check the address and the token."}
	switch {
	case resp.StatusCode != http.StatusOK:
		failed.Message = "The seller answered " + resp.Status + "."
	case len(text) > maxPage || json.Unmarshal(text, into) != nil:
		failed.Message = "The seller's answer is not the expected JSON."
	default:
		return nil
	}
	return k.explain(failed, bundleToken)
}

type urlProblem string

func (p urlProblem) Error() string { return string(p) }

// secureURL parses an address that may receive a secret or is shown to a person.
func secureURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(u.Hostname()))) {
		return nil, urlProblem("must be an https URL without user and password")
	}
	return u, nil
}
