package devchain_test

import (
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
)

var common1 = big.NewInt(1)

// ask calls a method, and returns its result.
func ask(t *testing.T, chain *devchain.Chain, method string, params ...any) map[string]any {
	t.Helper()
	var result map[string]any
	require.NoError(t, chain.Client().Client().CallContext(t.Context(), &result, method, params...))
	return result
}

func TestRevertedCallsCarryTheContractsError(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	token := contracts.NewTestUSDC()
	usdc := devchain.USDC()
	message := ethereum.CallMsg{From: devchain.EmptyWallet().Address, To: &usdc, Data: token.PackTransfer(devchain.Payee(0).Address, common1)}
	_, callErr := chain.Client().CallContract(t.Context(), message, nil)
	_, gasErr := chain.Client().EstimateGas(t.Context(), message)
	for _, err := range []error{callErr, gasErr} {
		var data rpc.DataError
		require.ErrorAs(t, err, &data)
		require.Contains(t, err.Error(), "execution reverted")
		raw, err := hexutil.Decode(data.ErrorData().(string))
		require.NoError(t, err)
		_, err = token.UnpackError(raw)
		require.NoError(t, err)
		var coded rpc.Error
		require.ErrorAs(t, data, &coded)
		require.Equal(t, 3, coded.ErrorCode())
	}
}

func TestEstimatedGasIsEnoughAndNotMuchMore(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	usdc := devchain.USDC()
	from := devchain.Wallets()[0]
	message := ethereum.CallMsg{From: from.Address, To: &usdc, Data: contracts.NewTestUSDC().PackTransfer(devchain.Payee(0).Address, common1)}
	gas, err := chain.Client().EstimateGas(t.Context(), message)
	require.NoError(t, err)
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), To: message.To, Data: message.Data, Gas: gas,
		GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11),
	})
	require.NoError(t, err)
	require.NoError(t, chain.Client().SendTransaction(t.Context(), tx))
	_, err = chain.Commit()
	require.NoError(t, err)
	receipt := mined(t, chain, tx.Hash())
	require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
	require.Less(t, gas, receipt.GasUsed*11/10)
}

// TestBlocksProveThemselves: the roots in a header are those of what the block holds.
func TestBlocksProveThemselves(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	for nonce := range uint64(3) {
		transfer(t, chain, devchain.Wallets()[0], nonce)
	}
	head, err := chain.Commit()
	require.NoError(t, err)
	got, err := chain.Client().BlockByNumber(t.Context(), head.Number)
	require.NoError(t, err)
	require.Equal(t, head.Hash(), got.Hash())
	require.Len(t, got.Transactions(), 3)
	byHash, err := chain.Client().BlockByHash(t.Context(), head.Hash())
	require.NoError(t, err)
	require.Equal(t, got.Hash(), byHash.Hash())
	parent, err := chain.Client().HeaderByHash(t.Context(), head.ParentHash)
	require.NoError(t, err)
	require.Less(t, parent.Time, head.Time)
	receipts, err := chain.Client().BlockReceipts(t.Context(), rpc.BlockNumberOrHashWithHash(head.Hash(), false))
	require.NoError(t, err)
	require.Len(t, receipts, 3)
	_, err = chain.Client().BlockByNumber(t.Context(), big.NewInt(99))
	require.ErrorIs(t, err, ethereum.NotFound)
}

// TestObjectsAreWhatClientsExpect: members that go-ethereum's client does not read.
func TestObjectsAreWhatClientsExpect(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	hash := transfer(t, chain, devchain.Wallets()[0], 0)
	waiting := ask(t, chain, "eth_getTransactionByHash", hash)
	require.Nil(t, waiting["blockHash"])
	require.Contains(t, waiting, "blockHash")
	require.Equal(t, strings.ToLower(devchain.Wallets()[0].Address.Hex()), waiting["from"])
	pending := ask(t, chain, "eth_getBlockByNumber", "pending", true)
	require.Nil(t, pending["hash"])
	require.Len(t, pending["transactions"], 1)
	head, err := chain.Commit()
	require.NoError(t, err)
	landed := ask(t, chain, "eth_getTransactionByHash", hash)
	require.Equal(t, head.Hash().Hex(), landed["blockHash"])
	receipt := ask(t, chain, "eth_getTransactionReceipt", hash)
	require.Equal(t, landed["gasPrice"], receipt["effectiveGasPrice"])
	require.Equal(t, landed["from"], receipt["from"])
	require.Equal(t, landed["to"], receipt["to"])
	require.Equal(t, "0x2", receipt["type"])
	require.Nil(t, receipt["contractAddress"])
	require.NotContains(t, receipt, "root")
	require.Empty(t, receipt["logs"])
	require.Nil(t, ask(t, chain, "eth_getTransactionReceipt", common.Hash{1}))
	for _, tag := range []string{"latest", "safe", "finalized", "earliest"} {
		block := ask(t, chain, "eth_getBlockByNumber", tag, false)
		require.NotEmpty(t, block["hash"], tag)
		require.NotEmpty(t, block["size"], tag)
	}
}

