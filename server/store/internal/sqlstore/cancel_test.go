package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// impatient is a context that ends when somebody asks for the n-th time when it does.
type impatient struct {
	context.Context //nolint:containedctx // it is one

	end  context.CancelFunc
	left atomic.Int64
}

func (i *impatient) Done() <-chan struct{} {
	if i.left.Add(-1) == 0 {
		i.end()
	}
	return i.Context.Done()
}

// TestWhoGivesUpTakesNothingAlong: whenever the caller of a transaction goes away, what
// the one connection writes next is written, and is not of that transaction.
func TestWhoGivesUpTakesNothingAlong(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	endpoint := store.WebhookEndpoint{ID: "whe_1", MerchantID: "mer_1", URL: "https://shop.example", Secret: []byte("sealed")}
	require.NoError(t, db.AddWebhookEndpoint(t.Context(), endpoint))
	for n := range int64(400) {
		inner, end := context.WithCancel(t.Context())
		ctx := &impatient{Context: inner, end: end}
		ctx.left.Store(n%40 + 1)
		_ = db.Redeliver(ctx, "evt_1", []string{endpoint.ID}, time.Now()) // whichever comes first
		id := fmt.Sprint("mer_", n)
		key := store.SealedKey{Name: id, Sealed: []byte("sealed")}
		require.NoError(t, db.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
			return ledger.Effects{Insert: ledger.Rows{Events: []ledger.Event{{ID: id, MandateID: id, MerchantID: id}}}}, nil
		}), n)
		require.NoError(t, db.PutSealedKey(t.Context(), key), n)
		end()
		_, err := db.Event(t.Context(), id)
		require.NoError(t, err, n)
	}
}
