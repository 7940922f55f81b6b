package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// notices: wishes and what was mailed do not overwrite each other, and a part of a stream names its
// mandates alone.
func notices(t *testing.T, b *bench) {
	ctx := t.Context()
	_, err := b.store.Notices(ctx, "del_1")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	require.NoError(t, b.store.NoticesMailed(ctx, store.Notices{MandateID: "del_1", Today: 1}))
	_, err = b.store.Notices(ctx, "del_1")
	require.ErrorIs(t, err, ledger.ErrNotFound, "mailed without a wish")

	require.NoError(t, b.store.PutNotices(ctx, store.Notices{MandateID: "del_1", Limits: true}))
	mailed := store.Notices{MandateID: "del_1", Month: 20261100, MailedMonth: 80, MailedTotal: 50, Day: 20261122, Today: 3}
	require.NoError(t, b.store.NoticesMailed(ctx, mailed))
	require.NoError(t, b.store.PutNotices(ctx, store.Notices{MandateID: "del_1", Above: 5 * money.MicrosPerDollar}))
	got, err := b.store.Notices(ctx, "del_1")
	require.NoError(t, err)
	mailed.Above = 5 * money.MicrosPerDollar
	require.Equal(t, mailed, got)

	m := b.mandate(t)
	require.NoError(t, b.store.PutNotices(ctx, store.Notices{MandateID: m.ID, Limits: true}))
	in, err := b.store.NoticesInStream(ctx, m.MerchantID, 0, 1000)
	require.NoError(t, err)
	require.Equal(t, []store.Notices{{MandateID: m.ID, Limits: true}}, in)
	in, err = b.store.NoticesInStream(ctx, m.MerchantID, 1000, 2000)
	require.NoError(t, err)
	require.Empty(t, in)
	require.NoError(t, b.store.DeleteNotices(ctx, m.ID))
	_, err = b.store.Notices(ctx, m.ID)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}
