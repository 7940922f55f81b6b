// Package market lists paid endpoints: what was paid through the service's facilitator, the
// servers that merchants register, and what other catalogs list.
//
// Everything that it reads is a stranger's. Each answer is bounded in size and time, comes from a
// public address, and is stored as lines of plain text. One instance reads for all, under leases
// in the store. A catalog that fails is asked again after a pause that doubles, and its entries
// are marked as stale until it answers again.
package market

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// look is the interval, in real time, at which Clock is read.
	look = time.Second
	// workLease is how long an instance may take for one catalog or a round of servers before
	// another one takes over.
	workLease = 5 * time.Minute
	// batch is how many listings one transaction writes: few, because charges wait for it.
	batch = 8
	// keepStale is how long a stale listing is kept.
	keepStale = 7 * 24 * time.Hour
	// freshPaid is how long an endpoint that was paid here is fresh without another payment.
	freshPaid = 30 * 24 * time.Hour
	// sweepEvery is the pause between two sweeps of what is stale.
	sweepEvery = 10 * time.Minute
)

// Config configures [New]. Store, Merchant, Payee, Clock and Logger are required.
type Config struct {
	Store interface {
		store.Listings
		TakeWork(ctx context.Context, name, owner string, now, until time.Time) (cursor string, taken bool, err error)
		LeaveWork(ctx context.Context, name, owner, cursor string) error
	}
	Merchant func(ctx context.Context, id string) (ledger.Merchant, error)
	// Payee returns the id of the merchant who is paid at a wallet, or an empty string. Required.
	Payee  func(ctx context.Context, payTo string) (merchantID string, err error)
	Clock  func() time.Time
	Logger *slog.Logger
	// Upstreams are the catalogs that are read. Default: none.
	Upstreams []Upstream
	// AllowPrivate lets servers and their endpoints have addresses that are not public, for
	// development.
	AllowPrivate bool
	// Pulled records the result of reading an upstream. Default: nothing is recorded.
	Pulled func(upstream, outcome string)
	// Limits of an upstream. Zero: the defaults.
	Limits Limits
}

// Market reads and searches listings. It is safe for concurrent use.
type Market struct {
	Config

	fetch fetcher
	owner string // in leases
	looks looks

	payments payments

	stop context.CancelFunc
	loop sync.WaitGroup
}

// New returns a market. It does nothing in the background before [Market.Start].
func New(cfg Config) *Market {
	cfg.Limits = cfg.Limits.orDefault()
	if cfg.Pulled == nil {
		cfg.Pulled = func(string, string) {}
	}
	return &Market{
		Config: cfg, fetch: newFetcher(cfg.AllowPrivate, cfg.Limits.Timeout), owner: id.NewCapability("own_"),
		looks: looks{places: make(chan struct{}, maxLooks), of: map[string]bool{}},
	}
}

// Start begins the background work.
func (m *Market) Start(ctx context.Context) {
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, u := range m.Upstreams {
		m.every(ctx, func(ctx context.Context) time.Duration { return m.pullDue(ctx, u) })
	}
	m.every(ctx, m.refreshServers)
	m.every(ctx, m.listPaid)
	m.every(ctx, m.sweep)
}

// Close ends it. It may be called twice, and without Start.
func (m *Market) Close() {
	if m.stop != nil {
		m.stop()
	}
	m.loop.Wait()
	m.fetch.client.CloseIdleConnections()
}

