package chain_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Example charges a sandbox wallet on a development chain.
func Example() {
	ctx := context.Background()
	dev, err := devchain.Start(devchain.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	folder, err := os.MkdirTemp("", "chain")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "chain.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	wrapper, err := vault.NewLocal(make([]byte, 32))
	if err != nil {
		fmt.Println(err)
		return
	}
	config := chain.Config{
		RPC: dev.Client(), ChainID: devchain.ChainID, Router: dev.Router(),
		Token: chain.Token{Address: devchain.USDC(), Name: devchain.USDCName, Version: devchain.USDCVersion},
		Store: store, Vault: vault.New(wrapper), Relayer: devchain.Relayer().Key(), Poll: 10 * time.Millisecond,
	}
	for _, w := range devchain.Wallets() {
		config.Sandbox.Funded = append(config.Sandbox.Funded, w.Key())
	}
	r, err := chain.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	instrument, err := r.Connect(ctx, rail.Connection{Reference: "setup", Method: chain.MethodWallet})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := r.Charge(ctx, rail.Charge{
		Reference: "txn_1", MandateID: "del_1", MerchantID: "mer_1", PayTo: devchain.Payee(0).Address.Hex(),
		Instrument: instrument, Amount: 250_000,
	})
	fmt.Println(outcome.Status, err)
	// Output: succeeded <nil>
}
