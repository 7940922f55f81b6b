package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// chainRows are the typed data of payments beside a general encoder, and how many
// settlements get into a block.
func chainRows(ctx context.Context) ([]row, error) {
	typed, err := typedRows()
	if err != nil {
		return nil, err
	}
	landed, err := settlementsInABlock(ctx)
	if err != nil {
		return nil, err
	}
	return append(typed, row{
		what: "settlements of x402 in one block", baseline: "a block of 2 s", figure: fmt.Sprint(landed), aim: "≥ 200", met: landed >= 200,
	}), nil
}

func usdcDomain() evm.Domain {
	return evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}
}

// typedRows compare the hash with apitypes, the domain's hash being at hand in ours
// as a service has it, and the recovery with that of go-ethereum's crypto.
func typedRows() ([]row, error) {
	key := devchain.Wallets()[0]
	message := evm.TransferAuthorization{
		From: key.Address, To: devchain.Payee(0).Address, Value: evm.Uint64(10_000), ValidBefore: evm.Uint64(1 << 40), Nonce: common.Hash{1},
	}
	var general apitypes.TypedData
	if err := json.Unmarshal(evm.TypedData(usdcDomain(), message), &general); err != nil {
		return nil, fmt.Errorf("read typed data: %w", err)
	}
	separator := usdcDomain().Separator()
	digest := evm.Digest(separator, message)
	if want, _, err := apitypes.TypedDataAndHash(general); err != nil || common.BytesToHash(want) != digest {
		return nil, errors.Join(err, errors.New("the two hashes are not the same"))
	}
	signature, err := evm.Sign(digest, key.Key())
	if err != nil {
		return nil, err
	}
	bare := append(append([]byte{}, signature[:64]...), signature[64]-27)
	theirs := func() error {
		public, err := crypto.SigToPub(digest[:], bare)
		if err == nil && crypto.PubkeyToAddress(*public) != key.Address {
			err = errors.New("recovered another")
		}
		return err
	}
	ours := func() error {
		by, err := evm.Recover(digest, signature)
		if err == nil && by != key.Address {
			err = errors.New("recovered another")
		}
		return err
	}
	timed := func(call func() error) func() (time.Duration, error) {
		return func() (time.Duration, error) { return each(2000, call) }
	}
	hash, err := pair(
		timed(func() error { _, _, err := apitypes.TypedDataAndHash(general); return err }),
		timed(func() error { digest = evm.Digest(separator, message); return nil }))
	if err != nil {
		return nil, err
	}
	recovered, err := pair(timed(theirs), timed(ours))
	if err != nil {
		return nil, err
	}
	return []row{
		atLeast("EIP-712 hash", "go-ethereum apitypes", hash, 5),
		atLeast("recover the signer", "go-ethereum crypto", recovered, 0.95),
	}, nil
}

const (
	blockTime = 2 * time.Second
	offered   = 1000 // settlements, by settlers at once
	settlers  = 64
)

// settlementsInABlock offers more settlements than a block's time allows, closes
// the block, and counts those in it that moved the money.
func settlementsInABlock(ctx context.Context) (landed int, err error) {
	dev, err := devchain.Start(devchain.Config{Manual: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	dir, err := os.MkdirTemp("", "bench-chain-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	r, err := settler(ctx, dev, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	orders, err := signedOrders(offered)
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	var running sync.WaitGroup
	late, cancel := context.WithTimeout(ctx, blockTime)
	defer cancel()
	for range settlers {
		running.Go(func() {
			for i := next.Add(1) - 1; i < offered && late.Err() == nil; i = next.Add(1) - 1 {
				_, _ = r.SettleAuthorization(late, orders[i], "https://api.example.com/weather") // the chain decides
			}
		})
	}
	<-late.Done()
	block, err := dev.Commit()
	running.Wait()
	if err != nil {
		return 0, err
	}
	found, err := dev.Client().BlockByHash(ctx, block.Hash())
	if err != nil {
		return 0, fmt.Errorf("read the block: %w", err)
	}
	for _, tx := range found.Transactions() {
		receipt, err := dev.Client().TransactionReceipt(ctx, tx.Hash())
		if err != nil {
			return 0, fmt.Errorf("read receipt: %w", err)
		}
		if receipt.Status == 1 && len(receipt.Logs) == 2 { // the use of the nonce, and the transfer
			landed++
		}
	}
	return landed, nil
}

// settler is a rail that does not wait for blocks.
func settler(ctx context.Context, dev *devchain.Chain, dir string) (*chain.Rail, error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "chain.db"))
	if err != nil {
		return nil, err
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	wrapper, err := vault.NewLocal(key[:])
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	r, err := chain.New(chain.Config{
		RPC: dev.Client(), ChainID: devchain.ChainID, Router: dev.Router(),
		Token: chain.Token{Address: devchain.USDC(), Name: devchain.USDCName, Version: devchain.USDCVersion},
		Store: store, Vault: vault.New(wrapper), Relayer: devchain.Relayer().Key(), Wait: time.Nanosecond,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return r, r.Start(ctx)
}

// signedOrders are transfers of a cent, by ten wallets in turn.
func signedOrders(n int) ([]x402.Exact, error) {
	separator, wallets := usdcDomain().Separator(), devchain.Wallets()
	until := uint64(time.Now().Add(time.Hour).Unix())
	all := make([]x402.Exact, n)
	for i := range all {
		from := wallets[i%len(wallets)]
		o := evm.TransferAuthorization{From: from.Address, To: devchain.Payee(0).Address, Value: evm.Uint64(10_000), ValidBefore: evm.Uint64(until)}
		_, _ = rand.Read(o.Nonce[:]) // never fails
		signature, err := evm.Sign(evm.Digest(separator, o), from.Key())
		if err != nil {
			return nil, err
		}
		all[i] = x402.Exact{Signature: hexutil.Encode(signature), Authorization: o.Wire()}
	}
	return all, nil
}
