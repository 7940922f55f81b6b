package sqlstore

import (
	"context"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Notices implements [store.NoticesStore].
func (s *Store) Notices(ctx context.Context, mandateID string) (store.Notices, error) {
	return one(s, row.Notices)(s.readQ.Notices(ctx, mandateID))
}

// NoticesInStream implements [store.NoticesStore].
func (s *Store) NoticesInStream(ctx context.Context, merchantID string, after, through int64) ([]store.Notices, error) {
	return many(s, row.Notices)(s.readQ.NoticesInStream(ctx, db.NoticesInStreamParams{MerchantID: merchantID, After: after, Through: through}))
}

// PutNotices implements [store.NoticesStore].
func (s *Store) PutNotices(ctx context.Context, n store.Notices) error {
	limits := int64(0)
	if n.Limits {
		limits = 1
	}
	return put(ctx, s, "put notices", s.writeQ.PutNotices, db.PutNoticesParams{MandateID: n.MandateID, Limits: limits, Above: int64(n.Above)})
}

// NoticesMailed implements [store.NoticesStore].
func (s *Store) NoticesMailed(ctx context.Context, n store.Notices) error {
	return put(ctx, s, "store mailed notices", s.writeQ.NoticesMailed, db.NoticesMailedParams{
		MandateID: n.MandateID, Month: int64(n.Month), MailedMonth: int64(n.MailedMonth), MailedTotal: int64(n.MailedTotal),
		Day: int64(n.Day), Today: int64(n.Today),
	})
}

// DeleteNotices implements [store.NoticesStore].
func (s *Store) DeleteNotices(ctx context.Context, mandateID string) error {
	return put(ctx, s, "delete notices", s.writeQ.DeleteNotices, mandateID)
}
