package ledgertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// oneService: reading whose store it is claims nothing, the first claim counts, and only
// Own changes the issuer.
func oneService(t *testing.T, b *bench) {
	ctx := t.Context()
	never := func(string) bool { return false }
	always := func(string) bool { return true }
	require.NoError(t, ledger.Verify(ctx, b.store, "live", "https://typo.example", never))
	_, err := b.store.Owner(ctx)
	require.ErrorIs(t, err, ledger.ErrNotFound, "a store has no service before the first claim")

	first := ledger.Identity{Mode: "sandbox", Issuer: "https://pay.example", Epoch: ledger.Epoch}
	require.NoError(t, ledger.Own(ctx, b.store, first.Mode, first.Issuer, never))
	claimed, err := b.store.Claim(ctx, ledger.Identity{Mode: "live", Issuer: "https://other.example", Epoch: ledger.Epoch})
	require.NoError(t, err)
	require.Equal(t, first, claimed)
	require.ErrorContains(t, ledger.Verify(ctx, b.store, "live", first.Issuer, always), "sandbox service")
	require.ErrorContains(t, ledger.Verify(ctx, b.store, first.Mode, "https://other.example", never), first.Issuer)

	require.NoError(t, ledger.Verify(ctx, b.store, first.Mode, "https://other.example", always))
	owner, err := b.store.Owner(ctx)
	require.NoError(t, err)
	require.Equal(t, first, owner, "verifying does not move the store")
	require.NoError(t, ledger.Own(ctx, b.store, first.Mode, "https://other.example", always))
	owner, err = b.store.Owner(ctx)
	require.NoError(t, err)
	require.Equal(t, "https://other.example", owner.Issuer)
}
