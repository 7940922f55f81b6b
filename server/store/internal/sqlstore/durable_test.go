package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestCommitsWaitForTheDiskAfterDeliveriesWereSaved: also where saving them failed.
func TestCommitsWaitForTheDiskAfterDeliveriesWereSaved(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	const full = 2
	waits := func() {
		mode, err := store.Synchronous(t.Context())
		require.NoError(t, err)
		require.Equal(t, full, mode)
	}
	waits()
	endpoint := ledger.WebhookEndpoint{ID: "whe_1", MerchantID: "mer_1", URL: "https://shop.example", Secret: []byte("sealed")}
	require.NoError(t, store.AddWebhookEndpoint(t.Context(), endpoint))
	d := ledger.Delivery{EndpointID: endpoint.ID, EventID: "evt_1", Lane: "del_1", Status: ledger.DeliveryFailed}
	require.NoError(t, store.SaveDeliveries(t.Context(), []ledger.Delivery{d}))
	require.NoError(t, store.SaveEndpoints(t.Context(), []ledger.EndpointState{{EndpointID: endpoint.ID, Offset: 7}}))
	waits()
	d.Status, d.Attempts = "lost", 1
	require.Error(t, store.SaveDeliveries(t.Context(), []ledger.Delivery{d}))
	waits()
}
