package devchain_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call reads from a contract at the newest block.
func call(t *testing.T, client *ethclient.Client, to common.Address, data []byte) []byte {
	t.Helper()
	answer, err := client.CallContract(t.Context(), callMsg(to, data), nil)
	require.NoError(t, err)
	return answer
}

// transfer sends a payment in ether, and returns its hash.
func transfer(t *testing.T, chain *devchain.Chain, from devchain.Wallet, nonce uint64) common.Hash {
	t.Helper()
	to := devchain.Payee(1).Address
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, To: &to, Value: big.NewInt(1), Gas: params.TxGas,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	require.NoError(t, err)
	require.NoError(t, chain.Client().SendTransaction(t.Context(), tx))
	return tx.Hash()
}

// mined waits for a receipt.
func mined(t *testing.T, chain *devchain.Chain, hash common.Hash) *types.Receipt {
	t.Helper()
	var receipt *types.Receipt
	require.Eventually(t, func() (found bool) {
		var err error
		receipt, err = chain.Client().TransactionReceipt(t.Context(), hash)
		return err == nil
	}, time.Minute, time.Millisecond)
	return receipt
}

func TestChainIsReadyOverHTTP(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{})
	client, err := ethclient.DialContext(t.Context(), chain.RPCURL())
	require.NoError(t, err)
	defer client.Close()
	id, err := client.ChainID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 84532, id.Int64())
	network, err := client.NetworkID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 84532, network.Int64())
	token, router := contracts.NewTestUSDC(), contracts.NewMandateRouter()
	name, err := token.UnpackName(call(t, client, devchain.USDC(), token.PackName()))
	require.NoError(t, err)
	require.Equal(t, "USDC", name)
	version, err := token.UnpackVersion(call(t, client, devchain.USDC(), token.PackVersion()))
	require.NoError(t, err)
	require.Equal(t, "2", version)
	wallets := devchain.Wallets()
	require.Len(t, wallets, 10)
	for _, w := range wallets {
		balance, err := token.UnpackBalanceOf(call(t, client, devchain.USDC(), token.PackBalanceOf(w.Address)))
		require.NoError(t, err)
		require.EqualValues(t, devchain.WalletMicros, balance.Int64())
		ether, err := client.BalanceAt(t.Context(), w.Address, nil)
		require.NoError(t, err)
		require.Positive(t, ether.Sign())
	}
	owner, err := router.UnpackOwner(call(t, client, chain.Router(), router.PackOwner()))
	require.NoError(t, err)
	require.Equal(t, devchain.Admin().Address, owner)
	for _, w := range []devchain.Wallet{devchain.Operator(), devchain.Relayer()} {
		is, err := router.UnpackIsOperator(call(t, client, chain.Router(), router.PackIsOperator(w.Address)))
		require.NoError(t, err)
		require.True(t, is)
	}
}

func TestAddressesNeverChange(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0xea96D1aC64b8d04FB8625df4DA1D2bd0DFf22aCC", devchain.Wallets()[0].Address.Hex())
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	require.Equal(t, "0x63BDE2943073FCa3318138EA526232Efa7D33b81", chain.Router().Hex())
}

func TestBlocksAreMadeAsTransactionsArrive(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{})
	from := devchain.Wallets()[0]
	first := mined(t, chain, transfer(t, chain, from, 0))
	require.EqualValues(t, 1, first.Status)
	second := mined(t, chain, transfer(t, chain, from, 1))
	require.Greater(t, second.BlockNumber.Uint64(), first.BlockNumber.Uint64())
	head, err := chain.Client().BlockNumber(t.Context())
	require.NoError(t, err)
	require.Equal(t, second.BlockNumber.Uint64(), head, "no block without a transaction")
}

// TestManyTransactionsArriveWhileABlockIsMade: more than the chain's queue holds.
func TestManyTransactionsArriveWhileABlockIsMade(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{MaxLead: time.Hour})
	release := chain.Hold()
	t.Cleanup(release)
	const each = 60
	var last []common.Hash
	for _, from := range devchain.Wallets() {
		var hash common.Hash
		for nonce := range uint64(each) {
			hash = transfer(t, chain, from, nonce)
		}
		last = append(last, hash)
	}
	release()
	for _, hash := range last {
		require.Equal(t, types.ReceiptStatusSuccessful, mined(t, chain, hash).Status)
	}
}

func TestManualChainWaits(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	hash := transfer(t, chain, devchain.Wallets()[0], 0)
	_, err := chain.Client().TransactionReceipt(t.Context(), hash)
	require.Error(t, err)
	head, err := chain.Commit()
	require.NoError(t, err)
	require.Equal(t, head.Number, mined(t, chain, hash).BlockNumber)
}

func TestClockRunsAheadNoFurtherThanItMay(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{MaxLead: time.Second})
	for nonce := range uint64(6) {
		mined(t, chain, transfer(t, chain, devchain.Wallets()[0], nonce))
		require.WithinDuration(t, time.Now(), chain.Now(), 3*time.Second)
	}
}

func TestAdvanceTime(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{MaxLead: time.Second})
	month := 31 * 24 * time.Hour
	require.NoError(t, chain.AdvanceTime(month))
	require.WithinDuration(t, time.Now().Add(month), chain.Now(), time.Minute)
	mined(t, chain, transfer(t, chain, devchain.Wallets()[0], 0)) // is not put off by a month
	require.WithinDuration(t, time.Now().Add(month), chain.Now(), time.Minute)
	require.Error(t, chain.AdvanceTime(time.Millisecond))
}

func TestReorg(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]bool{"transactions come back": false, "transactions are forgotten": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain := devchaintest.Start(t, devchain.Config{Manual: true})
			base, err := chain.Client().BlockNumber(t.Context())
			require.NoError(t, err)
			hash := transfer(t, chain, devchain.Wallets()[0], 0)
			for range 3 {
				_, err := chain.Commit()
				require.NoError(t, err)
			}
			before := mined(t, chain, hash)
			require.NoError(t, chain.Reorg(t.Context(), 3, drop))
			require.NotEqual(t, before.BlockHash, chain.HashAt(before.BlockNumber.Uint64()))
			head, err := chain.Client().BlockNumber(t.Context())
			require.NoError(t, err)
			require.Equal(t, base+4, head)
			after, err := chain.Client().TransactionReceipt(t.Context(), hash)
			if drop {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.NotEqual(t, before.BlockHash, after.BlockHash)
			require.Error(t, chain.Reorg(t.Context(), 100, drop))
		})
	}
}

func TestRefusesToBeReachedFromOutside(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:80", "localhost:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"} {
		_, err := devchain.Start(devchain.Config{Addr: addr})
		require.Error(t, err, addr)
	}
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	chain, err := devchain.Start(devchain.Config{})
	require.NoError(t, err)
	require.NoError(t, chain.Close())
	require.NoError(t, chain.Close())
}

func TestTwoHundredTransactionsInOneBlock(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	var last common.Hash
	for nonce := range uint64(200) {
		last = transfer(t, chain, devchain.Relayer(), nonce)
	}
	_, err := chain.Commit()
	require.NoError(t, err)
	receipt := mined(t, chain, last)
	require.EqualValues(t, 199, receipt.TransactionIndex)
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		chain, err := devchain.Start(devchain.Config{})
		require.NoError(b, err)
		_ = chain.RPCURL()
		require.NoError(b, chain.Close())
	}
}
