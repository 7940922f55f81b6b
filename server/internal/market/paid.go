package market

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	// maxDeclaration limits the declaration of an endpoint, and its entry in the catalog, in bytes.
	maxDeclaration = 32 << 10
	// maxPaid is how many endpoints may wait to be listed, and maxPaidOfOne how many of one wallet.
	maxPaid, maxPaidOfOne = 1000, 50
	// maxAsked is how many endpoints are remembered as asked, and askAgain for how long.
	maxAsked = 10_000
	askAgain = 6 * time.Hour
)

// paid is an endpoint that was paid and waits to be listed.
type paid struct {
	draft

	sample string // the URL that was paid for
	asked  x402.Requirements
	payTo  string
	times  int64
}

// payments are what [Market.Paid] has received.
type payments struct {
	mu      sync.Mutex
	waiting map[string]*paid
	of      map[string]int                  // how many of waiting each wallet has
	asked   map[[sha256.Size]byte]time.Time // hashes of declarations that their endpoints made themselves
}

// Paid lists an endpoint that was paid, within seconds. It returns why its declaration cannot be
// listed, or an empty string. An endpoint that is read by GET is asked first whether it wants to
// be paid so, and is listed with its own declaration: a payment's is written by the payer, and a
// stranger who pays itself, or the seller, cannot speak for a server.
func (m *Market) Paid(r x402.Resource, asked x402.Requirements, e x402.Extension) (problem string) {
	p, problem := m.declared(r, asked, e)
	if problem != "" {
		return problem
	}
	if !m.payments.add(p) {
		return "too many endpoints are being listed; the next payment lists this one"
	}
	return ""
}

// add has an endpoint wait to be listed. It reports false if too many wait.
func (w *payments) add(p *paid) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := strings.Join([]string{p.Method, p.URL, p.payTo}, " ")
	switch old := w.waiting[key]; {
	case old != nil:
		p.times += old.times
	case len(w.waiting) >= maxPaid || w.of[p.payTo] >= maxPaidOfOne:
		return false
	default:
		if w.waiting == nil {
			w.waiting, w.of = map[string]*paid{}, map[string]int{}
		}
		w.of[p.payTo]++
	}
	w.waiting[key] = p
	return true
}

// take returns the endpoints that wait.
func (w *payments) take() map[string]*paid {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := w.waiting
	w.waiting, w.of = nil, nil
	return waiting
}

// declared reads the declaration of an endpoint.
func (m *Market) declared(r x402.Resource, asked x402.Requirements, e x402.Extension) (p *paid, problem string) {
	if len(e.Info)+len(e.Schema) > maxDeclaration {
		return nil, "the declaration is too long"
	}
	if err := e.Validate(); err != nil {
		return nil, line(err.Error(), maxDescription)
	}
	payTo, err := x402.ParseAddress(asked.PayTo)
	if err != nil {
		return nil, "payTo is not an address"
	}
	p = &paid{draft: newDraft(store.SourceFacilitator, "", m.Clock()), asked: asked, payTo: payTo, times: 1}
	method := p.bazaar(e)
	if method != http.MethodGet {
		r.Description, r.MimeType = "", "" // the payer's words, which the endpoint is not asked about
	}
	p.Description = r.Description
	u, ok := endpoint(r.URL, m.AllowPrivate)
	if !ok {
		return nil, "resource.url is not a public https URL"
	}
	p.sample = u.String()
	path, ok := route(u.EscapedPath(), e.RouteTemplate)
	switch {
	case p.OutputSchema == "":
		return nil, "schema describes no output: output.schema is required"
	case !ok:
		return nil, "routeTemplate does not fit resource.url"
	case !p.at(method, u.Scheme+"://"+u.Host+path, m.AllowPrivate):
		return nil, "info.input.method is not the method of an HTTP endpoint"
	}
	if !strings.Contains(path, "{") {
		e.RouteTemplate = ""
	}
	p.accept(x402Accept{
		Scheme: asked.Scheme, Network: asked.Network, Amount: asked.Amount, Asset: asked.Asset, PayTo: p.payTo, Extra: asked.Extra,
	})
	item, err := json.Marshal(x402.DiscoveryItem{
		Resource: u.Scheme + "://" + u.Host + colons(path), Type: x402.DiscoveryHTTP, X402Version: x402.Version2, Accepts: []x402.Requirements{asked},
		Description: line(r.Description, maxDescription), MimeType: line(r.MimeType, maxField),
		Extensions: map[string]x402.Extension{x402.ExtensionBazaar: e},
	})
	if err != nil || len(item) > maxDeclaration {
		return nil, "the declaration is too long"
	}
	p.Item = string(item)
	return p, ""
}

// route returns the path of an endpoint, with {name} for each parameter of a template such as
// "/users/:name". A template that begins with a parameter is not used: on a host that sellers
// share, it covers others' endpoints. route reports false if the path does not fit the template.
func route(path, template string) (string, bool) {
	if template == "" {
		return path, true
	}
	parts, values := strings.Split(template, "/"), strings.Split(path, "/")
	if len(parts) != len(values) {
		return "", false
	}
	for i, part := range parts {
		name, parameter := strings.CutPrefix(part, ":")
		switch {
		case !parameter && part != values[i], parameter && (name == "" || url.PathEscape(name) != name):
			return "", false
		case parameter:
			parts[i] = "{" + name + "}"
		}
	}
	if len(parts) > 1 && strings.HasPrefix(parts[1], "{") {
		return path, true
	}
	return strings.Join(parts, "/"), true
}

