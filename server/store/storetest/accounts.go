package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// accounts: a merchant is read as it was stored, and its wallet in any case.
func accounts(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.merchant
	m.Active, m.MaxCharge, m.PayTo = false, 7, "0xAb"
	require.NoError(t, b.store.PutMerchant(ctx, m))
	got, err := b.store.Merchant(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, m, got)
	got, err = b.store.MerchantByWallet(ctx, "0XAB")
	require.NoError(t, err)
	require.Equal(t, m, got)
	other := ledger.Merchant{ID: "mer_other", Name: "Other", PayTo: "0xaB", CreatedAt: b.clock.Now()}
	require.ErrorIs(t, b.store.PutMerchant(ctx, other), ledger.ErrConflict, "a wallet belongs to one merchant")
	_, err = b.store.MerchantByWallet(ctx, "")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.store.Merchant(ctx, "mer_none")
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// apiKeys: a merchant has several, and each is revoked by itself, at once.
func apiKeys(t *testing.T, b *bench) {
	ctx, m := t.Context(), b.merchant
	key := store.APIKey{Hash: "h", MerchantID: m.ID, Hint: "abcd", Label: "billing", Scopes: []string{"read", "refund"}, CreatedAt: b.clock.Now().Truncate(time.Millisecond)}
	require.NoError(t, b.store.AddAPIKey(ctx, key))
	require.ErrorIs(t, b.store.AddAPIKey(ctx, key), ledger.ErrConflict)
	found, got, err := b.store.ValidAPIKey(ctx, "h")
	require.NoError(t, err)
	require.Equal(t, m.ID, got.ID)
	require.Equal(t, key, found)
	keys, err := b.store.APIKeys(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, []store.APIKey{key}, keys)
	for _, revoked := range []bool{true, false} {
		was, err := b.store.RevokeAPIKey(ctx, "h", b.clock.Now())
		require.NoError(t, err)
		require.Equal(t, revoked, was)
	}
	_, _, err = b.store.ValidAPIKey(ctx, "h")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	keys, err = b.store.APIKeysByHash(ctx, "h")
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.False(t, keys[0].RevokedAt.IsZero())
	keys, err = b.store.APIKeysByHash(ctx, "g")
	require.NoError(t, err)
	require.Empty(t, keys)
}

// profiles: what a merchant changes leaves what the operator decides as it is.
func profiles(t *testing.T, b *bench) {
	ctx, m := t.Context(), b.merchant
	require.NoError(t, b.store.SetMerchantLimit(ctx, m.ID, 9*cent))
	require.NoError(t, b.store.SetMerchantActive(ctx, m.ID, false))
	require.NoError(t, b.store.SetMerchantProfile(ctx, m.ID, store.MerchantProfile{Name: "New name", Website: "https://new.example", OwnMaxCharge: 4 * cent}))
	require.NoError(t, b.store.SetMerchantEmail(ctx, m.ID, "ada@example.com"))
	require.NoError(t, b.store.SetMerchantWallet(ctx, m.ID, "0xAb"))
	m.Active, m.MaxCharge, m.Name, m.Website, m.OwnMaxCharge, m.Email, m.PayTo = false, 9*cent, "New name", "https://new.example", 4*cent, "ada@example.com", "0xAb"
	got, err := b.store.Merchant(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, m, got)
	require.NoError(t, b.store.PutMerchant(ctx, ledger.Merchant{ID: "mer_other", Name: "Other", CreatedAt: b.clock.Now()}))
	require.ErrorIs(t, b.store.SetMerchantWallet(ctx, "mer_other", "0xaB"), ledger.ErrConflict, "a wallet belongs to one merchant")
	require.NoError(t, b.store.SetMerchantWallet(ctx, "mer_other", ""))
	require.ErrorIs(t, b.store.SetMerchantProfile(ctx, "mer_none", store.MerchantProfile{}), ledger.ErrNotFound)
	require.ErrorIs(t, b.store.SetMerchantEmail(ctx, "mer_none", ""), ledger.ErrNotFound)
	require.ErrorIs(t, b.store.SetMerchantWallet(ctx, "mer_none", ""), ledger.ErrNotFound)
}

// operators: what they change in a merchant, and the log of it.
func operators(t *testing.T, b *bench) {
	ctx, m := t.Context(), b.merchant
	require.NoError(t, b.store.SetMerchantActive(ctx, m.ID, true))
	require.NoError(t, b.store.SetMerchantLimit(ctx, m.ID, 9*cent))
	all, err := b.store.Merchants(ctx, "", 100)
	require.NoError(t, err)
	require.Contains(t, all, func() ledger.Merchant { m := m; m.Active, m.MaxCharge = true, 9*cent; return m }())
	require.ErrorIs(t, b.store.SetMerchantActive(ctx, "mer_none", true), ledger.ErrNotFound)
	require.ErrorIs(t, b.store.SetMerchantLimit(ctx, "mer_none", 1), ledger.ErrNotFound)
	entry := store.AuditEntry{ID: "aud_1", At: b.clock.Now().Truncate(time.Millisecond), Actor: "operator", Action: "merchant.suspend", Subject: m.ID, Reason: "fraud", Detail: "{}"}
	require.NoError(t, b.store.AddAudit(ctx, entry))
	entries, err := b.store.AuditOf(ctx, m.ID, 10)
	require.NoError(t, err)
	require.Equal(t, []store.AuditEntry{entry}, entries)
	later := entry
	later.ID, later.Subject = "aud_2", "txn_1"
	require.NoError(t, b.store.AddAudit(ctx, later))
	for before, want := range map[string][]store.AuditEntry{"": {later, entry}, "aud_2": {entry}, "aud_1": {}} {
		log, err := b.store.AuditLog(ctx, "", before, 10)
		require.NoError(t, err)
		require.ElementsMatch(t, want, log)
		if before == "" {
			require.Equal(t, want, log)
		}
	}
}

// auditLog: entries are added together, selected by actor or kind of actor, and deleted after
// [ledger.Keep] unless they are an operator's.
func auditLog(t *testing.T, b *bench) {
	ctx := t.Context()
	at := b.clock.Now().Truncate(time.Millisecond)
	var all []store.AuditEntry
	for i, actor := range []string{"operator:trail", "merchant:mer_trail", "merchant:mer_trail2", "person:del_trail", "operator:trail2", "merchant:mer_trail"} {
		at := at.Add(time.Duration(i) * time.Millisecond)
		all = append(all, store.AuditEntry{ID: id.New(id.Audit, at), At: at, Actor: actor, Action: "x.y", Subject: "txn_trail", Detail: `a="b" c`})
	}
	require.NoError(t, b.store.AddAudits(ctx, all))
	require.NoError(t, b.store.AddAudits(ctx, nil))
	require.Error(t, b.store.AddAudits(ctx, []store.AuditEntry{{ID: id.New(id.Audit, at), Actor: "merchant:mer_twice"}, all[0]}))
	actors := func(actor, before string, most int) (found []string) {
		log, err := b.store.AuditLog(ctx, actor, before, most)
		require.NoError(t, err)
		for _, e := range log {
			found = append(found, e.Actor)
		}
		return found
	}
	stored, err := b.store.AuditOf(ctx, "txn_trail", 10)
	require.NoError(t, err)
	slices.Reverse(stored)
	require.Equal(t, all, stored)
	require.Equal(t, []string{"merchant:mer_trail", "merchant:mer_trail"}, actors("merchant:mer_trail", "", 10))
	require.Equal(t, []string{"merchant:mer_trail"}, actors("merchant:mer_trail", all[5].ID, 10))
	require.Equal(t, []string{"merchant:mer_trail", "merchant:mer_trail2", "merchant:mer_trail"}, actors("merchant", "", 3))
	require.Equal(t, []string{"person:del_trail"}, actors("person", "", 10))
	require.Contains(t, actors("operator", "", 100), "operator:trail")
	require.NotContains(t, actors("operator", "", 100), "merchant:mer_trail")
	require.Empty(t, actors("merchant:mer", "", 10), "not a prefix")
	require.Empty(t, actors("merchant:mer_twice", "", 10), "all or none")

	b.clock.set(at.Add(ledger.Keep + time.Second))
	b.expire(t)
	require.Empty(t, actors("merchant", "", 10))
	require.Empty(t, actors("person", "", 10))
	require.Contains(t, actors("operator", "", 100), "operator:trail")
}
