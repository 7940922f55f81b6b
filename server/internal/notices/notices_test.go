package notices_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/notices"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// wishes is a store with one person's wish.
type wishes struct {
	store.NoticesStore

	wish store.Notices
}

func (w *wishes) NoticesInStream(context.Context, string, int64, int64) ([]store.Notices, error) {
	return []store.Notices{w.wish}, nil
}

func (w *wishes) NoticesMailed(_ context.Context, n store.Notices) error {
	w.wish = n
	return nil
}

func (w *wishes) StreamEvents(context.Context, string, int64, int) ([]ledger.Event, error) {
	return nil, nil
}

// TestANoticeThatCouldNotBeQueuedIsQueuedLater: it does not count as mailed.
func TestANoticeThatCouldNotBeQueuedIsQueuedLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	terms := ledger.Terms{MaxPerTx: 100, MaxMonthly: 100, ExpiresAt: now.AddDate(0, 1, 0)}
	month := ledger.DayOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	m := ledger.Mandate{
		ID: "del_1", Email: "ada@example.com", Status: ledger.MandateActive, Terms: terms,
		Windows: []ledger.Window{{Kind: ledger.MonthlyLimit, Cap: 100, Start: month, Used: 85}},
	}
	stored := &wishes{wish: store.Notices{MandateID: m.ID, Limits: true}}
	var queued []string
	err := ledger.ErrUnavailable
	f := notices.New(notices.Config{
		Store: stored, Clock: func() time.Time { return now },
		Mandate: func(context.Context, string) (ledger.Mandate, error) { return m, nil },
		Add: func(_ context.Context, kind, subject string) error {
			if err == nil {
				queued = append(queued, kind+" "+subject)
			}
			return err
		},
	})
	require.ErrorIs(t, f.Follow(t.Context(), "mer_1", 0, 1), err)
	err = nil
	require.NoError(t, f.Follow(t.Context(), "mer_1", 0, 1))
	require.Equal(t, []string{"limit_used del_1/monthly/80"}, queued)
	require.NoError(t, f.Follow(t.Context(), "mer_1", 0, 1))
	require.Len(t, queued, 1)
}
