// Package devchain is an EVM chain inside the process, for development and tests:
// chain id 84532, a test USDC at Base Sepolia's own address, a deployed
// MandateRouter, ten funded wallets, JSON-RPC on loopback. It starts in some tens
// of milliseconds and keeps everything in memory.
//
//	chain, err := devchain.Start(devchain.Config{})
//	if err != nil { … }
//	defer chain.Close()
//	client, err := ethclient.Dial(chain.RPCURL())
//
// Blocks are made as transactions arrive, or by [Chain.Commit] alone where
// Config.Manual says so; [Chain.AdvanceTime] moves the chain's clock and
// [Chain.Reorg] takes blocks back.
//
// The keys of its wallets follow from constants in this file: whoever knows the
// source has them. Nothing on this chain is worth anything, and no address of
// these keys must ever hold something elsewhere.
package devchain

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/node"
)

// ChainID is Base Sepolia's, so that official clients need no configuration.
const ChainID = 84532

// The test USDC's signing domain, as Base Sepolia's has it.
const (
	USDCName    = "USDC"
	USDCVersion = "2"
)

// USDC is the address of the test dollar: Base Sepolia's.
func USDC() common.Address {
	return common.HexToAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e")
}

// Config says how the chain makes blocks.
type Config struct {
	// Manual makes no block but by Commit, AdvanceTime and Reorg. Default: a block
	// as soon as a transaction waits.
	Manual bool
	// Addr is where JSON-RPC is served: an IP address of the loopback interface
	// and a port, 0 for any. Default: "127.0.0.1:0".
	Addr string
	// MaxLead is how far the chain's clock may run ahead, plus what AdvanceTime
	// added: each block is at least a second later than the one before it, so
	// blocks that follow fast upon each other run ahead of the world, and
	// authorizations with a time window would expire early. A chain that is
	// further ahead waits before the next block. Default: five seconds.
	MaxLead time.Duration
}

// Chain is a running chain.
type Chain struct {
	stack    *node.Node
	ethereum *eth.Ethereum
	beacon   *catalyst.SimulatedBeacon
	client   *ethclient.Client
	maxLead  time.Duration

	making   sync.Mutex // one block at a time
	advanced time.Duration

	arrivals chan core.NewTxsEvent
	arriving event.Subscription
	arrived  chan struct{} // holds one after a transaction arrived
	closing  chan struct{}
	loop     sync.WaitGroup
	once     sync.Once
	closed   error
}

// Start starts a chain. An error where Config.Addr is not to be had.
func Start(config Config) (*Chain, error) {
	c := &Chain{
		maxLead: config.MaxLead, closing: make(chan struct{}),
		arrivals: make(chan core.NewTxsEvent, 256), arrived: make(chan struct{}, 1),
	}
	if c.maxLead <= 0 {
		c.maxLead = 5 * time.Second
	}
	if err := c.open(config); err != nil {
		return nil, fmt.Errorf("start development chain: %w", errors.Join(err, c.Close()))
	}
	if err := c.deploy(); err != nil {
		return nil, fmt.Errorf("start development chain: %w", errors.Join(err, c.Close()))
	}
	if !config.Manual {
		c.arriving = c.ethereum.TxPool().SubscribeTransactions(c.arrivals, true)
		c.loop.Go(c.drain)
		c.loop.Go(c.mine)
	}
	return c, nil
}

// Close ends the chain; nothing of it remains. It may be called twice.
func (c *Chain) Close() error {
	c.once.Do(func() {
		close(c.closing)
		if c.arriving != nil {
			c.arriving.Unsubscribe()
		}
		c.loop.Wait()
		if c.client != nil {
			c.client.Close()
		}
		if c.beacon != nil {
			c.closed = c.beacon.Stop()
		}
		if c.stack != nil {
			c.closed = errors.Join(c.closed, c.stack.Close())
		}
	})
	return c.closed
}

// RPCURL is where JSON-RPC is served: "http://127.0.0.1:…".
func (c *Chain) RPCURL() string { return c.stack.HTTPEndpoint() }

// Client calls the chain in process. It is closed with the chain.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Router is the address of the MandateRouter: [Router]. [Operator] may revoke on it,
// [Admin] is its administrator.
func (c *Chain) Router() common.Address { return Router() }

// Router is the address of the MandateRouter on every chain of this package.
func Router() common.Address { return crypto.CreateAddress(Admin().Address, 0) }
