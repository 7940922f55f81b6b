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
// Blocks are made as transactions arrive, or only by [Chain.Commit] if Config.Manual
// is set; [Chain.AdvanceTime] moves the chain's clock and [Chain.Reorg] takes blocks
// back.
//
// Transactions run on go-ethereum's EVM and state, under its rules for blocks and
// for its transaction pool. The chain itself is this package: a list of blocks, a
// pool and the JSON-RPC methods that wallets and clients call, with geth's results
// and errors. It has no peers, no consensus and no filters or subscriptions.
//
// The keys of its wallets follow from constants in this package, so everybody has
// them. Nothing on this chain is worth anything, and no address of these keys must
// ever hold something elsewhere.
package devchain

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
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
	// Manual makes blocks only by Commit, AdvanceTime and Reorg. Default: a block
	// as soon as a transaction waits.
	Manual bool
	// Addr is the address that serves JSON-RPC: an IP address of the loopback
	// interface and a port, 0 for any. Default: "127.0.0.1:0".
	Addr string
	// MaxLead is how far the chain's clock may run ahead, plus what AdvanceTime
	// added: each block is at least a second later than the one before it, so
	// blocks that follow fast upon each other run ahead of the world, and
	// authorizations with a time window would expire early. A chain that is
	// further ahead waits before the next block. Default: five seconds.
	MaxLead time.Duration
	// Genesis holds accounts of the first block that replace the chain's own.
	// Default: none.
	Genesis types.GenesisAlloc
}

// Chain is a running chain. It is safe for concurrent use.
type Chain struct {
	*history

	rpc     *rpc.Server
	server  *server
	client  *ethclient.Client
	maxLead time.Duration

	making   sync.Mutex    // one block at a time
	advanced time.Duration // by AdvanceTime; guarded by making

	arrived chan struct{} // holds one after a transaction arrived
	closing chan struct{}
	loop    sync.WaitGroup
	once    sync.Once
	closed  error
}

// Start starts a chain. It returns an error if Config.Addr cannot be served.
func Start(config Config) (*Chain, error) {
	c := &Chain{maxLead: config.MaxLead, arrived: make(chan struct{}, 1), closing: make(chan struct{})}
	if c.maxLead <= 0 {
		c.maxLead = 5 * time.Second
	}
	if err := c.open(config); err != nil {
		return nil, fmt.Errorf("start development chain: %w", errors.Join(err, c.Close()))
	}
	if !config.Manual {
		c.loop.Go(c.mine)
	}
	return c, nil
}

func (c *Chain) open(config Config) (err error) {
	address, err := listenAt(config.Addr)
	if err != nil {
		return err
	}
	if c.history, err = newHistory(config.Genesis); err != nil {
		return err
	}
	if c.rpc, err = newRPC(c); err != nil {
		return err
	}
	c.client = ethclient.NewClient(rpc.DialInProc(c.rpc))
	if err := c.deploy(); err != nil {
		return err
	}
	c.server, err = serve(address, c.rpc)
	return err
}

// Close ends the chain; nothing of it remains. It may be called twice.
func (c *Chain) Close() error {
	c.once.Do(func() {
		close(c.closing)
		c.loop.Wait()
		if c.server != nil {
			c.closed = c.server.close()
		}
		if c.client != nil {
			c.client.Close()
		}
		if c.rpc != nil {
			c.rpc.Stop()
		}
	})
	return c.closed
}

// RPCURL is the address of the chain's JSON-RPC: "http://127.0.0.1:…".
func (c *Chain) RPCURL() string { return c.server.url }

// Client calls the chain in process. It is closed with the chain.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Router is the address of the MandateRouter: [Router]. [Operator] may revoke on it,
// [Admin] is its administrator.
func (c *Chain) Router() common.Address { return Router() }

// Router is the address of the MandateRouter on every chain of this package.
func Router() common.Address { return crypto.CreateAddress(Admin().Address, 0) }
