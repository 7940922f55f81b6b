package sqlstore

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// expiry deletes rows of one kind.
type expiry struct {
	doing string
	exec  func(ctx context.Context, until int64) error
}

// Expire implements [ledger.Store].
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	until, page, sum := row.Millis(before), int32(limit), 0 // a batch is small
	count := func(n int64, err error) error {
		sum += int(n)
		return err
	}
	steps := []expiry{
		{"expire idempotency keys", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireIdempotency(ctx, db.ExpireIdempotencyParams{BeforeMs: until, Page: page}))
		}},
		{"expire deliveries", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireDeliveries(ctx, db.ExpireDeliveriesParams{BeforeMs: until, Page: page}))
		}},
		{"expire events", func(ctx context.Context, _ int64) error {
			return count(s.writeQ.ExpireEvents(ctx, db.ExpireEventsParams{Before: id.First(id.Event, before), Page: page}))
		}},
		{"expire sessions", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireSessions(ctx, db.ExpireSessionsParams{BeforeMs: until, Page: page}))
		}},
		{"forget mandate tokens", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ForgetTokens(ctx, db.ForgetTokensParams{Nothing: []byte{}, BeforeMs: until, Page: page}))
		}},
		{"expire access tokens", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireAccessTokens(ctx, db.ExpireAccessTokensParams{BeforeMs: until, Page: page}))
		}},
		{"expire audit entries", func(ctx context.Context, _ int64) error {
			return count(s.writeQ.ExpireAudits(ctx, db.ExpireAuditsParams{Before: id.First(id.Audit, before), Page: page}))
		}},
		{"expire one-time codes", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireCodes(ctx, db.ExpireCodesParams{BeforeMs: until, Page: page}))
		}},
		{"expire web sessions", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireWebSessions(ctx, db.ExpireWebSessionsParams{BeforeMs: until, Page: page}))
		}},
	}
	steps = append(steps, s.expireOAuth(count, page)...)
	for _, step := range steps {
		if err := put(ctx, s, step.doing, step.exec, until); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func (s *Store) expireOAuth(count func(int64, error) error, page int32) []expiry {
	return []expiry{
		{"expire OAuth secrets", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireOAuthSecrets(ctx, db.ExpireOAuthSecretsParams{BeforeMs: until, Page: page}))
		}},
		{"expire OAuth grants", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireOAuthGrants(ctx, db.ExpireOAuthGrantsParams{BeforeMs: until, Page: page}))
		}},
		{"expire OAuth clients", func(ctx context.Context, until int64) error {
			return count(s.writeQ.ExpireOAuthClients(ctx, db.ExpireOAuthClientsParams{BeforeMs: until, Page: page}))
		}},
	}
}
