package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// What runs beside charges in the drill at the chain's points: mandates that are made
// and ended, transfers that wallets sign, charges that no wallet can pay.

// lifeCents is the monthly limit of the first mandate that is made to be ended; each
// has another one, by which its grant is known on the chain.
const lifeCents = 1_000_000

// life is a mandate that was made, and who ended it.
type life struct {
	monthly int64
	mandate string // its id
	ended   ledger.Revoker
}

// signedTransfer is what a wallet signed, and the transaction that the service reported.
type signedTransfer struct {
	transfer

	nonce common.Hash
	upto  bool // a part of a permit
}

// beginPoints makes what only the drill at points has.
func (d *chainDrill) beginPoints(ctx context.Context) error {
	var err error
	if d.empty, err = d.wallet(ctx, roomyCents, "wallet_empty"); err != nil {
		return err
	}
	if err = d.allowPermit2(ctx); err != nil {
		return err
	}
	c := x402.FacilitatorConfig{URL: d.baseURL + "/v1/x402", Timeout: 25 * time.Second}
	if d.facilitator, err = x402.NewFacilitator(c); err != nil {
		return err
	}
	c.Header = d.credentials
	d.payee, err = x402.NewFacilitator(c)
	return err
}

// load runs all of it until the end.
func (d *chainDrill) load(ctx, until context.Context, running *sync.WaitGroup) {
	for i := range uint64(2) {
		running.Go(func() { d.repeat(ctx, until, 20+i, d.live) })
		running.Go(func() { d.repeat(ctx, until, 30+i, d.transfer) })
		running.Go(func() { d.repeat(ctx, until, 50+i, d.meter) })
	}
	running.Go(func() {
		d.repeat(ctx, until, 40, func(ctx context.Context, random *mathrand.Rand) error {
			d.chargeOnce(ctx, d.empty.Mandate, random)
			return sleep.For(ctx, 300*time.Millisecond)
		})
	})
}

// repeat does a thing until it is to stop; an error is a fault, and ends it.
func (d *chainDrill) repeat(ctx, until context.Context, seed uint64, do func(context.Context, *mathrand.Rand) error) {
	random := mathrand.New(mathrand.NewPCG(d.Seed, seed)) // repeatable
	for until.Err() == nil && ctx.Err() == nil {
		d.waitForCalm()
		if err := do(ctx, random); err != nil {
			if ctx.Err() == nil {
				d.fault(err.Error())
			}
			return
		}
	}
}

// waitForCalm returns when no caller wants it calm.
func (d *chainDrill) waitForCalm() {
	d.calm.RLock()
	defer d.calm.RUnlock()
}

// live makes a mandate, charges it or not, and has it ended by the merchant or by its
// owner on the chain.
func (d *chainDrill) live(ctx context.Context, random *mathrand.Rand) error {
	d.mu.Lock()
	d.begunLives++
	l := life{monthly: lifeCents + d.begunLives}
	d.mu.Unlock()
	done, err := d.wallet(ctx, l.monthly, "wallet")
	if err != nil {
		return fmt.Errorf("make mandate: %w", err)
	}
	l.mandate = done.MandateID
	if random.IntN(2) == 0 {
		d.chargeOnce(ctx, done.Mandate, random)
	}
	if random.IntN(2) == 0 {
		l.ended = ledger.RevokedByMerchant
		err = persist(ctx, func() error { _, err := d.merchant.Revoke(ctx, l.mandate); return err })
	} else {
		l.ended = ledger.RevokedByContract
		err = d.ownerRevokes(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("end mandate %s: %w", l.mandate, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lives = append(d.lives, l)
	return nil
}

// ownerRevokes has the owner of a mandate's grant revoke it on the chain, again where
// the chain has lost that, until the service says that the mandate is revoked.
func (d *chainDrill) ownerRevokes(ctx context.Context, l life) error {
	for {
		if err := d.revokeOnChain(ctx, l); err != nil {
			return err
		}
		for range 40 { // two seconds
			var b client.Balance
			err := persist(ctx, func() (err error) { b, err = d.merchant.Balance(ctx, l.mandate); return err })
			if err != nil || b.Status == client.MandateRevoked {
				return err
			}
			if err := sleep.For(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// transfer has a wallet sign a transfer, and the service settle it: again until it has
// said so.
func (d *chainDrill) transfer(ctx context.Context, random *mathrand.Rand) error {
	wallets := devchain.Wallets()
	from := wallets[random.IntN(len(wallets))]
	a := evm.TransferAuthorization{
		From: from.Address, To: devchain.Payee(7).Address, Value: evm.Uint64(1000 + random.Uint64N(100_000)),
		ValidBefore: evm.Uint64(uint64(d.node.chain.Now().Add(24 * time.Hour).Unix())),
	}
	_, _ = rand.Read(a.Nonce[:]) // never fails
	request, err := requestOf(ctx, from, a)
	if err != nil {
		return err
	}
	for {
		s, err := d.facilitator.Settle(ctx, request)
		var no *x402.RefusedError
		if errors.As(err, &no) || ctx.Err() != nil {
			return fmt.Errorf("settle %s: %w", a.Nonce, err)
		}
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.signed = append(d.signed, signedTransfer{
				nonce: a.Nonce, transfer: transfer{hash: common.HexToHash(s.Transaction), to: a.To, micros: a.Value.Big().Int64()},
			})
			return nil
		}
		if err := sleep.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// requestOf is a signed transfer as an x402 server sends it to its facilitator.
func requestOf(ctx context.Context, from devchain.Wallet, a evm.TransferAuthorization) (r x402.FacilitatorRequest, err error) {
	wallet := devrail.Wallet(from)
	asset, _ := wallet.Asset(devchain.ChainID)
	signature, err := wallet.SignTransfer(ctx, devchain.ChainID, asset, a.Wire())
	if err != nil {
		return r, err
	}
	asked := x402.Requirements{
		Scheme: x402.SchemeExact, Network: x402.NetworkOf(devchain.ChainID).CAIP2, Amount: a.Value.String(), Asset: asset.Address,
		PayTo: a.To.Hex(), MaxTimeoutSeconds: 60, Extra: map[string]any{"name": asset.Name, "version": asset.Version},
	}
	r = x402.FacilitatorRequest{X402Version: x402.Version2, PaymentRequirements: asked, IdempotencyKey: a.Nonce.Hex()}
	r.PaymentPayload, err = json.Marshal(map[string]any{
		"x402Version": x402.Version2, "resource": x402.Resource{URL: "https://api.example.com/" + a.Nonce.Hex()}, "accepted": asked,
		"payload": x402.Exact{Signature: signature, Authorization: a.Wire()},
	})
	return r, err
}
