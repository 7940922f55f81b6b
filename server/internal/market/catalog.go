package market

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/x402"
)

// Payment protocols.
const (
	protocolX402 = "x402"
	protocolMPP  = "mpp"
)

// x402Page is a page of discovery/resources (x402 v2 §8). Version 1 entries are read too.
type x402Page struct {
	Items      []json.RawMessage `json:"items"`
	Pagination json.RawMessage   `json:"pagination"`
}

// total returns the number of items of all pages, or 0.
func (p x402Page) total() int {
	var said struct {
		Total int `json:"total"`
	}
	if err := json.Unmarshal(p.Pagination, &said); err != nil {
		return 0
	}
	return said.Total
}

type x402Item struct {
	Resource    string                     `json:"resource"`
	Type        string                     `json:"type"`
	Accepts     []json.RawMessage          `json:"accepts"`
	Description string                     `json:"description"`
	ServiceName string                     `json:"serviceName"`
	Tags        []string                   `json:"tags"`
	Extensions  map[string]x402.Extension  `json:"extensions"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
}

// x402Accept is an entry of accepts in either version.
type x402Accept struct {
	Scheme      string         `json:"scheme"`
	Network     string         `json:"network"`
	Amount      string         `json:"amount"`
	MaxAmount   string         `json:"maxAmountRequired"`
	Asset       string         `json:"asset"`
	PayTo       string         `json:"payTo"`
	Description string         `json:"description"`
	Extra       map[string]any `json:"extra"`
}

// readX402 returns the listings of a page, the number of its items, and that of all pages, which
// is 0 if the page does not say it. It leaves out items that cannot be listed.
func (r reader) readX402(body []byte) (found []store.Listing, items, total int, err error) {
	var page x402Page
	if err := json.Unmarshal(body, &page); err != nil || page.Items == nil {
		return nil, 0, 0, faulty(invalidJSON, "the page has no list of items")
	}
	for _, raw := range page.Items {
		var item x402Item
		if json.Unmarshal(raw, &item) != nil || (item.Type != "http" && item.Type != "") {
			continue
		}
		d := newDraft(r.source, "", r.now)
		d.Title, d.Description = item.ServiceName, item.Description
		if len(item.Tags) > 0 {
			d.Category = item.Tags[0]
		}
		method := d.bazaar(item.Extensions[x402.ExtensionBazaar])
		if !d.at(method, item.template(), r.private) {
			continue
		}
		for _, entry := range item.Accepts {
			var a x402Accept
			if json.Unmarshal(entry, &a) == nil {
				d.accept(a)
			}
		}
		if l, ok := d.finish(r.now); ok {
			found = append(found, l)
		}
	}
	return found, len(page.Items), page.total(), nil
}

// template returns the URL of an item, with {name} for each parameter of its path.
func (item x402Item) template() string {
	u, err := url.Parse(item.Resource)
	if err != nil || item.Extensions[x402.ExtensionBazaar].RouteTemplate == "" {
		return item.Resource
	}
	return u.Scheme + "://" + u.Host + braces(u.EscapedPath())
}

// bazaar reads the declaration of an endpoint, and returns its method.
func (d *draft) bazaar(e x402.Extension) (method string) {
	var info struct {
		Input struct {
			Method string `json:"method"`
		} `json:"input"`
	}
	var declared struct {
		Properties struct {
			Input  json.RawMessage `json:"input"`
			Output struct {
				Properties struct {
					Example json.RawMessage `json:"example"`
				} `json:"properties"`
			} `json:"output"`
		} `json:"properties"`
	}
	if json.Unmarshal(e.Info, &info) != nil {
		return ""
	}
	if json.Unmarshal(e.Schema, &declared) == nil {
		d.InputSchema, d.OutputSchema = schema(declared.Properties.Input), schema(declared.Properties.Output.Properties.Example)
	}
	return info.Input.Method
}

// accept adds an entry of accepts.
func (d *draft) accept(a x402Accept) {
	if a.Amount == "" {
		a.Amount = a.MaxAmount
	}
	if d.Description == "" {
		d.Description = a.Description
	}
	decimals := -1
	if name, _ := a.Extra["name"].(string); name == "USDC" || name == "USD Coin" {
		decimals = 6
	}
	if n, err := x402.ParseNetwork(a.Network); err == nil {
		a.Network = n.CAIP2
		if usdc, ok := x402.USDC(n.ChainID); ok && strings.EqualFold(usdc.Address, a.Asset) {
			decimals = usdc.Decimals
		}
	}
	d.offer(client.MarketOffer{
		Protocol: protocolX402, Method: a.Scheme, Network: a.Network, Asset: a.Asset, Amount: a.Amount, PayTo: a.PayTo,
	}, decimals)
}

// mppDirectory is the document of a directory of MPP services, version 1.
type mppDirectory struct {
	Version  int               `json:"version"`
	Services []json.RawMessage `json:"services"`
}

type mppService struct {
	Name        string            `json:"name"`
	ServiceURL  string            `json:"serviceUrl"`
	Description string            `json:"description"`
	Categories  []string          `json:"categories"`
	Status      string            `json:"status"`
	Endpoints   []json.RawMessage `json:"endpoints"`
}

type mppEndpoint struct {
	Method      string      `json:"method"`
	Path        string      `json:"path"`
	Description string      `json:"description"`
	Payment     *mppPayment `json:"payment"`
}

type mppPayment struct {
	Intent   string `json:"intent"`
	Method   string `json:"method"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Decimals *int   `json:"decimals"`
}

// readMPP returns the listings of a directory. It leaves out what is free.
func (r reader) readMPP(body []byte) ([]store.Listing, error) {
	var doc mppDirectory
	if err := json.Unmarshal(body, &doc); err != nil || doc.Services == nil {
		return nil, faulty(invalidJSON, "the document has no list of services")
	}
	var found []store.Listing
	for _, raw := range doc.Services {
		var service mppService
		if json.Unmarshal(raw, &service) != nil || service.Status == "deprecated" {
			continue
		}
		for _, raw := range service.Endpoints {
			var e mppEndpoint
			if json.Unmarshal(raw, &e) != nil || e.Payment == nil {
				continue
			}
			if l, ok := r.mppListing(service, e); ok {
				found = append(found, l)
			}
			if len(found) > r.most {
				return nil, faulty(tooMany, "more than %d entries", r.most)
			}
		}
	}
	return found, nil
}

func (r reader) mppListing(s mppService, e mppEndpoint) (store.Listing, bool) {
	d := newDraft(r.source, "", r.now)
	d.Title, d.Description = s.Name, e.Description
	if d.Description == "" {
		d.Description = s.Description
	}
	if len(s.Categories) > 0 {
		d.Category = s.Categories[0]
	}
	segments := strings.Split(e.Path, "/")
	for i, segment := range segments {
		if name, ok := strings.CutPrefix(segment, ":"); ok {
			segments[i] = "{" + name + "}"
		}
	}
	if !d.at(e.Method, strings.TrimSuffix(s.ServiceURL, "/")+strings.Join(segments, "/"), r.private) {
		return store.Listing{}, false
	}
	decimals := -1
	if e.Payment.Decimals != nil {
		decimals = *e.Payment.Decimals
	}
	d.offer(client.MarketOffer{Protocol: protocolMPP, Method: e.Payment.Method, Asset: e.Payment.Currency, Amount: e.Payment.Amount}, decimals)
	return d.finish(r.now)
}

// reader converts documents of one source.
type reader struct {
	source  string
	now     time.Time
	private bool
	most    int
}
