package chain

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Token is the dollar token, with its signing domain.
type Token struct {
	// Address is the token's contract.
	Address common.Address
	// Name and Version are those of the token's EIP-712 domain.
	Name, Version string
}

// Config configures a [Rail].
type Config struct {
	// RPC is the chain's node, such as an ethclient.Client or a node.Client. Required.
	// The rail does not close it.
	RPC RPC
	// ChainID is the chain's id. Required.
	ChainID uint64
	// Router is the MandateRouter's address. Required.
	Router common.Address
	// Token is the token that the rail moves. Required.
	Token Token
	// Store keeps the rail's records, and the rail closes it. Required. It belongs to
	// one chain, router, token and relayer, which Start checks. A chain that begins
	// again at its first block needs a new store.
	Store Store
	// Vault seals the session keys. Required.
	Vault *vault.Vault
	// Relayer pays for gas, and is an operator of the router. Required. Only instances
	// on the same Store may use the key.
	Relayer *ecdsa.PrivateKey
	// FromBlock is the first block that the watcher reads with new records. Default: the
	// newest block at the first Start, or the first block if grants are older than that.
	FromBlock uint64
	// Confirmations is the depth at which a transaction is final: the newest block has
	// depth 1. Default: 1.
	Confirmations uint64
	// SafeAbove and FinalizedAbove are the amounts above which a payment succeeds only
	// in a block that the node calls safe, or finalized, beside Confirmations. Default:
	// none.
	SafeAbove, FinalizedAbove rail.Micros
	// Wait is how long a charge waits for its outcome before it returns that it is
	// pending. Default: ten seconds.
	Wait time.Duration
	// Poll is the pause between two reads of the chain while a caller waits, and of the
	// watcher. Default: 250 milliseconds.
	Poll time.Duration
	// Lifetime is how long a signed charge can land, by the chain's clock or the rail's,
	// whichever is later. Default: ten minutes.
	Lifetime time.Duration
	// BumpAfter is how long a transaction waits before it is replaced with higher fees.
	// Default: 15 seconds.
	BumpAfter time.Duration
	// MaxFeeWei is the most that a unit of gas may cost. Default: 500 gwei.
	MaxFeeWei *big.Int
	// LowBalanceWei is the relayer's balance below which a warning is logged, at the
	// start and once a minute while it spends. Default: 0.01 ether.
	LowBalanceWei *big.Int
	// Authorizations limits the signed transfers that the rail settles. Default: see
	// [Authorizations].
	Authorizations Authorizations
	// Upto has the contracts of x402's scheme upto. Default: those of every public chain.
	Upto Upto
	// Sandbox has wallets whose keys the rail knows. Default: none.
	Sandbox Sandbox
	// OnRevoked is called for each grant that ended on the chain, at least once. If it
	// fails or returns [rail.ErrUndecided], it is called again. Default: none.
	OnRevoked func(ctx context.Context, r Revocation) error
	// OnUndone is called for each payment that was reported as succeeded and that a
	// reorganization deeper than Confirmations took back for good, until it returns nil.
	// Default: the payment is only logged and counted.
	OnUndone func(ctx context.Context, u Undone) error
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Logger logs what needs an operator's attention. Default: none.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	if err := c.validateChain(); err != nil {
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

// validateChain checks the fields that [Check] needs.
func (c *Config) validateChain() error {
	switch {
	case c.RPC == nil:
		return errors.New("chain: RPC is required")
	case c.ChainID == 0:
		return errors.New("chain: ChainID is required")
	case c.Router == common.Address{}:
		return errors.New("chain: Router is required")
	case c.Token.Address == common.Address{} || c.Token.Name == "" || c.Token.Version == "":
		return errors.New("chain: Token needs address, name and version")
	case c.Relayer == nil:
		return errors.New("chain: Relayer is required")
	}
	return nil
}

func (c *Config) defaults() {
	c.Confirmations = max(c.Confirmations, 1)
	c.Authorizations = c.Authorizations.orDefault()
	c.Upto = c.Upto.orDefault()
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