// every calls work, which returns the pause before the next call, by Clock.
func (m *Market) every(ctx context.Context, work func(context.Context) time.Duration) {
	m.loop.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for next := m.Clock(); ; {
			if !m.Clock().Before(next) {
				next = m.Clock().Add(work(ctx))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// failed logs an error of the store.
func (m *Market) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		m.Logger.ErrorContext(ctx, "market", slog.String("error", err.Error()))
	}
}

// save stores listings in short transactions.
func (m *Market) save(ctx context.Context, all []store.Listing) error {
	for len(all) > 0 {
		n := min(len(all), batch)
		if err := m.Store.UpsertListings(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// stale marks what was not seen since a time.
func (m *Market) stale(ctx context.Context, of store.ListingScope, unseenSince time.Time) error {
	for {
		n, err := m.Store.MarkListingsStale(ctx, of, unseenSince, m.Clock(), batch)
		if err != nil || n < batch {
			return err
		}
	}
}

// sweep marks endpoints that were not paid for long, and deletes what is stale for long.
func (m *Market) sweep(ctx context.Context) time.Duration {
	now := m.Clock()
	const name = "market:sweep"
	_, taken, err := m.Store.TakeWork(ctx, name, m.owner, now, now.Add(workLease))
	if err != nil || !taken {
		m.failed(ctx, err)
		return sweepEvery
	}
	m.failed(ctx, m.stale(ctx, store.ListingScope{Source: store.SourceFacilitator}, now.Add(-freshPaid)))
	for {
		n, err := m.Store.DeleteStaleListings(ctx, now.Add(-keepStale), batch)
		if m.failed(ctx, err); err != nil || n < batch {
			break
		}
	}
	m.failed(ctx, m.Store.LeaveWork(context.WithoutCancel(ctx), name, m.owner, ""))
	return sweepEvery
}

// Search returns a page of the market.
func (m *Market) Search(ctx context.Context, p client.MarketParams, after store.ListingCursor) (client.MarketPage, error) {
	words := []string{}
	for prefix, value := range map[string]string{wordCategory: category(p.Category), wordMethod: p.Method, wordProtocol: p.Protocol} {
		if value != "" {
			words = append(words, prefix+value)
		}
	}
	for _, word := range split(p.Query) {
		if len(words) < store.MaxListingWords {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		words = append(words, wordAll)
	}
	search := store.ListingSearch{Words: words, Low: -1, High: -1, After: after, Limit: p.Limit}
	if p.MinPriceMicros > 0 {
		search.Low = ledger.Micros(p.MinPriceMicros)
	}
	if p.MaxPriceMicros > 0 {
		search.High = ledger.Micros(p.MaxPriceMicros)
	}
	found, next, err := m.Store.SearchListings(ctx, search)
	if err != nil {
		return client.MarketPage{}, err
	}
	page := client.MarketPage{Data: make([]client.MarketEntry, 0, len(found)), NextCursor: next.String()}
	for _, l := range found {
		all, err := m.Store.ListingsOf(ctx, l.Method, l.URL)
		if err != nil {
			return client.MarketPage{}, err
		}
		page.Data = append(page.Data, merge(l, all))
	}
	return page, nil
}

// merge returns the entry of a listing with what the others of its method and URL add. They add
// no text, so that no source speaks for another.
func merge(l store.Listing, all []store.Listing) client.MarketEntry {
	e := client.MarketEntry{
		Method: l.Method, URL: l.URL, Owner: l.Owner, Verified: l.Verified, Title: l.Title, Description: l.Description, Category: l.Category,
		Protocols: l.Protocols, Offers: offers(l), Sources: []string{}, FirstSeen: l.FirstSeen, LastSeen: l.LastSeen, Stale: true,
		LastSettled: l.LastSettled, Settlements: l.Settlements,
	}
	if l.InputSchema != "" {
		e.InputSchema = json.RawMessage(l.InputSchema)
	}
	if l.OutputSchema != "" {
		e.OutputSchema = json.RawMessage(l.OutputSchema)
	}
	if l.Low >= 0 {
		low, high := int64(l.Low), int64(l.High)
		e.MinPriceMicros, e.MaxPriceMicros = &low, &high
	}
	for _, other := range all {
		e.Sources = append(e.Sources, other.Source)
		e.Stale = e.Stale && !other.StaleSince.IsZero()
		if other.FirstSeen.Before(e.FirstSeen) {
			e.FirstSeen = other.FirstSeen
		}
		if other.LastSeen.After(e.LastSeen) {
			e.LastSeen = other.LastSeen
		}
	}
	return e
}

func offers(l store.Listing) []client.MarketOffer {
	all := []client.MarketOffer{}
	if json.Unmarshal([]byte(l.Offers), &all) != nil {
		return []client.MarketOffer{}
	}
	return all
}
