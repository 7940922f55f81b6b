package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// RunNewerSchema tests that a store works on the schema of a later version, with columns,
// tables and migrations that it does not know. alter runs a statement on the database, not
// through the store.
func RunNewerSchema(t *testing.T, open Open, alter func(ctx context.Context, statement string) error) {
	t.Helper()
	b := setup(t, open)
	m := b.mandate(t)
	held := b.reserve(t, m)
	for _, table := range []string{
		"merchants", "api_keys", "sealed_keys", "sessions", "mandates", "charges", "idempotency", "postings", "tallies", "events",
	} {
		require.NoError(t, alter(t.Context(), "ALTER TABLE "+table+" ADD COLUMN of_a_later_version TEXT"))
		require.NoError(t, alter(t.Context(), "ALTER TABLE "+table+" ADD COLUMN later_too BIGINT NOT NULL DEFAULT 7"))
	}
	require.NoError(t, alter(t.Context(), "CREATE TABLE later (id BIGINT PRIMARY KEY)"))
	require.NoError(t, alter(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)"))

	b.close(t)
	b.open(t, open) // it leaves the schema as it is
	b.settle(t, held, rail.Outcome{Status: rail.Succeeded, ProcessorID: "pay_1"})
	b.settle(t, b.reserve(t, b.mandate(t)), rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined})
	require.NoError(t, b.store.PutMerchant(t.Context(), b.merchant))
	accounts(t, b)
	sealedKeys(t, b)
	b.expire(t)
	require.Equal(t, 1, b.sound(t).Succeeded)
}
