package sqlstore

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// AddMail implements [store.Mails].
func (s *Store) AddMail(ctx context.Context, m store.Mail) error {
	return put(ctx, s, "add mail", s.writeQ.AddMail, db.AddMailParams{
		Kind: m.Kind, SubjectID: m.SubjectID, Attempts: int64(m.Attempts), CreatedMs: row.Millis(m.CreatedAt), DueMs: row.Millis(m.Due),
	})
}

// HastenMail implements [store.Mails].
func (s *Store) HastenMail(ctx context.Context, kind, subjectID string, due time.Time) error {
	return put(ctx, s, "hasten mail", s.writeQ.HastenMail, db.HastenMailParams{DueMs: row.Millis(due), Kind: kind, SubjectID: subjectID})
}

// DueMails implements [store.Mails].
func (s *Store) DueMails(ctx context.Context, now time.Time, limit int) ([]store.Mail, error) {
	return many(s, row.Mail)(s.readQ.DueMails(ctx, db.DueMailsParams{NowMs: row.Millis(now), Most: int64(limit)}))
}

// PutOffMail implements [store.Mails].
func (s *Store) PutOffMail(ctx context.Context, m store.Mail, due time.Time) (done bool, err error) {
	err = put(ctx, s, "put off mail", func(ctx context.Context, p db.PutOffMailParams) error {
		n, err := s.writeQ.PutOffMail(ctx, p)
		done = n > 0
		return err
	}, db.PutOffMailParams{FreshMs: row.Millis(due), Kind: m.Kind, SubjectID: m.SubjectID, DueMs: row.Millis(m.Due)})
	return done && err == nil, err
}

// DeleteMail implements [store.Mails].
func (s *Store) DeleteMail(ctx context.Context, m store.Mail) error {
	return put(ctx, s, "delete mail", s.writeQ.DeleteMail, db.DeleteMailParams{Kind: m.Kind, SubjectID: m.SubjectID, DueMs: row.Millis(m.Due)})
}
