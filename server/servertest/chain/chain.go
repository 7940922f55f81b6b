// Package chain adds a development chain to the service of a test:
//
//	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
//	m := srv.Mandate(t, servertest.Terms{…, PaymentMethods: []string{"wallet"}})
//
// It is separate from package servertest because it compiles go-ethereum.
package chain

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Start starts a development chain and its rail in the process. The chain stops after the
// service. A failure ends the test.
func Start(t testing.TB) *servertest.Chain {
	t.Helper()
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	wrapper, err := vault.NewLocal(key[:])
	if err != nil {
		t.Fatalf("servertest/chain: %v", err)
	}
	d, err := devrail.Start(t.Context(), devrail.Config{Vault: vault.New(wrapper), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("servertest/chain: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("servertest/chain: close: %v", err)
		}
	})
	return &servertest.Chain{
		Rail: d.Rail, PayTo: devchain.Payee(0).Address.Hex(), Advance: d.AdvanceTime,
		RPCURL: d.RPCURL(), ID: devchain.ChainID, Network: fmt.Sprintf("eip155:%d", devchain.ChainID),
		USDC: devchain.USDC().Hex(), Router: devchain.Router().Hex(),
	}
}
