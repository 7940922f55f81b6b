package chain_test

import (
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

func purchase(reference string, in rail.Instrument) rail.Purchase {
	return rail.Purchase{
		Reference: reference, MandateID: "del_1", Instrument: in, PayTo: payTo(), Amount: dollar, Window: time.Minute,
	}
}

func (w *world) buy(t *testing.T, p rail.Purchase) rail.Purchased {
	t.Helper()
	bought, err := w.rail.Buy(t.Context(), p)
	require.NoError(t, err)
	return bought
}

func (w *world) purchased(t *testing.T, reference string) rail.Purchased {
	t.Helper()
	bought, err := w.rail.PurchaseOutcome(t.Context(), reference)
	require.NoError(t, err)
	if bought.Status == rail.Refused {
		require.NoError(t, w.rail.PurchaseRecorded(t.Context(), reference))
		require.NoError(t, w.rail.PurchaseRecorded(t.Context(), reference), "has no effect")
	}
	return bought
}

// settleAsSeller settles a signed transfer as a facilitator that is not ours does.
func (w *world) settleAsSeller(t *testing.T, e x402.Exact) {
	t.Helper()
	a, err := evm.ParseAuthorization(e.Authorization)
	require.NoError(t, err)
	signature, err := hexutil.Decode(e.Signature)
	require.NoError(t, err)
	data := contracts.NewTestUSDC().PackTransferWithAuthorization(
		a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, signature,
	)
	hash := w.send(t, devchain.Admin(), devchain.USDC(), data)
	w.mined(t, hash)
}

// swept follows a sweep until it has ended.
func (w *world) swept(t *testing.T, in rail.Instrument) rail.Sweep {
	t.Helper()
	var s rail.Sweep
	require.Eventually(t, func() bool {
		var err error
		s, err = w.rail.Sweep(t.Context(), in.Method)
		require.NoError(t, err)
		return s.Outcome.Status != rail.Pending
	}, time.Minute, 10*time.Millisecond)
	if s.Reference != "" {
		require.NoError(t, w.rail.SweepRecorded(t.Context(), s.Reference))
	}
	return s
}

func (w *world) accounts(t *testing.T) []rail.SessionAccount {
	t.Helper()
	list, err := w.rail.SessionAccounts(t.Context(), "", 10)
	require.NoError(t, err)
	return list
}

func TestPurchaseIsPaidOnceTheSellerSettles(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	owner := ownerOf(t, in).Address
	before := w.balance(t, owner)

	bought := w.buy(t, purchase("txn", in))
	require.Equal(t, rail.Pending, bought.Status)
	require.NotNil(t, bought.Signed)
	require.Equal(t, before-dollar, w.balance(t, owner))
	require.Equal(t, bought, w.buy(t, purchase("txn", in)), "a repeat returns the same transfer")
	w.restart(t)
	require.Equal(t, bought, w.buy(t, purchase("txn", in)))
	require.Equal(t, bought, w.purchased(t, "txn"))

	other := purchase("txn", in)
	other.Amount++
	_, err := w.rail.Buy(t.Context(), other)
	require.ErrorIs(t, err, rail.ErrReferenceReused)

	w.settleAsSeller(t, *bought.Signed)
	ended := w.purchased(t, "txn")
	require.Equal(t, rail.Succeeded, ended.Status)
	require.Equal(t, dollar, ended.Funded)
	require.NotEmpty(t, ended.TxHash)
	require.Equal(t, dollar, w.moved(t))
	require.Empty(t, w.accounts(t))
	require.Equal(t, rail.Sweep{}, w.swept(t, in))
}

func TestUnusedPurchasePaysTheNextOneOrIsSweptBack(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	owner := ownerOf(t, in).Address
	before := w.balance(t, owner)
	first := w.buy(t, purchase("first", in))
	require.NoError(t, w.chain.AdvanceTime(59*time.Second))
	require.Equal(t, first, w.purchased(t, "first"), "the seller may still settle")
	require.NoError(t, w.chain.AdvanceTime(2*time.Second))
	ended := w.purchased(t, "first")
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Expired}, ended.Outcome)
	require.Equal(t, dollar, ended.Funded)
	require.Equal(t, dollar, w.accounts(t)[0].Free)

	next := purchase("next", in)
	next.Amount = dollar + 500_000
	bought := w.buy(t, next)
	require.Equal(t, before-next.Amount, w.balance(t, owner), "only what is missing is moved")
	w.settleAsSeller(t, *bought.Signed)
	ended = w.purchased(t, "next")
	require.Equal(t, []any{rail.Succeeded, rail.Micros(500_000)}, []any{ended.Status, ended.Funded})
	require.Equal(t, next.Amount, w.moved(t))

	small := purchase("small", in)
	small.Amount = 123_456
	w.buy(t, small)
	require.NoError(t, w.rail.Disconnect(t.Context(), in), "the account outlives the grant")
	require.Equal(t, rail.Sweep{}, w.swept(t, in), "the seller may still settle")
	require.NoError(t, w.chain.AdvanceTime(time.Hour))
	require.Equal(t, rail.Expired, w.purchased(t, "small").Reason)
	s := w.swept(t, in)
	require.Equal(t, []any{rail.Succeeded, small.Amount, "del_1"}, []any{s.Outcome.Status, s.Amount, s.MandateID})
	require.Equal(t, before-next.Amount, w.balance(t, owner), "swept back to the cent")
	require.Empty(t, w.accounts(t))
	after := w.buy(t, purchase("after", in))
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, after.Outcome, "revoked")
}

