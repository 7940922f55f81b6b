package card_test

import (
	"fmt"
	"net/http/httptest"
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
	b.Cleanup(func() { require.NoError(b, file.Close()) })
	page := make([]byte, 4096)
	offset := int64(0)
	for b.Loop() {
		_, err := file.WriteAt(page, offset)
		require.NoError(b, err)
		require.NoError(b, file.Sync())
		offset += int64(len(page))
	}
}

// BenchmarkCharge charges a fresh reference each time, in process and over HTTP.
func BenchmarkCharge(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("in_process/callers=%d", callers), func(b *testing.B) {
			chargeBy(b, callers, openBench(b))
		})
		b.Run(fmt.Sprintf("http/callers=%d", callers), func(b *testing.B) {
			server := httptest.NewServer(openBench(b).Handler())
			b.Cleanup(server.Close)
			gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: server.URL})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, gateway.Close()) })
			chargeBy(b, callers, gateway)
		})
	}
}

func openBench(b *testing.B) *card.Processor {
	b.Helper()
	processor, err := card.OpenProcessor(b.Context(), card.ProcessorConfig{Path: filepath.Join(b.TempDir(), "card.db")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, processor.Close()) })
	return processor
}

// chargeBy makes b.N charges from some callers at once.
func chargeBy(b *testing.B, callers int, gateway card.Gateway) {
	b.Helper()
	r, err := card.New(card.Config{Gateway: gateway})
	require.NoError(b, err)
	instrument, err := r.Connect(b.Context(), rail.Connection{Reference: "c", Method: "card_visa"})
	require.NoError(b, err)
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error, callers)
	b.ResetTimer()
	for range callers {
		go func() {
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				if _, err := r.Charge(b.Context(), charge(fmt.Sprintf("txn_%d", i), instrument)); err != nil {
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
}
