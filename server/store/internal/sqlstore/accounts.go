package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Merchant implements [store.Accounts].
func (s *Store) Merchant(ctx context.Context, id string) (ledger.Merchant, error) {
	return one(s, row.Merchant)(s.readQ.Merchant(ctx, id))
}

// ValidAPIKey implements [store.Accounts]. It is part of every request.
func (s *Store) ValidAPIKey(ctx context.Context, hash string) (store.APIKey, ledger.Merchant, error) {
	r, err := one(s, func(r db.ValidAPIKeyRow) (db.ValidAPIKeyRow, error) { return r, nil })(s.readQ.ValidAPIKey(s.toTheEnd(ctx), hash))
	if err != nil {
		return store.APIKey{}, ledger.Merchant{}, err
	}
	k, err := row.APIKey(r.ApiKey)
	if err != nil {
		return store.APIKey{}, ledger.Merchant{}, err
	}
	m, err := row.Merchant(r.Merchant)
	return k, m, err
}

// MerchantByWallet implements [store.Accounts].
func (s *Store) MerchantByWallet(ctx context.Context, payTo string) (ledger.Merchant, error) {
	return one(s, row.Merchant)(s.readQ.MerchantByWallet(ctx, payTo))
}

// PutMerchant implements [store.Accounts].
func (s *Store) PutMerchant(ctx context.Context, m ledger.Merchant) error {
	return put(ctx, s, "put merchant", s.writeQ.PutMerchant, row.PutMerchant(m))
}

// Merchants implements [store.Accounts].
func (s *Store) Merchants(ctx context.Context, after string, limit int) ([]ledger.Merchant, error) {
	return many(s, row.Merchant)(s.readQ.Merchants(ctx, db.MerchantsParams{After: after, Most: int64(limit)}))
}

// changeOne runs a statement that changes one row.
func changeOne[P any](ctx context.Context, s *Store, doing string, exec func(context.Context, P) (int64, error), p P) error {
	n, err := change(ctx, s, doing, exec, p)
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", doing, ledger.ErrNotFound)
	}
	return err
}

// SetMerchantProfile implements [store.Accounts].
func (s *Store) SetMerchantProfile(ctx context.Context, id string, p store.MerchantProfile) error {
	return changeOne(ctx, s, "set profile of merchant", s.writeQ.SetMerchantProfile, db.SetMerchantProfileParams{
		ID: id, Name: p.Name, Website: p.Website, OwnMaxChargeMicros: int64(p.OwnMaxCharge),
	})
}

// SetMerchantEmail implements [store.Accounts].
func (s *Store) SetMerchantEmail(ctx context.Context, id, email string) error {
	return changeOne(ctx, s, "set email of merchant", s.writeQ.SetMerchantEmail, db.SetMerchantEmailParams{ID: id, Email: email})
}

// SetMerchantWallet implements [store.Accounts].
func (s *Store) SetMerchantWallet(ctx context.Context, id, payTo string) error {
	return changeOne(ctx, s, "set wallet of merchant", s.writeQ.SetMerchantWallet, db.SetMerchantWalletParams{ID: id, PayTo: payTo})
}

// SetMerchantActive implements [store.Accounts].
func (s *Store) SetMerchantActive(ctx context.Context, id string, active bool) error {
	p := db.SetMerchantActiveParams{ID: id}
	if active {
		p.Active = 1
	}
	return changeOne(ctx, s, "set merchant active", s.writeQ.SetMerchantActive, p)
}

// SetMerchantLimit implements [store.Accounts].
func (s *Store) SetMerchantLimit(ctx context.Context, id string, most ledger.Micros) error {
	return changeOne(ctx, s, "set limit of merchant", s.writeQ.SetMerchantLimit, db.SetMerchantLimitParams{ID: id, MaxChargeMicros: int64(most)})
}

// APIKeys implements [store.Accounts].
func (s *Store) APIKeys(ctx context.Context, merchantID string) ([]store.APIKey, error) {
	return many(s, row.APIKey)(s.readQ.APIKeysOf(ctx, merchantID))
}

// APIKeysByHash implements [store.Accounts].
func (s *Store) APIKeysByHash(ctx context.Context, prefix string) ([]store.APIKey, error) {
	return many(s, row.APIKey)(s.readQ.APIKeysBetween(ctx, db.APIKeysBetweenParams{Low: prefix, High: prefix + "~"}))
}

