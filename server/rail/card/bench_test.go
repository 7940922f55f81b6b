package card_test

import (
	"context"
	"errors"
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
	benchmark(b, func(ctx context.Context, r *card.Rail, c rail.Charge) error {
		_, err := r.Charge(ctx, c)
		return err
	})
}

// BenchmarkHold authorizes a fresh reference each time, and captures a half.
func BenchmarkHold(b *testing.B) {
	benchmark(b, func(ctx context.Context, r *card.Rail, c rail.Charge) error {
		_, err := r.Authorize(ctx, c)
		c.Amount /= 2
		_, captured := r.Capture(ctx, c)
		return errors.Join(err, captured)
	})
}

// BenchmarkRefund charges a fresh reference each time, and refunds it.
func BenchmarkRefund(b *testing.B) {
	benchmark(b, func(ctx context.Context, r *card.Rail, c rail.Charge) error {
		_, err := r.Charge(ctx, c)
		_, refunded := r.Refund(ctx, rail.Refund{Reference: c.Reference, Charge: c.Reference, Amount: c.Amount})
		return errors.Join(err, refunded)
	})
}

// benchmark measures work in process and over HTTP.
func benchmark(b *testing.B, work work) {
	b.Helper()
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("in_process/callers=%d", callers), func(b *testing.B) {
			workBy(b, callers, openBench(b), work)
		})
		b.Run(fmt.Sprintf("http/callers=%d", callers), func(b *testing.B) {
			server := httptest.NewServer(openBench(b).Handler())
			b.Cleanup(server.Close)
			gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: server.URL})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, gateway.Close()) })
			workBy(b, callers, gateway, work)
		})
	}
}

// work is what is measured, with a fresh charge each time.
type work func(ctx context.Context, r *card.Rail, c rail.Charge) error

func openBench(b *testing.B) *card.Processor {
	b.Helper()
	processor, err := card.OpenProcessor(b.Context(), card.ProcessorConfig{Path: filepath.Join(b.TempDir(), "card.db")})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, processor.Close()) })
	return processor
}

// workBy works b.N times from some callers at once.
func workBy(b *testing.B, callers int, gateway card.Gateway, work work) {
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
				if err := work(b.Context(), r, charge(fmt.Sprintf("txn_%d", i), instrument)); err != nil {
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
