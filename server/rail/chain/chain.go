// Package chain moves dollars on an EVM chain, out of the wallets of people who
// granted it, through the MandateRouter contract.
//
// A person signs a grant (caps, payees, an end) for a session key that the rail
// makes and seals in the vault, and a permit that gives the router an allowance.
// The rail relays both, so that the person pays no gas, and from then on charges
// with the session key:
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
// What is broadcast was stored before: a crash at any moment leaves a record that
// the next process goes on with. A charge is named by its reference on the chain as
// well, so that it moves money once even where two transactions of it should land.
// Each transaction has a nonce of its own, is sent again where the network forgot
// it, and replaced with higher fees where it does not get on.
//
// Several instances may share a store and a relayer: what must happen once is decided
// in the store's serial transactions, and each looks after the broadcasts of all.
//
// The rail charges no fee and converts nothing; what a person granted is enforced
// by the contract, whoever steals the rail's keys.
package chain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Token is the dollar token, with its signing domain.
type Token struct {
	Address common.Address
	Name    string
	Version string
}

// Config says which chain, and how patient to be with it.
type Config struct {
	// RPC reaches the chain: an ethclient.Client is one. Required; the rail does not
	// close it.
	RPC RPC
	// ChainID is the chain's id. Required.
	ChainID uint64
	// Router is the MandateRouter's address. Required.
	Router common.Address
	// Token is what is moved. Required.
	Token Token
	// Store keeps the rail's records; the rail closes it. Required. It belongs to
	// one chain, router, token and relayer, which Start makes sure of; a chain that
	// starts anew needs a new one.
	Store Store
	// Vault seals the session keys. Required.
	Vault *vault.Vault
	// Relayer pays the gas, and is an operator of the router. Required. Only instances
	// on the same Store may use the key.
	Relayer *ecdsa.PrivateKey
	// FromBlock is where the watcher of new records begins. Default: the newest block
	// at the first Start, or the first block where something was granted before it.
	FromBlock uint64
	// Confirmations is how deep a transaction must lie to be final: 1 is in the
	// newest block. Default: 1.
	Confirmations uint64
	// SafeAbove and FinalizedAbove are amounts above which a payment succeeds only in a
	// block that the node calls safe, or finalized, beside Confirmations. Default: none.
	SafeAbove, FinalizedAbove rail.Micros
	// Wait is how long a charge waits for its end before it answers that it is
	// pending. Default: ten seconds.
	Wait time.Duration
	// Poll is how often the chain is asked while somebody waits, and by the watcher.
	// Default: 250 milliseconds.
	Poll time.Duration
	// Lifetime is how long a signed charge can land, by the chain's clock. Default:
	// ten minutes.
	Lifetime time.Duration
	// BumpAfter is when a transaction that does not get on is replaced by one with
	// higher fees. Default: 15 seconds.
	BumpAfter time.Duration
	// MaxFeeWei is the most that a unit of gas may cost. Default: 500 gwei.
	MaxFeeWei *big.Int
	// LowBalanceWei is the relayer's balance below which Logger is warned, at the
	// start and once a minute while it spends.
	// Default: 0.01 ether.
	LowBalanceWei *big.Int
	// Authorizations says which signed transfers are settled. Default: see there.
	Authorizations Authorizations
	// Sandbox are wallets whose keys the rail has itself. Default: none.
	Sandbox Sandbox
	// OnRevoked is told of each grant that ended on the chain, at least once, by the
	// watcher. Where it fails, or answers [rail.ErrUndecided], it is told again.
	// Default: nobody is told.
	OnRevoked func(ctx context.Context, r Revocation) error
	// OnUndone is called for each payment that was answered as succeeded and that a
	// reorganization deeper than Confirmations took back for good, at least once: until
	// it returns nil. Default: it is only logged and counted.
	OnUndone func(ctx context.Context, u Undone) error
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Logger is told what needs somebody's attention. Default: discards.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	if err := c.names(); err != nil {
		return err
	}
	switch {
	case c.Store == nil:
		return errors.New("chain: Store is required")
	case c.Vault == nil:
		return errors.New("chain: Vault is required")
	case c.SafeAbove < 0 || c.FinalizedAbove < 0:
		return errors.New("chain: SafeAbove and FinalizedAbove must not be negative")
	case c.Wait < 0 || c.Poll < 0 || c.Lifetime < 0 || c.BumpAfter < 0:
		return errors.New("chain: durations must not be negative")
	}
	c.defaults()
	return nil
}