// colons returns a path with :name for each {name}, as x402 writes templates.
func colons(path string) string { return strings.NewReplacer("{", ":", "}", "").Replace(path) }

// braces is the inverse of colons.
func braces(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok && name != "" {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// listPaid lists the endpoints that were paid since the last call, each as soon as it has answered.
// One that could not be stored waits for the next call.
func (m *Market) listPaid(ctx context.Context) time.Duration {
	var running sync.WaitGroup
	slots := make(chan struct{}, together)
	for _, p := range m.payments.take() {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			l, ok := m.listing(ctx, p)
			if !ok {
				return
			}
			if err := m.save(ctx, []store.Listing{l}); err != nil {
				m.failed(ctx, err)
				m.payments.add(p)
			}
		})
	}
	running.Wait()
	return look
}

// listing returns the listing of a paid endpoint. It reports false if it is not to be listed.
func (m *Market) listing(ctx context.Context, p *paid) (store.Listing, bool) {
	merchant, err := m.Payee(ctx, p.payTo)
	if err != nil {
		m.failed(ctx, err)
		return store.Listing{}, false
	}
	p.MerchantID = p.payTo
	if merchant != "" {
		p.MerchantID = merchant
		if owner, err := m.Merchant(ctx, merchant); err != nil || !owner.Active {
			m.failed(ctx, err)
			return store.Listing{}, false
		}
	}
	if p.Verified = p.Method == http.MethodGet; p.Verified && !m.asksFor(ctx, p) {
		m.Logger.InfoContext(ctx, "market: a paid endpoint does not ask for this payment, so it is not listed",
			slog.String("url", p.sample), slog.String("payTo", p.payTo))
		return store.Listing{}, false
	}
	all, err := m.Store.ListingsOf(ctx, p.Method, p.URL)
	if err != nil {
		m.failed(ctx, err)
		return store.Listing{}, false
	}
	p.LastSettled, p.Settlements = p.LastSeen, p.times
	for _, old := range all {
		if old.Source == p.Source && old.MerchantID == p.MerchantID {
			p.Settlements += old.Settlements
		}
	}
	l, ok := p.finish(m.Clock()) // ranked by all settlements
	l.Settlements = p.times      // which are added to those that are stored
	return l, ok
}

// asksFor reports whether the endpoint asks for the payment that was made. It replaces the payer's
// declaration by the endpoint's own.
func (m *Market) asksFor(ctx context.Context, p *paid) bool {
	key, now := sha256.Sum256([]byte(p.Item)), m.Clock()
	m.payments.mu.Lock()
	at, known := m.payments.asked[key]
	m.payments.mu.Unlock()
	if known && now.Sub(at) < askAgain {
		return true
	}
	a, err := m.fetch.send(ctx, http.MethodGet, p.sample, "", http.Header{"Accept": {"application/json"}}, maxChallenge)
	if err != nil || a.status != http.StatusPaymentRequired {
		return false
	}
	required, err := x402.DecodePaymentRequired(a.header.Get(x402.HeaderPaymentRequired))
	if err != nil {
		return false
	}
	required.Resource.URL = p.sample // an endpoint speaks for itself alone
	for _, r := range required.Accepts {
		if !p.paidBy(r) {
			continue
		}
		own, problem := m.declared(required.Resource, r, required.Extensions[x402.ExtensionBazaar])
		if problem != "" || own.Method != p.Method || own.URL != p.URL {
			return false
		}
		own.Verified, own.MerchantID, own.times = p.Verified, p.MerchantID, p.times
		*p = *own
		m.payments.mu.Lock()
		defer m.payments.mu.Unlock()
		if m.payments.asked == nil || len(m.payments.asked) >= maxAsked {
			m.payments.asked = map[[sha256.Size]byte]time.Time{}
		}
		m.payments.asked[sha256.Sum256([]byte(p.Item))] = now
		return true
	}
	return false
}

// paidBy reports whether the payment that was made is one that r asks for.
func (p *paid) paidBy(r x402.Requirements) bool {
	whole := r.Amount == p.asked.Amount || r.Scheme == x402.SchemeUpto // of which a part is settled
	return whole && r.Scheme == p.asked.Scheme && r.Network == p.asked.Network &&
		x402.SameAddress(r.Asset, p.asked.Asset) && x402.SameAddress(r.PayTo, p.payTo)
}

// Resources returns a page of the facilitator's catalog. payTo is empty or as [x402.ParseAddress]
// returns it.
func (m *Market) Resources(ctx context.Context, payTo string, offset, limit int) (x402.DiscoveryPage, error) {
	page := x402.DiscoveryPage{X402Version: x402.Version2, Items: []x402.DiscoveryItem{}, Pagination: x402.Pagination{Limit: limit, Offset: offset}}
	found, total, err := m.Store.ListingsOfSource(ctx, store.SourceFacilitator, payTo, offset, limit)
	if err != nil {
		return page, err
	}
	page.Pagination.Total = total
	for _, l := range found {
		var item x402.DiscoveryItem
		if err := json.Unmarshal([]byte(l.Item), &item); err != nil {
			return page, err
		}
		item.LastUpdated = l.LastSeen
		page.Items = append(page.Items, item)
	}
	return page, nil
}
