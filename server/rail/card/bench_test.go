package card_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// BenchmarkDisk is the baseline: 4 KiB written and synced.
func BenchmarkDisk(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "disk"))
	require.NoError(b, err)
	defer file.Close()
	page := make([]byte, 4096)
	offset := int64(0)
	for b.Loop() {
		_, err := file.WriteAt(page, offset)
		require.NoError(b, err)
		require.NoError(b, file.Sync())
		offset += int64(len(page))
	}
}

// BenchmarkCharge charges a fresh reference each time, from 1 and 32 callers.
func BenchmarkCharge(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			processor, err := card.OpenProcessor(b.Context(), card.ProcessorConfig{Path: filepath.Join(b.TempDir(), "card.db")})
			require.NoError(b, err)
			defer processor.Close()
			r, err := card.New(card.Config{Gateway: processor})
			require.NoError(b, err)
			instrument, err := r.Connect(b.Context(), rail.Connection{Reference: "c", Method: "card_visa"})
			require.NoError(b, err)
			var left, used atomic.Int64
			left.Store(int64(b.N))
			done := make(chan error, callers)
			b.ResetTimer()
			for range callers {
				go func() {
					for left.Add(-1) >= 0 {
						if _, err := r.Charge(b.Context(), charge(fmt.Sprintf("txn_%d", used.Add(1)), instrument)); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for range callers {
				require.NoError(b, <-done)
			}
		})
	}
}
