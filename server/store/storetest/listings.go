package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

func listing(source, url string, rank int64, at time.Time, words ...string) store.Listing {
	return store.Listing{
		Source: source, Method: "GET", URL: url, Owner: "https://shop.example", Title: url, Low: 1000, High: 2000, Protocols: []string{"x402"},
		PayTo: []string{"0xab"}, Offers: "[]", LastSeen: at, Rank: rank, Words: words,
	}
}

func urls(found []store.Listing) (all []string) {
	for _, l := range found {
		all = append(all, l.URL)
	}
	return all
}

// listings: a refresh changes what is found and keeps what was counted, and what its source no
// longer lists becomes stale, ranks last, recovers, and is deleted in the end.
func listings(t *testing.T, b *bench) {
	ctx, now := t.Context(), time.UnixMilli(1_800_000_000_000).UTC()
	search := func(words ...string) []string {
		t.Helper()
		found, _, err := b.store.SearchListings(ctx, store.ListingSearch{Words: words, Low: -1, High: -1, Limit: 10})
		require.NoError(t, err)
		return urls(found)
	}
	const up = store.SourceUpstream + "a"
	first := listing(up, "https://shop.example/a", 5, now, "all", "weather", "weather")
	first.Settlements, first.LastSettled, first.Verified = 3, now, true
	require.NoError(t, b.store.UpsertListings(ctx, []store.Listing{first, listing(up, "https://shop.example/b", 7, now.Add(time.Millisecond), "all")}))
	require.Equal(t, []string{"https://shop.example/b", "https://shop.example/a"}, search("all"))
	require.Equal(t, []string{"https://shop.example/a"}, search("all", "weather"))

	later := now.Add(time.Hour)
	require.NoError(t, b.store.UpsertListings(ctx, []store.Listing{listing(up, "https://shop.example/a", 9, later, "all", "rain")}))
	require.Empty(t, search("weather"))
	require.Equal(t, []string{"https://shop.example/a", "https://shop.example/b"}, search("all"))
	got, err := b.store.ListingsOf(ctx, "GET", "https://shop.example/a")
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.NoError(t, b.store.UpsertListings(ctx, []store.Listing{func() store.Listing {
		again := listing(up, "https://shop.example/a", 9, later, "all", "rain")
		again.Settlements = 2
		return again
	}()}))
	got[0].Settlements += 2
	page, total, err := b.store.ListingsOfSource(ctx, up, "0xab", 0, 1)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	require.Equal(t, got, page)
	page, total, err = b.store.ListingsOfSource(ctx, up, "", 1, 10)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	require.Equal(t, []string{"https://shop.example/b"}, urls(page))
	page, total, err = b.store.ListingsOfSource(ctx, up, "0xcd", 0, 10)
	require.NoError(t, err)
	require.Empty(t, page)
	require.Zero(t, total)

	first.Settlements = 5
	first.ID, first.FirstSeen, first.LastSeen, first.Rank, first.Words, first.Verified = got[0].ID, now, later, 9, nil, false
	require.Equal(t, first, got[0])

	n, err := b.store.MarkListingsStale(ctx, store.ListingScope{Source: up}, later, later, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, err = b.store.ListingsOf(ctx, "GET", "https://shop.example/b")
	require.NoError(t, err)
	require.Equal(t, later, got[0].StaleSince)
	require.EqualValues(t, 7-store.StaleRank, got[0].Rank)
	n, err = b.store.MarkListingsStale(ctx, store.ListingScope{Source: up}, later, later, 10)
	require.NoError(t, err)
	require.Zero(t, n, "marked once")
	require.Equal(t, []string{"https://shop.example/a", "https://shop.example/b"}, search("all"))

	require.NoError(t, b.store.UpsertListings(ctx, []store.Listing{listing(up, "https://shop.example/b", 10, later, "all")}))
	require.Equal(t, []string{"https://shop.example/b", "https://shop.example/a"}, search("all"), "recovered")
	n, err = b.store.MarkListingsStale(ctx, store.ListingScope{Source: up}, later.Add(1e9), later, 1)
	require.NoError(t, err)
	require.Equal(t, 1, n, "at most the limit")
	n, err = b.store.DeleteStaleListings(ctx, later.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Len(t, search("all"), 1)
}

// searchesOfListings: pages, prices, and one listing for each method and URL.
func searchesOfListings(t *testing.T, b *bench) {
	ctx, now := t.Context(), time.UnixMilli(1_800_000_000_000).UTC()
	all := make([]store.Listing, 0, 32)
	for i := range 25 {
		l := listing(store.SourceUpstream+"a", fmt.Sprintf("https://shop.example/%02d", i), int64(i/5), now, "all", "even"[:4-i%2*4]+"odd"[:i%2*3])
		l.Low, l.High = ledger.Micros(i*1000), ledger.Micros(i*1000+500)
		all = append(all, l)
	}
	all[24].Low, all[24].High = -1, -1
	all = append(all, listing(store.SourceDirectory, "https://shop.example/03", 100, now, "all", "odd"))
	require.NoError(t, b.store.UpsertListings(ctx, all))

	var found []string
	s := store.ListingSearch{Words: []string{"all"}, Low: -1, High: -1, Limit: 4}
	for range 10 {
		page, next, err := b.store.SearchListings(ctx, s)
		require.NoError(t, err)
		found = append(found, urls(page)...)
		if s.After = next; next == (store.ListingCursor{}) {
			break
		}
	}
	require.Len(t, found, 25, "each once")
	require.Equal(t, "https://shop.example/03", found[0], "the one with the highest rank")
	require.ElementsMatch(t, urls(all[:25]), found)

	odd, _, err := b.store.SearchListings(ctx, store.ListingSearch{Words: []string{"all", "odd"}, Low: 20_000, High: -1, Limit: 10})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"https://shop.example/21", "https://shop.example/23"}, urls(odd))
	cheap, _, err := b.store.SearchListings(ctx, store.ListingSearch{Words: []string{"even"}, Low: -1, High: 2000, Limit: 10})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"https://shop.example/00", "https://shop.example/02"}, urls(cheap))
	_, _, err = b.store.SearchListings(ctx, store.ListingSearch{Limit: 1})
	require.Error(t, err)
}

