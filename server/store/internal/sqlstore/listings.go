package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// UpsertListings implements [store.Listings]. Rows are locked in one order.
func (s *Store) UpsertListings(ctx context.Context, all []store.Listing) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b store.Listing) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Source, b.Source), cmp.Compare(a.MerchantID, b.MerchantID))
	})
	return s.fail("upsert listings", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		for _, l := range all {
			if err := upsertListing(ctx, q, l); err != nil {
				return err
			}
		}
		return nil
	}))
}

func upsertListing(ctx context.Context, q *db.Queries, l store.Listing) error {
	key := db.ListingByKeyParams{Source: l.Source, MerchantID: l.MerchantID, Method: l.Method, Url: l.URL}
	old, err := q.ListingByKey(ctx, key)
	added := errors.Is(err, sql.ErrNoRows)
	if err != nil && !added {
		return err
	}
	l.ID = cmp.Or(old.ID, id.New(id.Listing, l.LastSeen))
	l.FirstSeen = l.LastSeen
	p := row.PutListing(l)
	p.SettledMs = max(p.SettledMs, old.SettledMs)
	if err := q.PutListing(ctx, p); err != nil {
		return err
	}
	if added { // another instance may have added it first
		if old, err = q.ListingByKey(ctx, key); err != nil {
			return err
		}
		l.ID = old.ID
	}
	words := slices.Compact(slices.Sorted(slices.Values(l.Words)))
	// The listing's row is locked since PutListing, and its words change only with it.
	stored, err := q.WordsOfListing(ctx, l.ID)
	same := slices.EqualFunc(words, stored, func(word string, s db.WordsOfListingRow) bool { return word == s.Word })
	switch {
	case err != nil:
		return err
	case same && !slices.ContainsFunc(stored, func(s db.WordsOfListingRow) bool { return s.Rank != l.Rank }):
		return nil
	case same:
		return q.RankListingWords(ctx, db.RankListingWordsParams{ListingID: l.ID, Rank: l.Rank})
	}
	if err := q.DeleteListingWords(ctx, l.ID); err != nil {
		return err
	}
	for _, word := range words {
		if err := q.AddListingWord(ctx, db.AddListingWordParams{Word: word, Rank: l.Rank, ListingID: l.ID}); err != nil {
			return err
		}
	}
	return nil
}

// SearchListings implements [store.Listings]. It reads the index of the rarest word.
func (s *Store) SearchListings(ctx context.Context, search store.ListingSearch) ([]store.Listing, store.ListingCursor, error) {
	none := store.ListingCursor{}
	words, err := s.rarestFirst(ctx, search.Words)
	if err != nil {
		return nil, none, err
	}
	p := db.SearchListingsParams{
		Word: words[0], Word2: words[1], Word3: words[2], Word4: words[3], Word5: words[4], Word6: words[5],
		Low: int64(search.Low), High: int64(search.High), Most: int64(search.Limit),
		Rank: search.After.Rank, ID: search.After.ID, FloorRank: math.MinInt64,
	}
	if search.After == none {
		p.Rank, p.ID = math.MaxInt64, ""
	}
	end := none
	floor, err := s.readQ.ListingFloor(ctx, db.ListingFloorParams{Word: p.Word, Rank: p.Rank, ID: p.ID, Depth: store.MaxListingsSearched - 1})
	switch {
	case err == nil:
		p.FloorRank, p.FloorID = floor.Rank, floor.ListingID
		end = store.ListingCursor{Rank: floor.Rank, ID: floor.ListingID}
	case !errors.Is(err, sql.ErrNoRows):
		return nil, none, s.fail("find the end of a search", err)
	}
	rows, err := s.readQ.SearchListings(ctx, p)
	found, err := many(s, func(r db.SearchListingsRow) (store.Listing, error) { return row.Listing(r.Listing) })(rows, err)
	if last := len(rows) - 1; err == nil && len(rows) == search.Limit {
		end = store.ListingCursor{Rank: rows[last].WordRank, ID: rows[last].Listing.ID} // by the index, so that no page goes back
	}
	return found, end, err
}

// rarestFirst returns the words of a search, that with the fewest listings first.
func (s *Store) rarestFirst(ctx context.Context, words []string) (sorted [store.MaxListingWords]string, err error) {
	if len(words) == 0 || len(words) > store.MaxListingWords {
		return sorted, errors.New("search listings: a search has 1 to 6 words")
	}
	copy(sorted[:], words)
	fewest := int64(math.MaxInt64)
	for i, word := range words {
		n, err := s.readQ.CountListingWord(ctx, db.CountListingWordParams{Word: word, Most: store.MaxListingsSearched})
		if err != nil {
			return sorted, s.fail("count listings", err)
		}
		if n < fewest {
			fewest = n
			sorted[0], sorted[i] = sorted[i], sorted[0]
		}
	}
	return sorted, nil
}

// ListingsOf implements [store.Listings].
func (s *Store) ListingsOf(ctx context.Context, method, url string) ([]store.Listing, error) {
	const most = 20
	return many(s, row.Listing)(s.readQ.ListingsOf(ctx, db.ListingsOfParams{Url: url, Method: method, Most: most}))
}

// ListingsOfSource implements [store.Listings].
func (s *Store) ListingsOfSource(ctx context.Context, source, payTo string, skip, limit int) (page []store.Listing, total int, err error) {
	n, err := s.readQ.CountListingsOfSource(ctx, db.CountListingsOfSourceParams{Source: source, PayTo: payTo})
	if err != nil {
		return nil, 0, s.fail("count listings", err)
	}
	page, err = many(s, row.Listing)(s.readQ.ListingsOfSource(ctx, db.ListingsOfSourceParams{
		Source: source, PayTo: payTo, Skip: int64(skip), Most: int64(limit),
	}))
	return page, int(n), err
}

