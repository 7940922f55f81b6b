package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// The drill of sellers that do not know the service: it is killed at each step of a purchase
// and of a sweep. In the end each seller has its price once or nothing, as the ledger says, and
// everything else is back in the wallets.

// purchase is one that was begun. Each has a seller of its own.
type purchase struct {
	id     string
	seller common.Address
	micros int64
}

// sellersReport is what the drill found.
type sellersReport struct {
	report

	// Unused were signed, and their sellers took nothing.
	Unused int
	// Micros is what the sellers have.
	Micros int64
}

func (r sellersReport) failed() bool {
	return r.Lost+r.Doubled+r.Undecided+len(r.Faults) > 0 || r.Succeeded == 0 || r.Unused == 0 || r.Reconciled == 0
}

func (r sellersReport) String() string {
	return fmt.Sprintf("%s\nsellers took %d micros; purchases that no seller took %d", r.report, r.Micros, r.Unused)
}

// sellersDrill is one run.
type sellersDrill struct {
	*chainDrill

	purchases []purchase
	settling  sync.Mutex // of the one account that settles for all sellers
	wallets   int64      // what the wallets had
}

func runSellers(ctx context.Context, o options) (r sellersReport, err error) {
	d := &sellersDrill{chainDrill: newChainDrill(o)}
	defer func() { err = errors.Join(err, d.clear()) }()
	if err := d.beginSellers(ctx); err != nil {
		return r, err
	}
	steps := labels{points: o.only(failpoint.SellerPoints()), passes: func(failpoint.Point) int { return 3 }}
	if err := d.sellersUnderLoad(ctx, steps); err != nil {
		return r, err
	}
	if err := d.sweepAll(ctx); err != nil {
		return r, err
	}
	err = d.healed(ctx, func() (int, error) {
		r = sellersReport{report: report{Kills: o.Kills * len(steps.points)}}
		err := d.compareSellers(ctx, &r)
		return r.Undecided, err
	})
	return r, err
}

// beginSellers starts a chain and the service, and makes a mandate for each caller.
func (d *sellersDrill) beginSellers(ctx context.Context) (err error) {
	if d.node, err = startNode(); err != nil {
		return err
	}
	d.closers = append(d.closers, d.node.stop)
	if err := d.surround(ctx, card.Faults{}, "--chain-url", d.node.URL); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	for range d.Callers {
		m, err := d.completed(ctx, client.SessionParams{
			MaxPerTxCents: 1000, MaxMonthlySpendCents: roomyCents, AllowedMerchantIDs: []string{"*"},
		}, client.TestCompletion{PaymentMethods: []string{"wallet"}})
		if err != nil {
			return err
		}
		d.mandates = append(d.mandates, m.Mandate)
	}
	d.wallets, err = d.inWallets(ctx)
	return err
}

// sellersUnderLoad runs the kills while callers buy and the chain's time passes.
func (d *sellersDrill) sellersUnderLoad(ctx context.Context, steps labels) error {
	until, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for i, m := range d.mandates {
		running.Go(func() {
			d.repeat(ctx, until, uint64(60+i), func(ctx context.Context, random *mathrand.Rand) error { return d.buy(ctx, m, random) })
		})
	}
	passing, halt := context.WithCancel(ctx)
	var clock sync.WaitGroup
	clock.Go(func() { // windows end, also of what is being settled
		for sleep.For(passing, 4*time.Second) == nil {
			if err := d.node.chain.AdvanceTime(35 * time.Second); err != nil {
				d.fault(err.Error())
			}
		}
	})
	err := d.killAtPoints(ctx, mathrand.New(mathrand.NewPCG(d.Seed, 2)), steps) // repeatable
	stop()
	running.Wait()
	halt()
	clock.Wait()
	return errors.Join(err, ctx.Err())
}

