package paywall

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

// PageData is what the page for browsers tells.
type PageData struct {
	Resource, Description string
	// Price in USDC, a decimal.
	Price    string
	TestMode bool
	// Bundle is nil where none are sold.
	Bundle *PageBundle
	// MandateHeader carries a mandate, APIURL is the service that issues them.
	MandateHeader, APIURL string
	// Network, Asset and PayTo are for wallets.
	Network, Asset, PayTo string
}

// PageBundle is where requests are sold in advance.
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

// pageWriter writes the page of an offer; nil writes none.
type pageWriter func(w io.Writer, p PageData) error

// newPageWriter takes the merchant's own, the built-in one, or none.
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
	return func(w io.Writer, p PageData) error { return t.Execute(w, p) }, nil
}

// maxPage is the largest page that is kept, in bytes.
const maxPage = 256 << 10

// render writes the page of one offer, once.
func (write pageWriter) render(t terms, o *offer, description string) ([]byte, error) {
	if write == nil {
		return nil, nil
	}
	p := PageData{
		Resource: o.resource, Description: description, Price: o.price, TestMode: t.testMode,
		MandateHeader: HeaderMandate, APIURL: t.apiURL,
		Network: t.network.CAIP2, Asset: t.asset.Name + " " + t.asset.Address, PayTo: t.route.PayTo,
	}
	if t.bundle != nil {
		p.Bundle = &PageBundle{PurchaseURL: t.bundle.PurchaseURL}
		for _, tier := range t.bundle.Tiers {
			p.Bundle.Tiers = append(p.Bundle.Tiers, PageTier{
				Name: tier.Name, Requests: tier.Requests, Dollars: fmt.Sprintf("$%d.%02d", tier.USDCents/100, tier.USDCents%100),
			})
		}
	}
	var b bytes.Buffer
	if err := write(&b, p); err != nil {
		return nil, field("Page", err)
	}
	if b.Len() > maxPage {
		return nil, field("Page", fmt.Errorf("is over %d bytes", maxPage))
	}
	return b.Bytes(), nil
}
