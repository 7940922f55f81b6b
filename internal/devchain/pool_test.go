package devchain_test

import (
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
)

// offer is a transfer of some ether with a tip and a fee cap in gwei.
func offer(t *testing.T, from devchain.Wallet, nonce uint64, value *big.Int, tip, feeCap int64) *types.Transaction {
	t.Helper()
	to := devchain.Payee(1).Address
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, To: &to, Value: value, Gas: params.TxGas,
		GasTipCap: big.NewInt(tip * params.GWei), GasFeeCap: big.NewInt(feeCap * params.GWei),
	})
	require.NoError(t, err)
	return tx
}

func TestPoolRefusesAsGethDoes(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	client, from := chain.Client(), devchain.Wallets()[0]
	send := func(tx *types.Transaction) error { return client.SendTransaction(t.Context(), tx) }
	first := offer(t, from, 0, common1, 10, 100)
	require.NoError(t, send(first))
	require.EqualError(t, send(first), "already known")
	require.EqualError(t, send(offer(t, from, 0, common1, 11, 109)), "replacement transaction underpriced")
	require.EqualError(t, send(offer(t, from, 0, common1, 10, 110)), "replacement transaction underpriced")
	second := offer(t, from, 0, common1, 11, 110)
	require.NoError(t, send(second))
	_, _, err := client.TransactionByHash(t.Context(), first.Hash())
	require.ErrorIs(t, err, ethereum.NotFound, "it was replaced")
	require.ErrorContains(t, send(offer(t, from, 1, new(big.Int).Lsh(common1, 100), 1, 100)), "insufficient funds for gas * price + value")
	require.ErrorContains(t, send(offer(t, devchain.EmptyWallet(), 0, common1, 1, 100)), "insufficient funds for gas * price + value")
	require.ErrorContains(t, send(offer(t, from, 1, common1, 101, 100)), "max priority fee per gas higher than max fee per gas")
	_, err = chain.Commit()
	require.NoError(t, err)
	require.ErrorContains(t, send(offer(t, from, 0, common1, 20, 200)), "nonce too low")
	require.ErrorContains(t, send(second), "nonce too low")
}

func TestTransactionsAfterAGapWait(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{})
	client, from := chain.Client(), devchain.Wallets()[0]
	later := offer(t, from, 1, common1, 1, 100)
	require.NoError(t, client.SendTransaction(t.Context(), later))
	pending, err := client.PendingNonceAt(t.Context(), from.Address)
	require.NoError(t, err)
	require.Zero(t, pending)
	_, waits, err := client.TransactionByHash(t.Context(), later.Hash())
	require.NoError(t, err)
	require.True(t, waits)
	require.NoError(t, client.SendTransaction(t.Context(), offer(t, from, 0, common1, 1, 100)))
	require.EqualValues(t, 1, mined(t, chain, later.Hash()).Status)
}

func TestBlocksAreOrderedByTip(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	wallets := devchain.Wallets()
	var txs []*types.Transaction
	for i, tip := range []int64{1, 3, 2, 3} {
		txs = append(txs, offer(t, wallets[i], 0, common1, tip, 100))
		require.NoError(t, chain.Client().SendTransaction(t.Context(), txs[i]))
	}
	_, err := chain.Commit()
	require.NoError(t, err)
	for place, i := range []int{1, 3, 2, 0} {
		require.EqualValues(t, place, mined(t, chain, txs[i].Hash()).TransactionIndex)
	}
}

// TestATransactionBelowTheBaseFeeGetsInOnceItHasFallen: blocks are made until then.
func TestATransactionBelowTheBaseFeeGetsInOnceItHasFallen(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{MaxLead: time.Hour})
	from, to := devchain.Wallets()[0], devchain.Payee(1).Address
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), To: &to, Gas: params.TxGas, GasTipCap: common1, GasFeeCap: big.NewInt(params.GWei / 10),
	})
	require.NoError(t, err)
	require.NoError(t, chain.Client().SendTransaction(t.Context(), tx))
	require.EqualValues(t, 1, mined(t, chain, tx.Hash()).Status)
}

// TestTransactionBelowTheLowestBaseFeeMakesNoBlocksWithoutEnd checks that AdvanceTime
// returns, and that afterwards no block is made without a transaction.
func TestTransactionBelowTheLowestBaseFeeMakesNoBlocksWithoutEnd(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{MaxLead: time.Hour})
	client, from, to := chain.Client(), devchain.Wallets()[0], devchain.Payee(1).Address
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), To: &to, Gas: params.TxGas, GasTipCap: common1, GasFeeCap: common1,
	})
	require.NoError(t, err)
	require.NoError(t, client.SendTransaction(t.Context(), tx))
	advanced := make(chan error, 1)
	go func() { advanced <- chain.AdvanceTime(time.Hour) }()
	select {
	case err := <-advanced:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "blocks are made without end")
	}
	before, err := client.BlockNumber(t.Context())
	require.NoError(t, err)
	other := mined(t, chain, transfer(t, chain, devchain.Wallets()[1], 0))
	require.Equal(t, before+1, other.BlockNumber.Uint64())
	_, waits, err := client.TransactionByHash(t.Context(), tx.Hash())
	require.NoError(t, err)
	require.True(t, waits)
}

// TestATransactionThatCannotBePaidHoldsUpNobody: another of its account spent what it
// needs, so it is in no block, and others are.
func TestATransactionThatCannotBePaidHoldsUpNobody(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	client, from := chain.Client(), devchain.Wallets()[0]
	balance, err := client.BalanceAt(t.Context(), from.Address, nil)
	require.NoError(t, err)
	most := new(big.Int).Mul(balance, big.NewInt(9))
	require.NoError(t, client.SendTransaction(t.Context(), offer(t, from, 1, most.Div(most, big.NewInt(10)), 1, 100)))
	require.ErrorContains(t, client.SendTransaction(t.Context(), offer(t, from, 0, most, 1, 100)), "insufficient funds")
	other := transfer(t, chain, devchain.Wallets()[1], 0)
	_, err = chain.Commit()
	require.NoError(t, err)
	require.EqualValues(t, 1, mined(t, chain, other).Status)
}

// TestHundredsPayAtOnce: senders and readers at the same time, while blocks are made.
func TestHundredsPayAtOnce(t *testing.T) {
	t.Parallel()
	const each = 45
	chain := devchaintest.Start(t, devchain.Config{MaxLead: time.Hour})
	var senders sync.WaitGroup
	errs := make(chan error, 2*each*len(devchain.Wallets()))
	for _, from := range devchain.Wallets() {
		var txs []*types.Transaction
		for nonce := range uint64(each) {
			txs = append(txs, offer(t, from, nonce, common1, 1, 100))
		}
		for _, tx := range txs {
			senders.Go(func() {
				errs <- chain.Client().SendTransaction(t.Context(), tx)
				_, err := chain.Client().BalanceAt(t.Context(), from.Address, nil)
				errs <- err
			})
		}
	}
	senders.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		paid, err := chain.Client().BalanceAt(t.Context(), devchain.Payee(1).Address, nil)
		return err == nil && paid.Int64() == each*int64(len(devchain.Wallets()))
	}, time.Minute, 10*time.Millisecond)
}
