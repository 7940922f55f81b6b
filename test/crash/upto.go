package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// Payments of x402's scheme upto, which the merchant settles for less than was signed.

// settledTopic is that of the event of the scheme's proxy.
var settledTopic = crypto.Keccak256Hash([]byte("Settled()"))

// allowPermit2 has all wallets let Permit2 move their tokens, so deep that no reorganization of
// the drill takes it back.
func (d *chainDrill) allowPermit2(ctx context.Context) error {
	node, usdc, id := d.node.chain.Client(), devchain.USDC(), big.NewInt(devchain.ChainID)
	for _, from := range devchain.Wallets() {
		nonce, err := node.PendingNonceAt(ctx, from.Address)
		if err != nil {
			return fmt.Errorf("read nonce: %w", err)
		}
		tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(id), &types.DynamicFeeTx{
			ChainID: id, Nonce: nonce, To: &usdc, Gas: 100_000, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
			Data: contracts.NewTestUSDC().PackApprove(evm.Permit2(), big.NewInt(devchain.WalletMicros)),
		})
		if err != nil {
			return fmt.Errorf("sign allowance: %w", err)
		}
		if err := node.SendTransaction(ctx, tx); err != nil {
			return fmt.Errorf("send allowance: %w", err)
		}
		if _, err := bind.WaitMined(ctx, node, tx.Hash()); err != nil {
			return fmt.Errorf("wait for allowance: %w", err)
		}
	}
	for range 10 {
		if _, err := d.node.chain.Commit(); err != nil {
			return fmt.Errorf("make block: %w", err)
		}
	}
	return nil
}

// meter has a wallet sign a payment of the scheme upto, and the merchant settle a part of it:
// again until the service has reported it.
func (d *chainDrill) meter(ctx context.Context, random *mathrand.Rand) error {
	wallets := devchain.Wallets()
	from, most := wallets[random.IntN(len(wallets))], 1000+random.Uint64N(100_000)
	used := 1 + random.Uint64N(most)
	p := evm.UptoPermit{
		From: from.Address, Token: devchain.USDC(), Amount: evm.Uint64(most), Spender: evm.UptoProxy(), To: devchain.Payee(0).Address,
		Deadline: evm.Uint64(uint64(d.node.chain.Now().Add(24 * time.Hour).Unix())), Facilitator: devchain.Relayer().Address,
	}
	_, _ = rand.Read(p.Nonce[:]) // never fails
	nonce := common.Hash(p.Nonce)
	request, err := uptoOf(from, p, used)
	if err != nil {
		return err
	}
	for {
		s, err := d.payee.Settle(ctx, request)
		var no *x402.RefusedError
		if errors.As(err, &no) || ctx.Err() != nil {
			return fmt.Errorf("settle permit %s: %w", nonce, err)
		}
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.signed = append(d.signed, signedTransfer{
				nonce: nonce, upto: true, transfer: transfer{hash: common.HexToHash(s.Transaction), to: p.To, micros: int64(used)},
			})
			return nil
		}
		if err := sleep.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// uptoOf is a payment of the scheme upto as the merchant has it settled.
func uptoOf(from devchain.Wallet, p evm.UptoPermit, used uint64) (r x402.FacilitatorRequest, err error) {
	signature, err := evm.Sign(evm.Digest(evm.Permit2Domain(devchain.ChainID, evm.Permit2()).Separator(), p), from.Key())
	if err != nil {
		return r, err
	}
	accepted := x402.Requirements{
		Scheme: x402.SchemeUpto, Network: x402.NetworkOf(devchain.ChainID).CAIP2, Amount: p.Amount.String(), Asset: p.Token.Hex(),
		PayTo: p.To.Hex(), MaxTimeoutSeconds: 60, Extra: map[string]any{x402.ExtraFacilitator: p.Facilitator.Hex()},
	}
	asked := accepted
	asked.Amount = evm.Uint64(used).String()
	r = x402.FacilitatorRequest{X402Version: x402.Version2, PaymentRequirements: asked, IdempotencyKey: p.Nonce.String()}
	r.PaymentPayload, err = json.Marshal(map[string]any{
		"x402Version": x402.Version2, "resource": x402.Resource{URL: "https://api.example.com/" + p.Nonce.String()}, "accepted": accepted,
		"payload": x402.Upto{Signature: hexutil.Encode(signature), Authorization: p.Wire()},
	})
	return r, err
}

// permitOf returns the nonce of the permit that a transaction settled.
func (d *chainDrill) permitOf(ctx context.Context, hash common.Hash) (nonce common.Hash, err error) {
	const at = 4 + 2*32 // after the selector, the token and the amount
	tx, _, err := d.node.chain.Client().TransactionByHash(ctx, hash)
	if err != nil {
		return nonce, fmt.Errorf("read settlement %s: %w", hash, err)
	}
	if data := tx.Data(); len(data) >= at+32 {
		copy(nonce[:], data[at:])
	}
	return nonce, nil
}
