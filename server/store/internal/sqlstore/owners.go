package sqlstore

import (
	"context"

	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// AddMandateOwner implements [store.MandateOwners].
func (s *Store) AddMandateOwner(ctx context.Context, kind, subject, mandateID string) error {
	return put(ctx, s, "add owner of mandate", s.writeQ.AddMandateOwner, db.AddMandateOwnerParams{Kind: kind, Subject: subject, MandateID: mandateID})
}

// MandatesOfOwner implements [store.MandateOwners].
func (s *Store) MandatesOfOwner(ctx context.Context, kind, subject, before string, limit int) ([]string, error) {
	beforeMs, before, err := s.mandateCreated(ctx, before)
	if err != nil {
		return nil, err
	}
	ids, err := s.readQ.MandatesOfOwner(ctx, db.MandatesOfOwnerParams{Kind: kind, Subject: subject, BeforeMs: beforeMs, Before: before, Most: int64(limit)})
	return ids, s.fail("read", err)
}

// OwnsMandate implements [store.MandateOwners].
func (s *Store) OwnsMandate(ctx context.Context, kind, subject, mandateID string) (bool, error) {
	n, err := s.readQ.OwnsMandate(ctx, db.OwnsMandateParams{Kind: kind, Subject: subject, MandateID: mandateID})
	return n > 0, s.fail("read", err)
}

// DeleteMandateOwner implements [store.MandateOwners].
func (s *Store) DeleteMandateOwner(ctx context.Context, kind, subject string) error {
	return put(ctx, s, "delete owner of mandates", s.writeQ.DeleteMandateOwner, db.DeleteMandateOwnerParams{Kind: kind, Subject: subject})
}
