package sqlstore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestCommitsWaitForTheDiskAfterDeliveriesWereSaved: also where saving them failed.
func TestCommitsWaitForTheDiskAfterDeliveriesWereSaved(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const full = 2
	waits := func() {
		mode, err := db.Synchronous(t.Context())
		require.NoError(t, err)
		require.Equal(t, full, mode)
	}
	waits()
	endpoint := store.WebhookEndpoint{ID: "whe_1", MerchantID: "mer_1", URL: "https://shop.example", Secret: []byte("sealed")}
	require.NoError(t, db.AddWebhookEndpoint(t.Context(), endpoint))
	d := store.Delivery{EndpointID: endpoint.ID, EventID: "evt_1", Lane: "del_1", Status: store.DeliveryFailed}
	require.NoError(t, db.SaveDeliveries(t.Context(), "", []store.Delivery{d}))
	require.NoError(t, db.SaveEndpoints(t.Context(), "", []store.EndpointState{{EndpointID: endpoint.ID, Offset: 7}}))
	waits()
	d.Status, d.Attempts = "lost", 1
	require.Error(t, db.SaveDeliveries(t.Context(), "", []store.Delivery{d}))
	waits()
}
