// Package devrail runs the chain rail on a development chain, for a development system
// and for tests. The chain is in the process and ends with it, or in another process,
// for drills that kill this one.
package devrail

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Pauses between two reads of the chain, in the process and elsewhere. Either chain
// makes a block at once.
const (
	pollInside  = 20 * time.Millisecond
	pollOutside = 50 * time.Millisecond
)

// bumpOutside is how long a transaction waits on a chain elsewhere before it is
// replaced: one that waits so long is held back by a drill.
const bumpOutside = 2 * time.Second

// Config configures [Start].
type Config struct {
	// Vault seals the session keys. Required.
	Vault *vault.Vault
	// Logger logs what needs an operator's attention. Required.
	Logger *slog.Logger
	// URL is the JSON-RPC of a development chain in another process. Default: a chain in
	// the process.
	URL string
	// Records opens the rail's records, which belong to one chain. Required with URL;
	// without it the records end with the chain.
	Records func(ctx context.Context) (chain.Store, error)
}

// Dev is a development chain and the rail on it.
type Dev struct {
	// Inside is the chain in the process. Nil: it is elsewhere.
	Inside *devchain.Chain
	// Rail is closed by the service that it is given to.
	Rail *chain.Rail

	url    string
	client *ethclient.Client
	dir    string // of a chain in the process: gone with it
}

// Start starts a chain, or connects to the one at Config.URL, and creates the rail on it.
func Start(ctx context.Context, c Config) (_ *Dev, err error) {
	d := &Dev{url: c.URL}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if c.URL != "" && c.Records == nil {
		return nil, errors.New("devrail: Records is required with URL")
	}
	poll, bump := pollOutside, bumpOutside
	if c.URL == "" {
		poll, bump = pollInside, 0 // the rail's default
		if err = d.startInside(); err != nil {
			return nil, err
		}
		c.Records = d.records
	} else if d.client, err = ethclient.DialContext(ctx, c.URL); err != nil {
		return nil, fmt.Errorf("reach the chain: %w", err)
	}
	store, err := c.Records(ctx)
	if err != nil {
		return nil, err
	}
	var funded []*ecdsa.PrivateKey
	for _, w := range devchain.Wallets() {
		funded = append(funded, w.Key())
	}
	d.Rail, err = chain.New(chain.Config{
		RPC: d.rpc(), ChainID: devchain.ChainID, Router: devchain.Router(),
		Token: chain.Token{Address: devchain.USDC(), Name: devchain.USDCName, Version: devchain.USDCVersion},
		Store: store, Vault: c.Vault, Relayer: devchain.Relayer().Key(), Poll: poll, BumpAfter: bump, Logger: c.Logger,
		Sandbox: chain.Sandbox{Funded: funded, Empty: devchain.EmptyWallet().Key()},
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d, nil
}

// announcing is the client of a chain in the process, which announces its blocks.
type announcing struct {
	*ethclient.Client

	inside *devchain.Chain
}

// NextBlock returns a channel that is closed when the chain has another newest block.
func (a announcing) NextBlock() <-chan struct{} { return a.inside.NextBlock() }

func (d *Dev) rpc() chain.RPC {
	if d.Inside == nil {
		return d.client
	}
	return announcing{d.client, d.Inside}
}

func (d *Dev) startInside() (err error) {
	if d.dir, err = os.MkdirTemp("", "paywarrant-chain-"); err != nil {
		return err
	}
	if d.Inside, err = devchain.Start(devchain.Config{}); err != nil {
		return err
	}
	d.url, d.client = d.Inside.RPCURL(), d.Inside.Client()
	return nil
}

// records opens the records of a chain in the process.
func (d *Dev) records(ctx context.Context) (chain.Store, error) {
	kept, err := sqlite.Open(ctx, filepath.Join(d.dir, "chain.db"))
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// RPCURL returns the URL of the chain's JSON-RPC.
func (d *Dev) RPCURL() string { return d.url }

// Client returns a client of the chain.
func (d *Dev) Client() *ethclient.Client { return d.client }

// Close ends a chain in the process, or the connection to another one. The rail must be
// closed before.
func (d *Dev) Close() error {
	var err error
	if d.Inside != nil {
		err = d.Inside.Close()
	} else if d.client != nil {
		d.client.Close()
	}
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	return err
}

// AdvanceTime moves the chain's clock forward, if the chain is in the process: the
// contracts count months by it.
func (d *Dev) AdvanceTime(by time.Duration) {
	if d.Inside != nil && by >= time.Second {
		_ = d.Inside.AdvanceTime(by) // a chain that is stuck makes no block either
	}
}

// Clock is a service's clock that moves the chain's clock with it.
type Clock struct {
	clock.Movable

	// Chain is moved too. Nil: there is none.
	Chain *Dev
}

// Advance moves both clocks forward.
func (c *Clock) Advance(d time.Duration) {
	c.Movable.Advance(d)
	if c.Chain != nil {
		c.Chain.AdvanceTime(d)
	}
}