func TestPendingStateHoldsWhatWaits(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	payee := devchain.Payee(1).Address
	transfer(t, chain, devchain.Wallets()[0], 0)
	var balance hexutil.Big
	require.NoError(t, chain.Client().Client().CallContext(t.Context(), &balance, "eth_getBalance", payee, "pending"))
	require.EqualValues(t, 1, balance.ToInt().Int64())
	now, err := chain.Client().BalanceAt(t.Context(), payee, nil)
	require.NoError(t, err)
	require.Zero(t, now.Sign())
}

func TestFees(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	transfer(t, chain, devchain.Wallets()[0], 0)
	head, err := chain.Commit()
	require.NoError(t, err)
	tip, err := chain.Client().SuggestGasTipCap(t.Context())
	require.NoError(t, err)
	price, err := chain.Client().SuggestGasPrice(t.Context())
	require.NoError(t, err)
	require.Equal(t, new(big.Int).Add(tip, head.BaseFee), price)
	history, err := chain.Client().FeeHistory(t.Context(), 10, nil, []float64{0, 50, 100})
	require.NoError(t, err)
	require.Zero(t, history.OldestBlock.Sign())
	require.Len(t, history.BaseFee, 4, "the genesis, two blocks and the next")
	require.Equal(t, head.BaseFee, history.BaseFee[2])
	require.Less(t, history.BaseFee[3].Int64(), history.BaseFee[2].Int64())
	require.Equal(t, "1000000000", history.Reward[2][1].String())
	_, err = chain.Client().FeeHistory(t.Context(), 1, nil, []float64{101})
	require.ErrorContains(t, err, "percentile")
}

func TestLogsAreFiltered(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	client := chain.Client()
	head, err := client.BlockNumber(t.Context())
	require.NoError(t, err)
	set := crypto.Keccak256Hash([]byte("OperatorSet(address,bool)"))
	find := func(q ethereum.FilterQuery) int {
		logs, err := client.FilterLogs(t.Context(), q)
		require.NoError(t, err)
		return len(logs)
	}
	all := find(ethereum.FilterQuery{FromBlock: new(big.Int)})
	require.Positive(t, all)
	require.Equal(t, all, find(ethereum.FilterQuery{FromBlock: new(big.Int), Addresses: []common.Address{devchain.USDC(), chain.Router()}}))
	require.Zero(t, find(ethereum.FilterQuery{FromBlock: new(big.Int), Addresses: []common.Address{devchain.USDC()}}))
	hash := chain.HashAt(head)
	require.Equal(t, all, find(ethereum.FilterQuery{BlockHash: &hash}))
	require.Zero(t, find(ethereum.FilterQuery{FromBlock: new(big.Int), Topics: [][]common.Hash{{{1}}}}))
	some := find(ethereum.FilterQuery{FromBlock: new(big.Int), Topics: [][]common.Hash{{{1}, set}}})
	require.Positive(t, some)
	require.Equal(t, some, find(ethereum.FilterQuery{FromBlock: new(big.Int), Topics: [][]common.Hash{{set}, nil}}))
	for _, q := range []ethereum.FilterQuery{
		{FromBlock: big.NewInt(2), ToBlock: big.NewInt(1)},
		{FromBlock: new(big.Int), ToBlock: new(big.Int).SetUint64(head + 1)},
		{FromBlock: new(big.Int), Topics: make([][]common.Hash, 5)},
	} {
		_, err := client.FilterLogs(t.Context(), q)
		require.Error(t, err, "%+v", q)
	}
}

