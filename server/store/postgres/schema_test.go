package postgres_test

import (
	"context"
	"testing"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/store/storetest"
)

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	storetest.RunNewerSchema(t, opens(url), func(ctx context.Context, statement string) error {
		return admin(t, url, statement)(ctx)
	})
}
