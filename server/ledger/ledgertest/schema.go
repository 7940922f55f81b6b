package ledgertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// RunNewerSchema: this program goes on working on the schema of a later one, which
// has columns, tables and indexes that it does not know. alter runs a statement on
// the database past the store.
func RunNewerSchema(t *testing.T, database Database, alter func(ctx context.Context, statement string) error) {
	t.Helper()
	b := setup(t, database)
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	held := b.reserve(t, m, 10*cent)
	for _, table := range []string{
		"merchants", "api_keys", "sealed_keys", "sessions", "mandates", "charges", "idempotency", "postings", "tallies", "events",
	} {
		require.NoError(t, alter(t.Context(), "ALTER TABLE "+table+" ADD COLUMN of_a_later_version TEXT"))
		require.NoError(t, alter(t.Context(), "ALTER TABLE "+table+" ADD COLUMN later_too BIGINT NOT NULL DEFAULT 7"))
	}
	require.NoError(t, alter(t.Context(), "CREATE TABLE later (id BIGINT PRIMARY KEY)"))
	require.NoError(t, alter(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, "+database.True+")"))

	b.Close()
	require.NoError(t, b.store.Close())
	store, err := database.Open(t.Context())
	require.NoError(t, err, "it opens, and leaves the schema as it is")
	b.store = store
	b.Ledger, err = ledger.New(ledger.Config{Store: store, Clock: b.clock.Now})
	require.NoError(t, err)
	b.settle(t, held, succeeded())
	b.settle(t, b.reserve(t, b.mandate(t, b.terms(100*cent, 1000*cent)), 10*cent), declined())
	require.NoError(t, b.store.PutMerchant(t.Context(), b.merchant))
	accounts(t, b)
	_, err = b.Expire(t.Context(), b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, 1, b.sound(t).Succeeded)
}
