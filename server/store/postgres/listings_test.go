package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/postgres"
)

// TestListingSeenWhileItBecomesStaleIsInOnePlaceOfTheIndex, so that each page of a search comes
// after the one before: a search went in circles.
func TestListingSeenWhileItBecomesStaleIsInOnePlaceOfTheIndex(t *testing.T) {
	t.Parallel()
	ctx, cluster := t.Context(), pgtest.Start(t)
	s, err := postgres.Open(ctx, cluster.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	now := time.UnixMilli(1_800_000_000_000).UTC()
	listing := func(url string, rank int64) store.Listing {
		return store.Listing{
			Source: store.SourceFacilitator, Method: "GET", URL: url, Owner: "https://a.example", Low: -1, High: -1, Protocols: []string{"x402"},
			Offers: "[]", LastSeen: now, Rank: rank, Words: []string{"=all"},
		}
	}
	first := listing("https://a.example/1", 30_000)
	require.NoError(t, s.UpsertListings(ctx, []store.Listing{first, listing("https://a.example/2", 20_000), listing("https://a.example/3", 10_000)}))

	conn, err := pgx.Connect(ctx, cluster.URL())
	require.NoError(t, err)
	defer conn.Close(ctx)
	tx, err := conn.Begin(ctx) // what MarkListingsStale does
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "UPDATE listings SET stale_ms = 1, rank = rank - 1000000 WHERE url = $1", first.URL)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "UPDATE listing_words SET rank = rank - 1000000 WHERE listing_id = (SELECT id FROM listings WHERE url = $1)", first.URL)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.UpsertListings(ctx, []store.Listing{first}) }()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, tx.QueryRow(ctx, "SELECT COUNT(*) FROM pg_locks WHERE NOT granted").Scan(&waiting))
		return waiting > 0
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-done)

	var seen []string
	var after store.ListingCursor
	for range 5 {
		found, next, err := s.SearchListings(ctx, store.ListingSearch{Words: []string{"=all"}, Low: -1, High: -1, Limit: 1, After: after})
		require.NoError(t, err)
		for _, l := range found {
			seen = append(seen, l.URL)
		}
		if after = next; next == (store.ListingCursor{}) {
			break
		}
	}
	require.Equal(t, []string{"https://a.example/1", "https://a.example/2", "https://a.example/3"}, seen)
}