// marketServers: a merchant registers a server once, so many, and deletes its own with what it
// lists.
func marketServers(t *testing.T, b *bench) {
	ctx, now := t.Context(), time.UnixMilli(1_800_000_000_000).UTC()
	add := func(url string) (store.MarketServer, error) {
		return b.store.AddMarketServer(ctx, store.MarketServer{
			ID: id.New(id.MarketServer, now), MerchantID: b.merchant.ID, BaseURL: url, CreatedAt: now, DueAt: now,
		}, 2)
	}
	one, err := add("https://shop.example")
	require.NoError(t, err)
	again, err := add("https://shop.example")
	require.NoError(t, err)
	require.Equal(t, one, again)
	_, err = add("https://two.example")
	require.NoError(t, err)
	_, err = add("https://three.example")
	require.ErrorIs(t, err, store.ErrTooManyServers)
	_, err = add("https://two.example")
	require.NoError(t, err, "one that is registered")

	one.CheckedAt, one.DueAt, one.Failures, one.Report = now, now.Add(time.Hour), 2, `{"a":1}`
	require.NoError(t, b.store.SaveMarketServer(ctx, one))
	all, err := b.store.MarketServers(ctx, b.merchant.ID, 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Contains(t, all, one)
	due, err := b.store.DueMarketServers(ctx, now, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)

	l := listing(store.SourceDirectory, "https://shop.example/a", 1, now, "all")
	l.MerchantID = b.merchant.ID
	require.NoError(t, b.store.UpsertListings(ctx, []store.Listing{l}))
	require.ErrorIs(t, b.store.DeleteMarketServer(ctx, "mer_other", one.ID), ledger.ErrNotFound)
	require.NoError(t, b.store.DeleteMarketServer(ctx, b.merchant.ID, one.ID))
	left, err := b.store.ListingsOf(ctx, "GET", l.URL)
	require.NoError(t, err)
	require.Empty(t, left)
	require.ErrorIs(t, b.store.DeleteMarketServer(ctx, b.merchant.ID, one.ID), ledger.ErrNotFound)
	require.NoError(t, b.store.UpsertListings(ctx, []store.Listing{l})) // by a read that began before
	require.ErrorIs(t, b.store.SaveMarketServer(ctx, one), ledger.ErrNotFound)
	left, err = b.store.ListingsOf(ctx, "GET", l.URL)
	require.NoError(t, err)
	require.Empty(t, left)
}
