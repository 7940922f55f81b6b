package audit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/audit"
)

// TestActionsAreStoredInBatches: Did returns once its entry is stored, Close once all are, and
// what cannot be stored is logged.
func TestActionsAreStoredInBatches(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	c := &clock{time.Unix(1_800_000_000, 0)}
	log := audit.New(slog.New(slog.NewJSONHandler(&text, nil)), c.Now)
	ctx := context.Background()
	log.Did(ctx, audit.Person("del_1"), "mandate.revoke", "del_1") // before Keep
	var (
		mu      sync.Mutex
		stored  []audit.Entry
		commits int
	)
	log.Keep(func(_ context.Context, all []audit.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		stored = append(stored, all...)
		commits++
		return nil
	})
	log.Did(ctx, audit.Merchant("mer_1"), "refund.create", "txn_1", slog.String("refundId", "rfd_1"), slog.Int64("amountMicros", 5))
	mu.Lock()
	require.Equal(t, []audit.Entry{{At: c.now, Actor: "merchant:mer_1", Action: "refund.create", Subject: "txn_1", Detail: "refundId=rfd_1 amountMicros=5"}}, stored)
	mu.Unlock()
	for range 1000 {
		log.DidSoon(ctx, audit.Merchant("mer_1"), "charge.capture", "txn_1")
	}
	log.Close()
	require.Len(t, stored, 1001)
	require.Less(t, commits, 1001)
	log.Close()
	log.Did(ctx, audit.Merchant("mer_1"), "charge.capture", "txn_1")
	require.Len(t, stored, 1001)
	require.Empty(t, text.String())

	log.Keep(func(context.Context, []audit.Entry) error { return errors.New("disk full") })
	log.Did(ctx, audit.Person("del_1"), "mandate.revoke", "del_1")
	log.Close()
	require.Contains(t, text.String(), `"actor":"person:del_1","action":"mandate.revoke"`)
	require.Contains(t, text.String(), "disk full")
	(*audit.Log)(nil).Did(ctx, "", "", "")
	(*audit.Log)(nil).DidSoon(ctx, "", "", "")
}
