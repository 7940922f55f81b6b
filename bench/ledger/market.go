package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	fewListings, manyListings = 1_000, 100_000
	// listed is how many listings are written in one transaction.
	listed = 1_000
	// rare is how many listings have the rare word.
	rare = 5
	// marketPage is a page of the market.
	marketPage = 20
)

// topics are words of listings: one in ten has each of them.
var topics = [...]string{"weather", "maps", "prices", "news", "images", "translation", "search", "sports", "mail", "music"}

// noneTogether reads as much of the index as a search may, which 1,000 listings do not have, so
// that a ratio has no aim.
const noneTogether = "two words that no listing has together"

// searches are what a person asks the market, by the words of the index.
var searches = [...]struct {
	name  string
	words []string
	high  ledger.Micros
	pages int
}{
	{name: "first page", words: []string{"=all"}, high: -1, pages: 1},
	{name: "third page", words: []string{"=all"}, high: -1, pages: 3},
	{name: "a word", words: []string{"weather"}, high: -1, pages: 1},
	{name: "a rare word", words: []string{"rare"}, high: -1, pages: 1},
	{name: "two words and a method", words: []string{"weather", "daily", "=m:GET"}, high: -1, pages: 1},
	{name: "a category below a price", words: []string{"=c:maps"}, high: 5_000, pages: 1},
	{name: noneTogether, words: []string{"weather", "maps"}, high: -1, pages: 1},
}

// market measures searches with few and with many listings, in turn.
func market(ctx context.Context, t *table, e engine) (err error) {
	var stores [2]store.Listings
	for i, n := range []int{fewListings, manyListings} {
		opened, err := e.open()
		if err != nil {
			return err
		}
		defer opened.Close()
		stores[i] = opened.(store.Listings) //nolint:forcetypeassert // both engines have listings
		if err := list(ctx, stores[i], n); err != nil {
			return err
		}
	}
	for _, s := range searches {
		var took [2][]time.Duration
		for range rounds {
			for i, listings := range stores {
				start := time.Now()
				if err := find(ctx, listings, s.words, s.high, s.pages); err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				took[i] = append(took[i], time.Since(start))
			}
		}
		a, b := median(took[0]), median(took[1])
		what := e.name + ", market: " + s.name + " of 100,000 listings"
		aim := 1.3
		if s.name == noneTogether {
			aim = 0
		}
		t.add(figure{what: what + " against 1,000", got: float64(b) / float64(a), unit: "×", aim: aim, below: true, note: fmt.Sprintf("median %v against %v", b, a)})
		t.add(figure{what: what, got: float64(b) / float64(time.Millisecond), unit: " ms", aim: 20, below: true})
	}
	return nil
}

// find reads pages of a search, and what other sources say of each listing.
func find(ctx context.Context, listings store.Listings, words []string, high ledger.Micros, pages int) error {
	search := store.ListingSearch{Words: words, Low: -1, High: high, Limit: marketPage}
	for range pages {
		found, next, err := listings.SearchListings(ctx, search)
		if err != nil {
			return err
		}
		for _, l := range found {
			all, err := listings.ListingsOf(ctx, l.Method, l.URL)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return errors.New("a listing that was found is gone")
			}
		}
		search.After = next
	}
	return nil
}

// list stores n listings.
func list(ctx context.Context, listings store.Listings, n int) error {
	now := time.Now().Truncate(time.Millisecond)
	for first := 0; first < n; first += listed {
		batch := make([]store.Listing, listed)
		for i := range batch {
			k := first + i
			topic, how := topics[k%len(topics)], [...]string{"daily", "hourly", "monthly"}[k%3]
			batch[i] = store.Listing{
				Source: store.SourceUpstream + "bench", Method: [...]string{"GET", "POST"}[k/10%2], URL: fmt.Sprintf("https://shop%d.example/%s/%d", k%500, topic, k),
				Owner: fmt.Sprintf("https://shop%d.example", k%500), Title: "Reports on " + topic, Description: "A " + how + " report", Category: topic,
				Protocols: []string{"x402"}, Low: ledger.Micros(1000 + k%20*1000), High: ledger.Micros(1000 + k%20*1000), PayTo: []string{"0xab"}, Offers: "[]",
				LastSeen: now, Rank: int64(k * 7919 % 30_000),
			}
			batch[i].Words = []string{"=all", "=m:" + batch[i].Method, "=c:" + topic, "=p:x402", topic, how, "report", fmt.Sprintf("shop%d", k%500)}
			if k%(n/rare) == 0 {
				batch[i].Words = append(batch[i].Words, "rare")
			}
		}
		if err := listings.UpsertListings(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}
