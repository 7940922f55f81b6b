package paywall

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
)

//go:embed page.html
var pageText string

// PageData is what the page for browsers shows.
type PageData struct {
	Resource, Description string
	// Price in USDC, a decimal.
	Price    string
	TestMode bool
	// Bundle is nil if none are sold.
	Bundle *PageBundle
	// MandateHeader carries a mandate, APIURL is the service that issues them.
	MandateHeader, APIURL string
	// Network, Asset and PayTo are for wallets.
	Network, Asset, PayTo string
}

// PageBundle names the page that sells requests in advance.
type PageBundle struct {
	PurchaseURL string
	Tiers       []PageTier
}

// PageTier is a [Tier] in words.
type PageTier struct {
	Name string
	// Dollars is the price: "$5.00".
	Dollars  string
	Requests int64
}

// pageWriter writes the page for a request; nil writes none.
type pageWriter func(w io.Writer, r *http.Request, p PageData) error

// newPageWriter returns the merchant's own, the built-in one, or none.
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
	return func(w io.Writer, _ *http.Request, p PageData) error { return t.Execute(w, p) }, nil
}

// maxPage is the largest page that is sent, in bytes.
const maxPage = 256 << 10

// pageFor is the page that answers a request, or nil if JSON does: because the
// client prefers that, or because no page could be written.
func (g *Gate) pageFor(r *http.Request, o *offer) []byte {
	if g.page == nil || !prefersHTML(r.Header["Accept"]) {
		return nil
	}
	var b bytes.Buffer
	err := g.page(&b, r, g.pageData(o))
	if err == nil && b.Len() > maxPage {
		err = fmt.Errorf("is over %d bytes", maxPage)
	}
	if err != nil {
		g.logger.ErrorContext(r.Context(), "paywall: no page", slog.Any("error", err))
		return nil
	}
	return b.Bytes()
}

func (g *Gate) pageData(o *offer) PageData {
	p := PageData{
		Resource: o.resource, Description: o.two.Resource.Description, Price: o.price, TestMode: g.testMode,
		MandateHeader: HeaderMandate, APIURL: g.apiURL,
		Network: g.network.CAIP2, Asset: g.asset.Name + " " + g.asset.Address, PayTo: o.two.Accepts[0].PayTo,
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
