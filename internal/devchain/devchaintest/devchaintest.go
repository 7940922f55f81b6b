// Package devchaintest starts development chains inside tests.
package devchaintest

import (
	"testing"

	"github.com/paywarrant/paywarrant/internal/devchain"
)

// Start starts a chain that ends with the test. What goes wrong ends the test.
func Start(t testing.TB, config devchain.Config) *devchain.Chain {
	t.Helper()
	chain, err := devchain.Start(config)
	if err != nil {
		t.Fatalf("devchaintest: %v", err)
	}
	t.Cleanup(func() {
		if err := chain.Close(); err != nil {
			t.Errorf("devchaintest: close: %v", err)
		}
	})
	return chain
}