// buy asks for a credential until there is one, has the seller settle it or not, and at times
// sweeps the session account.
func (d *sellersDrill) buy(ctx context.Context, mandate string, random *mathrand.Rand) error {
	p := purchase{micros: 1000 + random.Int64N(500_000)}
	_, _ = rand.Read(p.seller[:]) // never fails
	paid, err := d.credentialFor(ctx, mandate, p)
	if err != nil {
		return err
	}
	p.id = paid.TransactionID
	d.mu.Lock()
	d.purchases = append(d.purchases, p)
	d.mu.Unlock()
	if random.IntN(3) > 0 && paid.Header != nil {
		if err := d.settle(ctx, paid.Header.Value); err != nil {
			return err
		}
	}
	if random.IntN(3) == 0 {
		return persist(ctx, func() error {
			_, err := d.merchant.SweepSession(ctx, mandate)
			if errors.Is(err, client.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return nil
}

// credentialFor asks until there is a header, or the charge has failed.
func (d *sellersDrill) credentialFor(ctx context.Context, mandate string, p purchase) (paid client.Credential, err error) {
	asset, _ := x402.USDC(devchain.ChainID)
	accepted, err := json.Marshal(x402.Requirements{
		Scheme: x402.SchemeExact, Network: x402.NetworkOf(devchain.ChainID).CAIP2, Amount: strconv.FormatInt(p.micros, 10), Asset: asset.Address,
		PayTo: p.seller.Hex(), MaxTimeoutSeconds: 60,
	})
	if err != nil {
		return paid, fmt.Errorf("encode offer: %w", err)
	}
	for {
		err := persist(ctx, func() error {
			paid, err = d.merchant.CreateCredential(ctx, mandate, client.CredentialParams{
				Offer: client.SellerOffer{X402Version: x402.Version2, Accepted: accepted}, Resource: "https://seller.example/" + p.seller.Hex(),
				IdempotencyKey: p.seller.Hex(),
			})
			var refused *client.Error
			if errors.As(err, &refused) && refused.Status == http.StatusConflict { // the first request still runs, or its lease does
				return errInProgress
			}
			return err
		})
		if err != nil || paid.Header != nil || paid.Status != client.Pending {
			return paid, err
		}
		if err := sleep.For(ctx, 50*time.Millisecond); err != nil {
			return paid, err
		}
	}
}

var errInProgress = errors.New("in progress")

// settle settles as a seller's facilitator does. A transfer whose window has passed reverts.
func (d *sellersDrill) settle(ctx context.Context, header string) error {
	p, err := x402.DecodePayload(header)
	if err != nil {
		return fmt.Errorf("read credential: %w", err)
	}
	a, err := evm.ParseAuthorization(p.Payload.Authorization)
	if err != nil {
		return fmt.Errorf("read credential: %w", err)
	}
	node, usdc, id, from := d.node.chain.Client(), devchain.USDC(), big.NewInt(devchain.ChainID), devchain.Wallets()[9]
	d.settling.Lock()
	defer d.settling.Unlock()
	nonce, err := node.PendingNonceAt(ctx, from.Address)
	if err != nil {
		return fmt.Errorf("read nonce: %w", err)
	}
	tx, err := types.SignNewTx(from.Key(), types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: &usdc, Gas: 200_000, GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Data: contracts.NewTestUSDC().PackTransferWithAuthorization(
			a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, common.FromHex(p.Payload.Signature)),
	})
	if err != nil {
		return fmt.Errorf("sign settlement: %w", err)
	}
	if err := node.SendTransaction(ctx, tx); err != nil {
		return fmt.Errorf("send settlement: %w", err)
	}
	if _, err := bind.WaitMined(ctx, node, tx.Hash()); err != nil {
		return fmt.Errorf("wait for settlement: %w", err)
	}
	return nil
}

// sweepAll ends all mandates and lets all windows pass, and waits until the money is back and the
// ledger has recorded that.
func (d *sellersDrill) sweepAll(ctx context.Context) error {
	for _, m := range d.mandates {
		if err := persist(ctx, func() error { _, err := d.merchant.Revoke(ctx, m); return err }); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(decidedWithin); ; {
		if err := d.node.chain.AdvanceTime(time.Minute); err != nil {
			return err
		}
		now, err := d.inWallets(ctx)
		if err != nil {
			return err
		}
		sold, err := d.sold(ctx)
		if err != nil || time.Now().After(deadline) || now == d.wallets-sold && d.recorded(ctx) {
			return err
		}
		if err := sleep.For(ctx, 2*time.Second); err != nil {
			return err
		}
	}
}

// recorded reports whether no mandate has a sweep that the ledger does not know.
func (d *sellersDrill) recorded(ctx context.Context) bool {
	for _, m := range d.mandates {
		if _, err := d.merchant.SweepSession(ctx, m); !errors.Is(err, client.ErrNotFound) {
			return false
		}
	}
	return true
}

func (d *sellersDrill) balanceOf(ctx context.Context, who common.Address) (int64, error) {
	usdc, token := devchain.USDC(), contracts.NewTestUSDC()
	answer, err := d.node.chain.Client().CallContract(ctx, ethereum.CallMsg{To: &usdc, Data: token.PackBalanceOf(who)}, nil)
	if err != nil {
		return 0, fmt.Errorf("read balance: %w", err)
	}
	balance, err := token.UnpackBalanceOf(answer)
	if err != nil {
		return 0, fmt.Errorf("read balance: %w", err)
	}
	return balance.Int64(), nil
}

// inWallets returns the sum of the development wallets.
func (d *sellersDrill) inWallets(ctx context.Context) (sum int64, err error) {
	for _, w := range devchain.Wallets() {
		has, err := d.balanceOf(ctx, w.Address)
		if err != nil {
			return 0, err
		}
		sum += has
	}
	return sum, nil
}

// sold returns what all sellers have.
func (d *sellersDrill) sold(ctx context.Context) (sum int64, err error) {
	for _, p := range d.purchases {
		has, err := d.balanceOf(ctx, p.seller)
		if err != nil {
			return 0, err
		}
		sum += has
	}
	return sum, nil
}

// compareSellers compares what the chain moved with the ledger.
func (d *sellersDrill) compareSellers(ctx context.Context, r *sellersReport) (err error) {
	store, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	check, err := ledger.Check(ctx, store)
	if err != nil {
		return err
	}
	r.Faults = append(d.broken[:len(d.broken):len(d.broken)], check.Faults...)
	r.Charges, r.Succeeded, r.Failed, r.Undecided = check.Charges, check.Succeeded, check.Failed, check.Pending
	for _, p := range d.purchases {
		c, err := store.Charge(ctx, p.id)
		if err != nil {
			r.Lost++
			continue
		}
		has, err := d.balanceOf(ctx, p.seller)
		switch {
		case err != nil:
			return err
		case has > p.micros:
			r.Doubled++
		case c.Status == ledger.ChargeSucceeded && has != p.micros, c.Status == ledger.ChargeFailed && has != 0:
			r.Lost++
		case c.Status == ledger.ChargeFailed:
			r.Unused++
		}
		r.Micros += has
	}
	now, err := d.inWallets(ctx)
	if err != nil {
		return err
	}
	if rest := d.wallets - r.Micros - now; r.Undecided == 0 && (rest != 0 || check.InSessions != 0) {
		r.Faults = append(r.Faults, fmt.Sprintf("%d micros are not back, the ledger says %d", rest, check.InSessions))
	}
	return d.reconcile(ctx, store, nil, &r.report)
}