func (c *Config) defaults() {
	c.Confirmations = max(c.Confirmations, 1)
	c.Authorizations = c.Authorizations.orDefault()
	for d, value := range map[*time.Duration]time.Duration{
		&c.Wait: 10 * time.Second, &c.Poll: 250 * time.Millisecond, &c.Lifetime: 10 * time.Minute, &c.BumpAfter: 15 * time.Second,
	} {
		if *d == 0 {
			*d = value
		}
	}
	if c.MaxFeeWei == nil {
		c.MaxFeeWei = big.NewInt(500_000_000_000)
	}
	if c.LowBalanceWei == nil {
		c.LowBalanceWei = big.NewInt(10_000_000_000_000_000)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Rail moves money on a chain.
type Rail struct {
	config       Config
	relayer      common.Address
	router       *contracts.MandateRouter
	token        *contracts.TestUSDC // its calls are those of every dollar token
	routerDomain evm.Separator
	tokenDomain  evm.Domain
	locks        locks
	budget       gasBudget
	lately       recently
	seen         sightings
	alarms       alarms
	tending      sync.Mutex // of checkpoint
	checkpoint   checkpoint
	rest         rest          // of the background work alone
	slotsOpened  atomic.Uint64 // counts the slots that this instance may have opened
	watchedAll   atomic.Bool   // whether the watcher has come to the newest block that it knows
	committed    committed
	foreign      atomic.Uint64 // the relayer's nonce when it was found to be used by somebody else
	figures      figures
	looked       atomic.Int64 // when the relayer's balance was last looked at, in milliseconds; zero: never

	stop   context.CancelFunc
	loop   sync.WaitGroup
	once   sync.Once
	closed error
}

var _ rail.Rail = (*Rail)(nil)

// New returns the rail of a chain; it calls nobody yet. An error names the field
// of the configuration that is wrong.
func New(config Config) (*Rail, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return bare(config), nil
}

// domain is the router's signing domain.
func (r *Rail) domain() evm.Domain {
	return evm.Domain{
		Name: contracts.RouterDomainName, Version: contracts.RouterDomainVersion, ChainID: r.config.ChainID, Contract: r.config.Router,
	}
}

// Name is [rail.Chain].
func (r *Rail) Name() rail.Name { return rail.Chain }

// Relayer is the address that pays the gas.
func (r *Rail) Relayer() common.Address { return r.relayer }

// Start begins the background work: transactions that do not get on are sent again
// and replaced, the chain is watched for revocations, and session keys are wrapped
// anew where the vault has another key-encryption key than before. It ends with Close, not
// with ctx. A [*ConfigError] where the chain or the records are others than configured;
// any other error where node or store do not answer.
func (r *Rail) Start(ctx context.Context) error {
	if err := Check(ctx, r.config); err != nil {
		return fmt.Errorf("start chain rail: %w", err)
	}
	if err := r.adopt(ctx); err != nil {
		return fmt.Errorf("start chain rail: %w", err)
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.loop.Go(func() { r.every(ctx, max(r.config.Poll, tendEvery), "tend transactions", r.tendUnlessAtRest) })
	r.loop.Go(func() { r.watchAlways(ctx) })
	r.loop.Go(func() { r.writeSightings(ctx) })
	r.loop.Go(func() { r.every(ctx, forgetEvery, "forget proposals that nobody signed", r.forgetProposals) })
	r.loop.Go(func() {
		if _, err := r.Rewrap(ctx); err != nil && ctx.Err() == nil {
			r.config.Logger.WarnContext(ctx, "session keys of the chain rail not rewrapped", slog.Any("error", err))
		}
	})
	return nil
}

// every does a piece of work again and again until ctx ends.
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

// logged does a piece of background work, and logs its error.
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
