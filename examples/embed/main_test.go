package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSecondRunGoesOnWithTheMerchantOfTheFirst: and each run ends on request.
func TestSecondRunGoesOnWithTheMerchantOfTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pay.db")
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		require.NoError(t, run(ctx, path, "127.0.0.1:0"))
		cancel()
	}
}
