// Package chain moves dollars on an EVM chain, out of the wallets of people who
// granted it, through the MandateRouter contract.
//
// A person signs a grant (limits, payees, an expiry) for a session key that the rail
// creates and seals in the vault, and a permit that gives the router an allowance.
// The rail relays both, so the person pays no gas, and then charges with the session
// key:
//
//	store, err := sqlite.Open(ctx, "chain.db")
//	r, err := chain.New(chain.Config{
//		RPC: client, ChainID: 84532, Router: router, Token: chain.Token{Address: usdc, Name: "USDC", Version: "2"},
//		Store: store, Vault: v, Relayer: key,
//	})
//	err = r.Start(ctx)
//	defer r.Close()
//	proposal, err := r.Prepare(ctx, owner, chain.Terms{…}) // the wallet signs proposal.Grant and proposal.Permit
//	method, err := r.Consent(ctx, proposal.GrantID, chain.Consent{…})
//	instrument, err := r.Connect(ctx, rail.Connection{Reference: …, Method: method})
//
// Every transaction is stored before it is broadcast, so a crash at any moment leaves
// a record that the next process continues from. The contract knows a charge by its
// reference as well, so money moves once even if two transactions of a charge land.
// Each transaction has its own nonce. It is sent again if the network forgot it, and
// replaced with higher fees if it waits too long.
//
// Several instances may share a store and a relayer: the store's serial transactions
// decide what must happen once, and each instance tends the transactions of all.
//
// The rail charges no fee and converts nothing. The contract enforces what a person
// granted, even against a thief of the rail's keys.
//
// The files are named by topic: charge_* for mandates' charges, grant_* for what
// wallets grant, transfer_* for signed transfer authorizations (x402), and watcher_*
// for what happens on the chain without the rail. The relayer's transactions are in
// internal/relayer, reads of the chain in internal/eth, and the store's interface in
// records.
package chain

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/alarm"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/gasbudget"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Rail moves money on a chain. It is safe for concurrent use.
type Rail struct {
	config       Config
	chain        *eth.Reader
	relayer      *relayer.Relayer
	router       *contracts.MandateRouter
	token        *contracts.TestUSDC      // its calls are those of every dollar token
	permit2      *contracts.TestPermit2   // its calls are those of Permit2
	uptoProxy    *contracts.TestUptoProxy // its calls are those of the scheme's proxy
	routerDomain evm.Separator
	tokenDomain  evm.Domain
	locks        locks
	budget       gasbudget.Budget
	latency      recentLatency
	sightings    sightings
	alarms       alarm.Limiter
	upto         atomic.Bool // the chain has the contracts of the scheme upto
	caughtUp     atomic.Bool // the watcher has read all final blocks
	rest         rest        // of the background work alone
	gauges       gauges

	stop   context.CancelFunc // nil: Start was not called
	loop   sync.WaitGroup
	once   sync.Once
	closed error
}

var _ rail.Rail = (*Rail)(nil)

// New returns the rail of a chain. It does no I/O. The returned error names the
// invalid field of the configuration.
func New(config Config) (*Rail, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return newRail(config), nil
}

// newRail returns a rail. [Check] needs it without a store and a vault.
func newRail(c Config) *Rail {
	r := &Rail{
		config: c, sightings: sightings{wake: make(chan struct{}, 1)},
		chain:  &eth.Reader{Node: c.RPC, Confirmations: c.Confirmations, SafeAbove: c.SafeAbove, FinalizedAbove: c.FinalizedAbove},
		router: contracts.NewMandateRouter(), token: contracts.NewTestUSDC(),
		permit2: contracts.NewTestPermit2(), uptoProxy: contracts.NewTestUptoProxy(),
		tokenDomain: evm.Domain{Name: c.Token.Name, Version: c.Token.Version, ChainID: c.ChainID, Contract: c.Token.Address},
	}
	r.routerDomain = r.domain().Separator()
	r.relayer = relayer.New(relayer.Config{
		Node: c.RPC, Chain: r.chain, ChainID: c.ChainID, Key: c.Relayer, Store: c.Store, Poll: c.Poll, BumpAfter: c.BumpAfter,
		MaxFeeWei: c.MaxFeeWei, LowBalanceWei: c.LowBalanceWei, Clock: c.Clock, Logger: c.Logger,
		Tasks: map[string]relayer.Task{
			chargePrefix:        {Dead: r.chargeDead, Judge: r.judgeCharge},
			authorizationPrefix: {Dead: r.transferDead, Judge: r.judgeTransfer, Ended: r.transferEnded},
			deployPrefix:        {Ended: r.deploymentEnded},
		},
	})
	return r
}

