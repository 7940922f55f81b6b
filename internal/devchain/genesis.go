package devchain

import (
	"fmt"
	"math/big"
	"net"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/paywarrant/paywarrant/contracts"
)

// blockGas is room for some hundreds of transfers in one block.
const blockGas = 60_000_000

// fillTime is how long the filling of a block may take before the node closes it
// with what it has: long, so that a busy machine never leaves out what waited.
const fillTime = time.Minute

// open builds the node and starts it on a genesis of its own.
func (c *Chain) open(config Config) error {
	host, port, err := listenAt(config.Addr)
	if err != nil {
		return err
	}
	nodeConfig := node.DefaultConfig
	nodeConfig.DataDir = "" // in memory
	nodeConfig.P2P = p2p.Config{NoDiscovery: true}
	nodeConfig.HTTPHost, nodeConfig.HTTPPort = host, port
	nodeConfig.HTTPModules = []string{"eth", "net", "web3"}
	nodeConfig.HTTPCors = []string{"*"} // wallets in a browser
	nodeConfig.HTTPVirtualHosts = []string{"localhost"}
	if c.stack, err = node.New(&nodeConfig); err != nil {
		return fmt.Errorf("make node: %w", err)
	}
	ethConfig := ethconfig.Defaults
	if ethConfig.Genesis, err = genesis(); err != nil {
		return err
	}
	ethConfig.NetworkId = ChainID
	ethConfig.SyncMode = ethconfig.FullSync
	ethConfig.Miner.GasCeil = blockGas
	ethConfig.Miner.Recommit = fillTime
	ethConfig.TxPool.NoLocals = true
	ethConfig.TxPool.AccountSlots = 1024 // one relayer sends many at a time
	ethConfig.TxPool.AccountQueue = 1024
	ethConfig.LogNoHistory = true // few blocks: logs are searched without an index
	if c.ethereum, err = eth.New(c.stack, &ethConfig); err != nil {
		return fmt.Errorf("make chain: %w", err)
	}
	logs := filters.NewFilterAPI(filters.NewFilterSystem(c.ethereum.APIBackend, filters.Config{}))
	c.stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: logs}})
	if err := c.stack.Start(); err != nil {
		return fmt.Errorf("start node: %w", err)
	}
	if c.beacon, err = catalyst.NewSimulatedBeacon(0, common.Address{}, c.ethereum); err != nil {
		return fmt.Errorf("start block production: %w", err)
	}
	c.ethereum.SetSynced()
	c.client = ethclient.NewClient(c.stack.Attach())
	return nil
}

// genesis holds the token and the funded accounts.
func genesis() (*core.Genesis, error) {
	config := *params.AllDevChainProtocolChanges
	config.ChainID = big.NewInt(ChainID)
	// Gas as it is on mainnet: none of the forks that it does not have yet.
	config.BogotaTime, config.AmsterdamTime = nil, nil
	alloc := core.SystemContractAllocs()
	balances := map[common.Address]*big.Int{}
	ether := new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))
	for _, w := range Wallets() {
		balances[w.Address] = big.NewInt(WalletMicros)
		alloc[w.Address] = types.Account{Balance: ether}
	}
	for _, w := range []Wallet{Admin(), Relayer(), Operator()} {
		alloc[w.Address] = types.Account{Balance: ether}
	}
	code, storage, err := contracts.Genesis(USDCName, USDCVersion, balances)
	if err != nil {
		return nil, fmt.Errorf("put the token into the genesis: %w", err)
	}
	alloc[USDC()] = types.Account{Code: code, Storage: storage, Balance: new(big.Int)}
	return &core.Genesis{Config: &config, GasLimit: blockGas, Alloc: alloc}, nil
}

// listenAt reads Config.Addr. Only loopback: whoever reaches the chain may do
// everything on it.
func listenAt(addr string) (host string, port int, err error) {
	if addr == "" {
		return "127.0.0.1", 0, nil
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("read address: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", 0, fmt.Errorf("address %q is not on the loopback interface", addr)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("read port: %w", err)
	}
	return host, int(n), nil
}