// MarkListingsStale implements [store.Listings].
func (s *Store) MarkListingsStale(ctx context.Context, of store.ListingScope, unseenSince, now time.Time, limit int) (n int, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		unseen, err := q.UnseenListings(ctx, db.UnseenListingsParams{
			Source: of.Source, MerchantID: of.MerchantID, Owner: of.Owner, BeforeMs: row.Millis(unseenSince), Most: int64(limit),
		})
		if err != nil {
			return err
		}
		n = len(unseen)
		slices.SortFunc(unseen, func(a, b db.UnseenListingsRow) int {
			return cmp.Or(cmp.Compare(a.Url, b.Url), cmp.Compare(a.Method, b.Method))
		})
		for _, u := range unseen {
			marked, err := q.MarkListingStale(ctx, db.MarkListingStaleParams{
				ID: u.ID, StaleMs: row.Millis(now), Rank: u.Rank - store.StaleRank, BeforeMs: row.Millis(unseenSince),
			})
			if err == nil && marked > 0 {
				err = q.RankListingWords(ctx, db.RankListingWordsParams{ListingID: u.ID, Rank: u.Rank - store.StaleRank})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, s.fail("mark listings stale", err)
}

// DeleteStaleListings implements [store.Listings].
func (s *Store) DeleteStaleListings(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		stale, err := q.StaleListings(ctx, db.StaleListingsParams{BeforeMs: row.Millis(before), Most: int64(limit)})
		if err != nil {
			return err
		}
		n = len(stale)
		slices.SortFunc(stale, func(a, b db.StaleListingsRow) int {
			return cmp.Or(cmp.Compare(a.Url, b.Url), cmp.Compare(a.Method, b.Method))
		})
		for _, l := range stale {
			if err := deleteListings(ctx, q, []string{l.ID}); err != nil {
				return err
			}
		}
		return nil
	})
	return n, s.fail("delete stale listings", err)
}

func deleteListings(ctx context.Context, q *db.Queries, ids []string) error {
	for _, listing := range ids {
		if err := q.DeleteListingWords(ctx, listing); err != nil {
			return err
		}
		if err := q.DeleteListing(ctx, listing); err != nil {
			return err
		}
	}
	return nil
}

// AddMarketServer implements [store.Listings].
func (s *Store) AddMarketServer(ctx context.Context, m store.MarketServer, most int) (store.MarketServer, error) {
	done := false
	err := put(ctx, s, "add market server", changed(&done, s.writeQ.AddMarketServer), db.AddMarketServerParams{
		ID: m.ID, MerchantID: m.MerchantID, BaseUrl: m.BaseURL, CreatedMs: row.Millis(m.CreatedAt), DueMs: row.Millis(m.DueAt), Most: int64(most),
	})
	if err != nil {
		return store.MarketServer{}, err
	}
	if !done {
		return store.MarketServer{}, store.ErrTooManyServers
	}
	return one(s, row.MarketServer)(s.readQ.MarketServerAt(ctx, db.MarketServerAtParams{MerchantID: m.MerchantID, BaseUrl: m.BaseURL}))
}

// MarketServers implements [store.Listings].
func (s *Store) MarketServers(ctx context.Context, merchantID string, limit int) ([]store.MarketServer, error) {
	return many(s, row.MarketServer)(s.readQ.MarketServers(ctx, db.MarketServersParams{MerchantID: merchantID, Most: int64(limit)}))
}

// DueMarketServers implements [store.Listings].
func (s *Store) DueMarketServers(ctx context.Context, now time.Time, limit int) ([]store.MarketServer, error) {
	return many(s, row.MarketServer)(s.readQ.DueMarketServers(ctx, db.DueMarketServersParams{NowMs: row.Millis(now), Most: int64(limit)}))
}

// SaveMarketServer implements [store.Listings].
func (s *Store) SaveMarketServer(ctx context.Context, m store.MarketServer) error {
	saved := false
	err := put(ctx, s, "save market server", changed(&saved, s.writeQ.SaveMarketServer), db.SaveMarketServerParams{
		ID: m.ID, CheckedMs: row.Millis(m.CheckedAt), DueMs: row.Millis(m.DueAt), Failures: int64(m.Failures), Report: m.Report,
	})
	if err != nil || saved {
		return err
	}
	err = s.fail("delete listings", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return deleteListingsOf(ctx, s.writeQ.WithTx(tx), m.MerchantID, m.BaseURL)
	}))
	return cmp.Or(err, ledger.ErrNotFound)
}

// DeleteMarketServer implements [store.Listings].
func (s *Store) DeleteMarketServer(ctx context.Context, merchantID, serverID string) error {
	return s.fail("delete market server", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		m, err := q.MarketServer(ctx, db.MarketServerParams{ID: serverID, MerchantID: merchantID})
		if errors.Is(err, sql.ErrNoRows) {
			return ledger.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := deleteListingsOf(ctx, q, merchantID, m.BaseUrl); err != nil {
			return err
		}
		return q.DeleteMarketServer(ctx, serverID)
	}))
}

// deleteListingsOf deletes the listings of a merchant's server.
func deleteListingsOf(ctx context.Context, q *db.Queries, merchantID, baseURL string) error {
	const most = 1000
	for {
		ids, err := q.ListingsOfServer(ctx, db.ListingsOfServerParams{Source: store.SourceDirectory, MerchantID: merchantID, Owner: baseURL, Most: most})
		if err != nil {
			return err
		}
		if err := deleteListings(ctx, q, ids); err != nil || len(ids) < most {
			return err
		}
	}
}