func TestPurchaseThatNobodySignsEndsAndItsMoneyIsFree(t *testing.T) {
	t.Parallel()
	clock := &lateClock{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait, c.Clock = 20*time.Millisecond, clock.Now })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	for _, name := range []string{"funded", "unfunded"} {
		p := purchase(name, in)
		p.NoWait = true
		require.Equal(t, rail.Outcome{Status: rail.Pending}, w.buy(t, p).Outcome)
		require.Equal(t, rail.Pending, w.purchased(t, name).Status)
		if name == "funded" {
			w.commit(t, 1)
		} else {
			w.chain.Forget()
		}
	}
	clock.late(3 * time.Minute)
	ended := w.purchased(t, "funded")
	require.Equal(t, []any{rail.Refused, rail.Expired, dollar}, []any{ended.Status, ended.Reason, ended.Funded})
	require.Nil(t, ended.Signed)
	require.Equal(t, rail.Pending, w.purchased(t, "unfunded").Status, "its funding was broadcast, and may still land")
	w.chain.Forget()
	require.NoError(t, w.chain.AdvanceTime(time.Hour))
	ended = w.purchased(t, "unfunded")
	require.Equal(t, []any{rail.Refused, rail.Expired, rail.Micros(0)}, []any{ended.Status, ended.Reason, ended.Funded})
	require.Equal(t, dollar, w.accounts(t)[0].Free)
	repeated := w.buy(t, purchase("funded", in))
	require.Equal(t, rail.Refused, repeated.Status, "a repeat signs nothing")
}

// TestPurchaseIsNotSignedAfterARevocation: the money is in the session account already.
func TestPurchaseIsNotSignedAfterARevocation(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	in := w.connectManually(t, "setup", chain.MethodWallet)
	p := purchase("txn", in)
	require.Equal(t, rail.Pending, w.buy(t, p).Status)
	w.commit(t, 1) // it is funded
	require.NoError(t, w.rail.Disconnect(t.Context(), in))
	ended := w.buy(t, p)
	require.Equal(t, []any{rail.Refused, rail.Unavailable, dollar}, []any{ended.Status, ended.Reason, ended.Funded})
	require.Nil(t, ended.Signed)
	require.NoError(t, w.rail.PurchaseRecorded(t.Context(), "txn"))
	require.Equal(t, dollar, w.accounts(t)[0].Free)
}

// lateClock is the wall clock and a delay.
type lateClock struct {
	mu    sync.Mutex
	delay time.Duration
}

func (c *lateClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.delay)
}

func (c *lateClock) late(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = d
}

func TestRefusedPurchasesMoveNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	owner := ownerOf(t, in).Address
	account := w.buy(t, purchase("first", in)).Signed.Authorization.From
	before := w.balance(t, owner)
	for name, change := range map[string]func(*rail.Purchase){
		"the router":          func(p *rail.Purchase) { p.PayTo = w.chain.Router().Hex() },
		"the token":           func(p *rail.Purchase) { p.PayTo = devchain.USDC().Hex() },
		"the relayer":         func(p *rail.Purchase) { p.PayTo = devchain.Relayer().Address.Hex() },
		"no wallet":           func(p *rail.Purchase) { p.PayTo = "" },
		"the session account": func(p *rail.Purchase) { p.PayTo = account },
		"the payer":           func(p *rail.Purchase) { p.PayTo = owner.Hex() },
		"another mandate":     func(p *rail.Purchase) { p.MandateID = "del_2" },
		"another wallet":      func(p *rail.Purchase) { p.Instrument.Customer = payTo() },
		"nothing":             func(p *rail.Purchase) { p.Amount = 0 },
		"dust":                func(p *rail.Purchase) { p.Amount = 999 },
		"no window":           func(p *rail.Purchase) { p.Window = 0 },
		"no nonce":            func(p *rail.Purchase) { p.Nonce = "0x12" },
	} {
		p := purchase("txn "+name, in)
		change(&p)
		require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, w.buy(t, p).Outcome, name)
	}
	require.Equal(t, rail.Unavailable, w.purchased(t, "unknown").Reason)
	require.Equal(t, rail.Unavailable, w.buy(t, purchase("unknown", in)).Reason, "it has ended before it began")
	much := purchase("much", in)
	much.Amount = 20_000 * dollar
	require.Equal(t, rail.AllowanceMissing, w.buy(t, much).Reason, "above what the grant allows")
	require.Equal(t, before, w.balance(t, owner))
	require.Empty(t, w.accounts(t))
}

func TestTwoPurchasesNeverShareANonce(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	first, second := purchase("first", in), purchase("second", in)
	first.Nonce = fmt.Sprintf("0x%064x", big.NewInt(7))
	second.Nonce = first.Nonce
	require.Equal(t, first.Nonce, w.buy(t, first).Signed.Authorization.Nonce)
	require.Equal(t, rail.Unavailable, w.buy(t, second).Reason)
	require.Equal(t, first.Nonce, w.buy(t, first).Signed.Authorization.Nonce)
}

func TestRacingPurchasesShareTheSessionAccount(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	owner := ownerOf(t, in).Address
	before := w.balance(t, owner)
	w.buy(t, purchase("left", in))
	require.NoError(t, w.chain.AdvanceTime(2*time.Minute))
	require.Equal(t, rail.Expired, w.purchased(t, "left").Reason)

	const racing = 8
	bought := make([]rail.Purchased, racing)
	var all sync.WaitGroup
	for i := range racing {
		all.Go(func() {
			p := purchase(fmt.Sprint("txn_", i), in)
			p.Amount = dollar / 2
			bought[i], _ = w.rail.Buy(t.Context(), p)
		})
	}
	all.Wait()
	for i, one := range bought {
		require.NotNil(t, one.Signed, i)
		w.settleAsSeller(t, *one.Signed)
	}
	funded := dollar
	for i := range racing {
		ended := w.purchased(t, fmt.Sprint("txn_", i))
		require.Equal(t, rail.Succeeded, ended.Status)
		funded += ended.Funded
	}
	require.Equal(t, racing*dollar/2, w.moved(t))
	require.Equal(t, before-racing*dollar/2, w.balance(t, owner))
	require.Equal(t, racing*dollar/2, funded, "the money that was left paid two of them")
	require.Empty(t, w.accounts(t))
}

// TestFundingsCountInTheGasBudget checks that an agent whose seller never settles cannot make
// the relayer pay for one funding after another.
func TestFundingsCountInTheGasBudget(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		c.Authorizations = chain.Authorizations{PayerGas: 1_000_000}
		c.Clock = func() time.Time { return now } // of one hour
	})
	require.NoError(t, w.rail.Start(t.Context()))
	in := w.connect(t, "setup", chain.MethodWallet)
	other := w.connect(t, "other", chain.MethodWallet)
	require.NotEqual(t, in.Customer, other.Customer)
	before := w.balance(t, ownerOf(t, in).Address)
	bought := 0
	for ; bought < 20; bought++ {
		p := purchase(fmt.Sprint("txn", bought), in)
		p.Amount = 1000
		if b := w.buy(t, p); b.Status == rail.Refused {
			require.Equal(t, rail.Unavailable, b.Reason)
			require.Zero(t, b.Funded)
			require.Equal(t, b, w.buy(t, p), "a repeat moves nothing either")
			break
		}
	}
	require.Positive(t, bought)
	require.Less(t, bought, 20, "the relayer pays for any number of fundings")
	require.Equal(t, before-rail.Micros(bought)*1000, w.balance(t, ownerOf(t, in).Address))
	p := purchase("another", other)
	p.MandateID = "del_2"
	require.NotNil(t, w.buy(t, p).Signed, "another wallet has its own budget")
	require.Equal(t, rail.Succeeded, w.pay(t, charge("sale", in)).Status, "sales are not fundings")
}
