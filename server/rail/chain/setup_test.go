package chain_test

import (
	"context"
	"crypto/ecdsa"
	"math/big"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dollar is what most tests charge.
const dollar rail.Micros = 1_000_000

// world is a chain with a rail on it.
type world struct {
	chain  *devchain.Chain
	rail   *chain.Rail
	config chain.Config
	path   string
	vault  *vault.Vault
	nonces map[common.Address]uint64
	// sending is locked while the rail's transactions must not reach the chain.
	sending sync.RWMutex

	mu      sync.Mutex
	revoked []chain.Revocation
}

// sender is the rail's node. It sends no transaction while the lock is held.
type sender struct {
	*ethclient.Client

	sending *sync.RWMutex
}

func (s sender) SendTransaction(ctx context.Context, tx *types.Transaction) error {
	s.sending.RLock()
	defer s.sending.RUnlock()
	return s.Client.SendTransaction(ctx, tx)
}

// setup starts a chain, which makes blocks by itself unless it is manual, and a rail,
// whose configuration change may adapt.
func setup(t *testing.T, dev devchain.Config, change func(*chain.Config)) *world {
	t.Helper()
	if dev.MaxLead == 0 {
		dev.MaxLead = time.Hour
	}
	wrapper, err := vault.NewLocal(make([]byte, 32))
	require.NoError(t, err)
	w := &world{
		chain: devchaintest.Start(t, dev), path: filepath.Join(t.TempDir(), "chain.db"), vault: vault.New(wrapper),
		nonces: map[common.Address]uint64{},
	}
	var funded []*ecdsa.PrivateKey
	for _, one := range devchain.Wallets() {
		funded = append(funded, one.Key())
	}
	w.config = chain.Config{
		RPC: sender{w.chain.Client(), &w.sending}, ChainID: devchain.ChainID, Router: w.chain.Router(),
		Token: chain.Token{Address: devchain.USDC(), Name: devchain.USDCName, Version: devchain.USDCVersion},
		Vault: w.vault, Relayer: devchain.Relayer().Key(), Poll: 5 * time.Millisecond,
		Sandbox: chain.Sandbox{Funded: funded, Empty: devchain.EmptyWallet().Key()},
		OnRevoked: func(_ context.Context, r chain.Revocation) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.revoked = append(w.revoked, r)
			return nil
		},
	}
	if change != nil {
		change(&w.config)
	}
	w.open(t)
	return w
}

// open opens the store and creates the rail.
func (w *world) open(t *testing.T) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), w.path)
	require.NoError(t, err)
	config := w.config
	config.Store = store
	w.rail, err = chain.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.rail.Close()) })
}

// restart closes the rail and opens another one.
func (w *world) restart(t *testing.T) rail.Rail {
	t.Helper()
	require.NoError(t, w.rail.Close())
	w.open(t)
	return w.rail
}

func payTo() string { return devchain.Payee(0).Address.Hex() }

func (w *world) balance(t *testing.T, of common.Address) rail.Micros {
	t.Helper()
	token := contracts.NewTestUSDC()
	usdc := devchain.USDC()
	answer, err := w.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: token.PackBalanceOf(of)}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(answer)
	require.NoError(t, err)
	return rail.Micros(balance.Int64())
}

// moved returns the payee's balance.
func (w *world) moved(t *testing.T) rail.Micros {
	t.Helper()
	return w.balance(t, devchain.Payee(0).Address)
}

func (w *world) connect(t *testing.T, reference, method string) rail.Instrument {
	t.Helper()
	instrument, err := w.rail.Connect(t.Context(), rail.Connection{Reference: reference, Method: method})
	require.NoError(t, err)
	return instrument
}

func charge(reference string, in rail.Instrument) rail.Charge {
	return rail.Charge{Reference: reference, MandateID: "del_1", MerchantID: "mer_1", PayTo: payTo(), Instrument: in, Amount: dollar}
}

func (w *world) pay(t *testing.T, c rail.Charge) rail.Outcome {
	t.Helper()
	outcome, err := w.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	return outcome
}

// commit makes blocks of a manual chain.
func (w *world) commit(t *testing.T, n int) {
	t.Helper()
	for range n {
		_, err := w.chain.Commit()
		require.NoError(t, err)
	}
}

// send sends a call without the rail, and returns its hash. It pays a higher tip than
// the rail, so it lands first in its block.
func (w *world) send(t *testing.T, from devchain.Wallet, to common.Address, data []byte) common.Hash {
	t.Helper()
	nonce, err := w.chain.Client().PendingNonceAt(t.Context(), from.Address)
	require.NoError(t, err)
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, To: &to, Data: data, Gas: 500_000,
		GasTipCap: big.NewInt(2 * params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	require.NoError(t, err)
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), tx))
	return tx.Hash()
}

// mined waits for a receipt.
func (w *world) mined(t *testing.T, hash common.Hash) *types.Receipt {
	t.Helper()
	var receipt *types.Receipt
	require.Eventually(t, func() bool {
		var err error
		receipt, err = w.chain.Client().TransactionReceipt(t.Context(), hash)
		return err == nil
	}, time.Minute, time.Millisecond)
	return receipt
}
