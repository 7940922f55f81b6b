// Package devchaintest starts development chains inside tests.
package devchaintest

import (
	"testing"

	"go.uber.org/goleak"

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

// Leaks are the goroutines that the node's libraries leave behind, for goleak:
// one pool for the whole process, and a timer of each database that ends by itself.
func Leaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/ethereum/go-ethereum/core.(*txSenderCacher).cache"),
		goleak.IgnoreAnyFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"),
	}
}