func TestStatesOfOldBlocksCanBeRead(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	first := chain.HashAt(1)
	transfer(t, chain, devchain.Wallets()[0], 0)
	for range 3 {
		_, err := chain.Commit()
		require.NoError(t, err)
	}
	payee := devchain.Payee(1).Address
	before, err := chain.Client().BalanceAt(t.Context(), payee, common1)
	require.NoError(t, err)
	require.Zero(t, before.Sign())
	before, err = chain.Client().BalanceAtHash(t.Context(), payee, first)
	require.NoError(t, err)
	require.Zero(t, before.Sign())
	after, err := chain.Client().BalanceAt(t.Context(), payee, big.NewInt(2))
	require.NoError(t, err)
	require.EqualValues(t, 1, after.Int64())
	_, err = chain.Client().BalanceAt(t.Context(), payee, big.NewInt(99))
	require.ErrorContains(t, err, "header not found")
	slot, err := chain.Client().StorageAt(t.Context(), devchain.USDC(), common.Hash{}, nil)
	require.NoError(t, err)
	require.Len(t, slot, 32)
}

// post sends a request for the chain's id to the chain over HTTP.
func post(t *testing.T, chain *devchain.Chain, method, body string, headers map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, chain.RPCURL(), strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Host = headers["Host"]
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, resp.Body.Close()); http.DefaultClient.CloseIdleConnections() })
	return resp
}

func TestBrowsersReachTheChainByNoOtherName(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	const call = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`
	for host, status := range map[string]int{"": 200, "localhost:1": 200, "LOCALHOST": 200, "[::1]:1": 200, "evil.example": 403, "evil.example:1": 403} {
		require.Equal(t, status, post(t, chain, http.MethodPost, call, map[string]string{"Host": host, "Origin": "http://page.example"}).StatusCode, host)
	}
	preflight := post(t, chain, http.MethodOptions, "", map[string]string{"Origin": "http://page.example", "Access-Control-Request-Headers": "content-type"})
	require.Equal(t, http.StatusNoContent, preflight.StatusCode)
	require.Equal(t, "*", preflight.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "content-type", preflight.Header.Get("Access-Control-Allow-Headers"))
	batch := post(t, chain, http.MethodPost, "["+call+","+call+"]", nil)
	var answers []map[string]any
	require.NoError(t, json.NewDecoder(batch.Body).Decode(&answers))
	require.Len(t, answers, 2)
	require.Equal(t, "0x14a34", answers[1]["result"])
}

// TestTransactionsThatWaitSurviveAReorganization: they land with those of the blocks
// that were taken back.
func TestTransactionsThatWaitSurviveAReorganization(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	landed := transfer(t, chain, devchain.Wallets()[0], 0)
	for range 3 {
		_, err := chain.Commit()
		require.NoError(t, err)
	}
	waiting := transfer(t, chain, devchain.Wallets()[0], 1)
	require.NoError(t, chain.Reorg(t.Context(), 3, false))
	require.Equal(t, mined(t, chain, landed).BlockHash, mined(t, chain, waiting).BlockHash)
	require.Error(t, chain.Reorg(t.Context(), 0, false))
}

func TestAdvanceTimeIsExact(t *testing.T) {
	t.Parallel()
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	before := chain.Now()
	require.NoError(t, chain.AdvanceTime(90*time.Minute))
	require.Equal(t, before.Add(90*time.Minute), chain.Now())
}

// TestOnlyTheNewestStatesAreKept: forgetting old ones takes nothing from newer ones, and
// blocks are taken back no further.
func TestOnlyTheNewestStatesAreKept(t *testing.T) {
	t.Parallel()
	const kept = 1024
	chain := devchaintest.Start(t, devchain.Config{Manual: true})
	client, payee := chain.Client(), devchain.Payee(1).Address
	transfer(t, chain, devchain.Wallets()[0], 0)
	for range kept + 10 {
		_, err := chain.Commit()
		require.NoError(t, err)
	}
	_, err := client.BalanceAt(t.Context(), payee, common1)
	require.ErrorContains(t, err, "no longer kept")
	head, err := client.BlockNumber(t.Context())
	require.NoError(t, err)
	for _, number := range []uint64{head, head - kept + 1} {
		balance, err := client.BalanceAt(t.Context(), payee, new(big.Int).SetUint64(number))
		require.NoError(t, err)
		require.EqualValues(t, 1, balance.Int64())
	}
	require.Error(t, chain.Reorg(t.Context(), kept, false))
	require.NoError(t, chain.Reorg(t.Context(), kept-1, false))
	balance, err := client.BalanceAt(t.Context(), payee, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, balance.Int64())
	next := transfer(t, chain, devchain.Wallets()[0], 1)
	_, err = chain.Commit()
	require.NoError(t, err)
	require.EqualValues(t, 1, mined(t, chain, next).Status)
}
