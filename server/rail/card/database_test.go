package card_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// restore creates a file of an earlier version from testdata.
func restore(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "card.db")
	dump, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), string(dump))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return path
}

// TestCloseLeavesOneFile: SQLite merges the write-ahead log into the file only if nothing
// keeps a connection open.
func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "card.db")
	processor := open(t, card.ProcessorConfig{Path: path})
	require.NoError(t, processor.Close())
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Equal(t, []string{path}, files)
}

// TestFilesOfEarlierVersionsAreTakenOver: what was paid, refused and given up stays decided.
func TestFilesOfEarlierVersionsAreTakenOver(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"version1.sql", "version2.sql"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path := restore(t, version)
			for range 2 {
				processor := open(t, card.ProcessorConfig{Path: path})
				totals, err := processor.Totals(t.Context())
				require.NoError(t, err)
				require.Equal(t, card.Totals{Payments: 1, CapturedCents: 700}, totals)
				paid, err := processor.Pay(t.Context(), card.PaymentParams{
					Reference: "txn_1.fiat", Customer: "cus_1", Method: "pm_1", Payee: "mer_1", Mandate: "del_1", AmountCents: 700, Description: "d",
				})
				require.NoError(t, err)
				require.Equal(t, "pay_1", paid.ID)
				require.EqualValues(t, 700, paid.CapturedCents)
				for reference, state := range map[string]card.State{"txn_1.fiat": card.Captured, "txn_2.fiat": card.Declined, "txn_3.fiat": card.Voided} {
					payment, err := processor.Payment(t.Context(), reference)
					require.NoError(t, err)
					require.Equal(t, state, payment.State)
				}
				require.NoError(t, processor.Close())
			}
		})
	}
}

// TestPaymentOfAnEarlierVersionIsFinishedAndRefunded: a payment that was only authorized when
// the program ended is captured as before, and can be refunded.
func TestPaymentOfAnEarlierVersionIsFinishedAndRefunded(t *testing.T) {
	t.Parallel()
	processor := open(t, card.ProcessorConfig{Path: restore(t, "version2.sql")})
	r := newRail(t, processor)
	found, err := r.Lookup(t.Context(), "txn_4.fiat")
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, found.Status)
	for _, refund := range []rail.Refund{
		{Reference: "rfd_1", Charge: "txn_1.fiat", Amount: 700 * money.MicrosPerCent},
		{Reference: "rfd_4", Charge: "txn_4.fiat", Amount: 900 * money.MicrosPerCent},
	} {
		outcome, err := r.Refund(t.Context(), refund)
		require.NoError(t, err)
		require.Equal(t, rail.Succeeded, outcome.Status)
	}
	totals, err := processor.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, card.Totals{Payments: 2, CapturedCents: 1600, Refunds: 2, RefundedCents: 1600}, totals)
}
