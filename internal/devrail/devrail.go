// Package devrail is the chain rail on a development chain, for a development
// system and for tests. Everything on it is gone with the process.
package devrail

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

// poll is how often the rail looks at a chain that makes blocks at once.
const poll = 20 * time.Millisecond

// Dev is a development chain and the rail on it.
type Dev struct {
	*devchain.Chain

	// Rail is closed by the service that it is given to.
	Rail *chain.Rail
	dir  string
}

// Start starts a chain, and makes the rail on it, whose session keys v seals.
func Start(ctx context.Context, v *vault.Vault, log *slog.Logger) (_ *Dev, err error) {
	d := &Dev{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.dir, err = os.MkdirTemp("", "paywarrant-chain-"); err != nil {
		return nil, err
	}
	if d.Chain, err = devchain.Start(devchain.Config{}); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(d.dir, "chain.db"))
	if err != nil {
		return nil, err
	}
	var funded []*ecdsa.PrivateKey
	for _, w := range devchain.Wallets() {
		funded = append(funded, w.Key())
	}
	d.Rail, err = chain.New(chain.Config{
		RPC: d.Client(), ChainID: devchain.ChainID, Router: d.Router(),
		Token: chain.Token{Address: devchain.USDC(), Name: devchain.USDCName, Version: "2"},
		Store: store, Vault: v, Relayer: devchain.Relayer().Key(), Poll: poll, Logger: log,
		Sandbox: chain.Sandbox{Funded: funded, Empty: devchain.EmptyWallet().Key()},
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d, nil
}

// Close ends the chain; the rail must have been closed before.
func (d *Dev) Close() error {
	var err error
	if d.Chain != nil {
		err = d.Chain.Close()
	}
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	return err
}

// Clock is a service's clock that takes the chain's along when it is moved: the
// contracts count months by it.
type Clock struct {
	clock.Movable

	// Chain is moved along. Nil: there is none.
	Chain *Dev
}

// Advance moves both clocks forward.
func (c *Clock) Advance(d time.Duration) {
	c.Movable.Advance(d)
	if c.Chain != nil && d >= time.Second {
		_ = c.Chain.AdvanceTime(d) // a chain that is stuck makes no block either
	}
}
