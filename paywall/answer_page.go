package paywall

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/paywarrant/paywarrant/internal/paypage"
	"github.com/paywarrant/paywarrant/x402"
)

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

// pagePolicy lets the built-in page show what was paid for.
var pagePolicy = paypage.Policy(pageScript, "img-src blob:; frame-src blob:; form-action 'none'")

// PageData is the content of the page that browsers get with a 402.
type PageData struct {
	// Merchant is the merchant's name; see [Config.Name].
	Merchant string
	// Resource is the URL that is paid for.
	Resource string
	// Description is that of [Discovery]. May be empty.
	Description string
	// Price is the price of a request in USDC, as a decimal.
	Price string
	// Metered reports that Price is the most that the request costs.
	Metered bool
	// TestMode reports whether the gate is in test mode.
	TestMode bool
	// Bundle describes the credit bundles that are sold. Nil if there are none.
	Bundle *PageBundle
	// MandateHeader is the name of the request header that carries a mandate.
	MandateHeader string
	// APIURL is the service that issues mandates.
	APIURL string
	// MandateURL is the address at which a person gets a mandate; see [Config.MandateURL].
	// May be empty.
	MandateURL string
	// Accepts are the tokens that wallets can pay with.
	Accepts []PageAccept
	// Wallets are the tokens that a wallet in the browser can pay with: Accepts, if the
	// request can be repeated by a script, which is the case for GET.
	Wallets []PageAccept
}

// PageAccept is a token that a wallet can pay with.
type PageAccept struct {
	// Network is the CAIP-2 name of the chain.
	Network string
	// NetworkName is the name of the chain for people: "Base".
	NetworkName string
	// ChainID is the EIP-155 id of the chain.
	ChainID int64
	// Asset is the name of the token and the address of its contract.
	Asset string
	// Token is the name of the token, and Contract the address of its contract.
	Token, Contract string
	// Amount is the price in base units of the token.
	Amount string
	// PayTo is the address of the payee.
	PayTo string
}

// PageBundle describes credit bundles.
type PageBundle struct {
	// PurchaseURL is the address that sells them.
	PurchaseURL string
	// Tiers are the sizes of bundle.
	Tiers []PageTier
}

// PageTier is a [Tier] with its price as text.
type PageTier struct {
	// Name is the name of the tier.
	Name string
	// Dollars is the price: "$5.00".
	Dollars string
	// Requests is the number of requests that it buys.
	Requests int64
}

// pageWriter writes the page for a request. A nil pageWriter writes none.
type pageWriter func(w io.Writer, r *http.Request, p PageData) error

// newPageWriter returns the writer of the configuration, the built-in one, or nil.
func newPageWriter(c Config) (pageWriter, error) {
	switch {
	case c.NoPage:
		return nil, nil
	case c.Page != nil:
		return c.Page, nil
	}
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("paywall: parse the page: %w", err)
	}
	return func(w io.Writer, _ *http.Request, p PageData) error {
		return t.Execute(w, builtInPage{p, template.CSS(paypage.Style), template.JS(pageScript)}) //nolint:gosec // embedded files
	}, nil
}

// builtInPage is what the template of the built-in page shows.
type builtInPage struct {
	PageData

	Style  template.CSS
	Script template.JS
}

// maxPage is the largest page, in bytes.
const maxPage = 256 << 10

// pageFor returns the page for a request, or nil if the response is JSON: because the client
// prefers it, or because the page could not be written.
func (g *Gate) pageFor(r *http.Request, o *offer) []byte {
	if g.page == nil || !prefersHTML(r.Header["Accept"]) {
		return nil
	}
	var b bytes.Buffer
	err := g.page(&b, r, g.pageData(r, o))
	if err == nil && b.Len() > maxPage {
		err = fmt.Errorf("is over %d bytes", maxPage)
	}
	if err != nil {
		g.logger.ErrorContext(r.Context(), "paywall: write page", slog.Any("error", err))
		return nil
	}
	return b.Bytes()
}

func (g *Gate) pageData(r *http.Request, o *offer) PageData {
	p := PageData{
		Resource: o.resource, Description: o.two.Resource.Description, Price: o.price, Metered: o.metered, TestMode: g.testMode,
		MandateHeader: HeaderMandate, APIURL: g.apiURL, Merchant: g.merchantName, MandateURL: g.mandateURL,
	}
	if p.Merchant == "" {
		p.Merchant = o.realm
	}
	for _, a := range o.accepts {
		p.Accepts = append(p.Accepts, PageAccept{
			Network: a.network.CAIP2, NetworkName: networkName(a.network), ChainID: a.network.ChainID, Asset: a.asset.Name + " " + a.asset.Address,
			Token: a.asset.Name, Contract: a.asset.Address, Amount: a.two.Amount, PayTo: a.two.PayTo,
		})
	}
	if r.Method == http.MethodGet {
		p.Wallets = p.Accepts
	}
	if g.bundle != nil {
		p.Bundle = &PageBundle{PurchaseURL: g.bundle.PurchaseURL}
		for _, tier := range g.bundle.Tiers {
			p.Bundle.Tiers = append(p.Bundle.Tiers, PageTier{
				Name: tier.Name, Requests: tier.Requests, Dollars: fmt.Sprintf("$%d.%02d", tier.USDCents/100, tier.USDCents%100),
			})
		}
	}
	return p
}

// networkName returns the name of a chain for people.
func networkName(n x402.Network) string {
	switch n.CAIP2 {
	case x402.NetworkBase:
		return "Base"
	case x402.NetworkBaseSepolia:
		return "Base Sepolia"
	}
	return "chain " + strconv.FormatInt(n.ChainID, 10)
}