// domain returns the router's signing domain.
func (r *Rail) domain() evm.Domain {
	return evm.Domain{
		Name: contracts.RouterDomainName, Version: contracts.RouterDomainVersion, ChainID: r.config.ChainID, Contract: r.config.Router,
	}
}

// Name returns [rail.Chain].
func (r *Rail) Name() rail.Name { return rail.Chain }

// ChainID returns the chain's id.
func (r *Rail) ChainID() uint64 { return r.config.ChainID }

// Network returns the chain's CAIP-2 name.
func (r *Rail) Network() string { return fmt.Sprintf("eip155:%d", r.config.ChainID) }

var _ rail.Networked = (*Rail)(nil)

// Relayer returns the address that pays for gas.
func (r *Rail) Relayer() common.Address { return r.relayer.Address() }

// Start begins the background work: it sends waiting transactions again and replaces
// them, watches the chain for revocations, and wraps session keys again if the vault
// has a new key-encryption key. The work ends with Close, not with ctx. Start returns
// a [*ConfigError] if the chain or the records contradict the configuration, and
// another error if the node or the store does not answer.
func (r *Rail) Start(ctx context.Context) error {
	if err := Check(ctx, r.config); err != nil {
		return fmt.Errorf("start chain rail: %w", err)
	}
	if err := r.claimRecords(ctx); err != nil {
		return fmt.Errorf("start chain rail: %w", err)
	}
	if err := r.findUptoProxy(ctx); err != nil {
		return fmt.Errorf("start chain rail: %w", err)
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.loop.Go(func() { r.every(ctx, max(r.config.Poll, relayer.TendEvery), "tend transactions", r.tendUnlessAtRest) })
	r.loop.Go(func() { r.watchAlways(ctx) })
	r.loop.Go(func() { r.writeSightings(ctx) })
	r.loop.Go(func() { r.every(ctx, forgetEvery, "delete expired proposals", r.forgetProposals) })
	r.loop.Go(func() {
		if _, err := r.Rewrap(ctx); err != nil && ctx.Err() == nil {
			r.config.Logger.WarnContext(ctx, "session keys of the chain rail not rewrapped", slog.Any("error", err))
		}
	})
	return nil
}

var _ rail.Starter = (*Rail)(nil)

// every repeats a piece of work, with a pause between, until ctx ends.
func (r *Rail) every(ctx context.Context, pause time.Duration, what string, work func(context.Context) error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		_ = r.logged(ctx, what, work)
		timer.Reset(pause)
	}
}

// logged runs a piece of background work, and logs its error.
func (r *Rail) logged(ctx context.Context, what string, work func(context.Context) error) error {
	err := work(ctx)
	if err != nil && ctx.Err() == nil {
		r.config.Logger.WarnContext(ctx, "background work of the chain rail failed", slog.String("work", what), slog.Any("error", err))
	}
	return err
}

// Close ends the background work and closes the store. It may be called twice.
func (r *Rail) Close() error {
	r.once.Do(func() {
		if r.stop != nil {
			r.stop()
		}
		r.loop.Wait()
		r.closed = r.config.Store.Close()
	})
	return r.closed
}
