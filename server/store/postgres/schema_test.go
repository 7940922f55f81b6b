package postgres_test

import (
	"context"
	"testing"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/ledger/ledgertest"
)

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	database := on(url)
	database.True = "true"
	ledgertest.RunNewerSchema(t, database, func(ctx context.Context, statement string) error {
		return admin(t, url, statement)(ctx)
	})
}
