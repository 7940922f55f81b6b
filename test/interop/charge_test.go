package interop_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// TestChargesAsSomebodyElseReadsThem: what `paywarrant dev` charges in USDC is read
// by viem over the RPC that dev prints: exactly the amount, to the merchant's
// wallet, once; the fee is the service's own account of it.
func TestChargesAsSomebodyElseReadsThem(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	dev := startDev(t)
	merchant, err := client.New(client.Config{BaseURL: dev.BaseURL, MerchantID: dev.Merchant.ID, APIKey: dev.Merchant.APIKey})
	require.NoError(t, err)
	s, err := merchant.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 10_000, MaxMonthlySpendCents: 100_000})
	require.NoError(t, err)
	done, err := merchant.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{PaymentMethods: []string{"wallet"}})
	require.NoError(t, err)

	fees := []struct{ cents, feeMicros int64 }{{10, 5_000}, {50, 15_000}, {100, 30_000}, {10_000, 30_000}}
	request := map[string]any{"rpcUrl": dev.Chain.RPCURL, "usdc": dev.Chain.USDC}
	var hashes []string
	for _, f := range fees {
		ch, err := merchant.Charge(t.Context(), client.ChargeParams{
			Mandate: done.Mandate, AmountCents: f.cents, Currency: client.USDC, Description: "read by another",
		})
		require.NoError(t, err)
		require.Equal(t, []any{client.Completed, client.ChainUsed, f.feeMicros}, []any{ch.Status, ch.RailUsed, ch.FeeMicros}, "%d cents: %s", f.cents, ch.FailureReason)
		hashes = append(hashes, ch.TxHash)
	}
	request["hashes"] = hashes
	var told struct {
		ChainID  int64
		Receipts []struct {
			Status    string
			Transfers []struct{ From, To, Value string }
		}
	}
	project.Run(t, "receipt.mjs", request, &told)
	require.EqualValues(t, 84532, told.ChainID)
	require.Len(t, told.Receipts, len(fees))
	for i, r := range told.Receipts {
		require.Equal(t, "success", r.Status)
		require.Len(t, r.Transfers, 1)
		require.Equal(t, dev.Merchant.PayTo, r.Transfers[0].To)
		require.Equal(t, strconv.FormatInt(fees[i].cents*10_000, 10), r.Transfers[0].Value)
		require.NotEqual(t, r.Transfers[0].From, r.Transfers[0].To)
	}
}