// AddAPIKey implements [store.Accounts].
func (s *Store) AddAPIKey(ctx context.Context, k store.APIKey) error {
	return put(ctx, s, "add API key", s.writeQ.AddAPIKey, db.AddAPIKeyParams{
		Hash: k.Hash, MerchantID: k.MerchantID, Hint: k.Hint, CreatedMs: row.Millis(k.CreatedAt), Label: k.Label,
		Scopes: strings.Join(k.Scopes, " "),
	})
}

// RevokeAPIKey implements [store.Accounts].
func (s *Store) RevokeAPIKey(ctx context.Context, hash string, at time.Time) (bool, error) {
	n, err := change(ctx, s, "revoke API key", s.writeQ.RevokeAPIKey, db.RevokeAPIKeyParams{Hash: hash, RevokedMs: row.Millis(at)})
	return n == 1, err
}

// AddAudit implements [store.AuditTrail].
func (s *Store) AddAudit(ctx context.Context, e store.AuditEntry) error {
	return put(ctx, s, "add audit entry", s.writeQ.AddAudit, db.AddAuditParams{
		ID: e.ID, AtMs: row.Millis(e.At), Actor: e.Actor, Action: e.Action, Subject: e.Subject, Reason: e.Reason, Detail: e.Detail,
	})
}

// addAudits takes the entries as one JSON array of arrays.
const addAudits = `INSERT INTO audit_log (id, at_ms, actor, action, subject, reason, detail)
SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each($1)`

// AddAudits implements [store.AuditTrail].
func (s *Store) AddAudits(ctx context.Context, all []store.AuditEntry) error {
	rows := make([][]any, len(all))
	for i, e := range all {
		rows[i] = []any{e.ID, row.Millis(e.At), e.Actor, e.Action, e.Subject, e.Reason, e.Detail}
	}
	return s.fail("add audit entries", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.bulk(ctx, tx, addAudits, rows) }))
}

func auditEntry(r db.AuditLog) (store.AuditEntry, error) {
	return store.AuditEntry{
		ID: r.ID, At: row.At(r.AtMs), Actor: r.Actor, Action: r.Action, Subject: r.Subject, Reason: r.Reason, Detail: r.Detail,
	}, nil
}

// AuditLog implements [store.AuditTrail].
func (s *Store) AuditLog(ctx context.Context, actor, before string, limit int) ([]store.AuditEntry, error) {
	return many(s, auditEntry)(s.readQ.AuditLog(ctx, db.AuditLogParams{
		Before: cmp.Or(before, afterAll), Actor: actor, KindFrom: actor + ":", KindTo: actor + ";", Most: int64(limit),
	}))
}

// AuditOf implements [store.AuditTrail].
func (s *Store) AuditOf(ctx context.Context, subject string, limit int) ([]store.AuditEntry, error) {
	return many(s, auditEntry)(s.readQ.AuditOf(ctx, db.AuditOfParams{Subject: subject, Most: int64(limit)}))
}

// SealedKeys implements [store.Keys].
func (s *Store) SealedKeys(ctx context.Context, prefix string) ([]store.SealedKey, error) {
	return many(s, row.SealedKey)(s.readQ.SealedKeys(ctx, db.SealedKeysParams{Name: prefix, Name_2: prefix + "~"}))
}

// AddSealedKey implements [store.Keys].
func (s *Store) AddSealedKey(ctx context.Context, k store.SealedKey) error {
	add := func(ctx context.Context, p db.AddSealedKeyParams) error {
		n, err := s.writeQ.AddSealedKey(ctx, p)
		if err == nil && n == 0 {
			return ledger.ErrConflict
		}
		return err
	}
	return put(ctx, s, "add sealed key", add, db.AddSealedKeyParams(row.PutSealedKey(k)))
}

// PutSealedKey implements [store.Keys].
func (s *Store) PutSealedKey(ctx context.Context, k store.SealedKey) error {
	return put(ctx, s, "put sealed key", s.writeQ.PutSealedKey, row.PutSealedKey(k))
}

// DeleteSealedKey implements [store.Keys].
func (s *Store) DeleteSealedKey(ctx context.Context, name string) error {
	return put(ctx, s, "delete sealed key", s.writeQ.DeleteSealedKey, name)
}
