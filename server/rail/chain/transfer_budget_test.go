package chain_test

import (
	"log/slog"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/params"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// spent returns the number of transactions that the relayer has in blocks.
func (w *world) spent(t *testing.T) uint64 {
	t.Helper()
	n, err := w.chain.Client().NonceAt(t.Context(), devchain.Relayer().Address, nil)
	require.NoError(t, err)
	return n
}

func (w *world) mint(t *testing.T, to common.Address, amount rail.Micros) {
	t.Helper()
	hash := w.send(t, devchain.Wallets()[9], devchain.USDC(), contracts.NewTestUSDC().PackMint(to, big.NewInt(int64(amount))))
	require.EqualValues(t, 1, w.mined(t, hash).Status)
}

// TestOneBalancePaysOneSettlement settles 50 authorizations of one balance at once, on two
// instances: one is sent. The others cost no gas, and one of them is settled once there
// is money again.
func TestOneBalancePaysOneSettlement(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	poor := devchain.Payee(8)
	w.mint(t, poor.Address, dollar)
	beside := w.beside(t, nil)
	orders := make([]x402.Exact, 50)
	for i := range orders {
		orders[i] = w.authorize(t, poor)
	}
	var settled, refusedThere atomic.Int64
	var callers sync.WaitGroup
	for i, e := range orders {
		callers.Go(func() {
			s, err := []*chain.Rail{w.rail, beside}[i%2].SettleAuthorization(t.Context(), e, resource)
			switch {
			case err != nil:
				t.Error(err)
			case s.Success:
				settled.Add(1)
			case s.ErrorReason == x402.ReasonInsufficientFunds:
				refusedThere.Add(1)
			default:
				t.Errorf("%s: %s", s.ErrorReason, s.ErrorMessage)
			}
		})
	}
	callers.Wait()
	require.Equal(t, []int64{1, 49, 1}, []int64{settled.Load(), refusedThere.Load(), int64(w.spent(t))})
	w.mint(t, poor.Address, dollar)
	left := 0
	for _, e := range orders {
		if w.ended(t, e).Success {
			left++
		}
	}
	require.Equal(t, 1, left, "what was reserved is free again")
	require.Equal(t, 2*dollar, w.moved(t))
}

// TestReservedValueIsFreedWhenNobodyAsks checks that a settlement that no caller follows
// does not reserve the payer's money for good.
func TestReservedValueIsFreedWhenNobodyAsks(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	poor := devchain.Payee(8)
	hash := w.send(t, devchain.Wallets()[9], devchain.USDC(), contracts.NewTestUSDC().PackMint(poor.Address, big.NewInt(int64(2*dollar))))
	w.commit(t, 1)
	w.mined(t, hash)
	require.Equal(t, x402.ReasonPending, w.settle(t, w.authorize(t, poor)).ErrorReason)
	require.Equal(t, x402.ReasonPending, w.settle(t, w.authorize(t, poor)).ErrorReason)
	third := w.authorize(t, poor)
	require.Equal(t, x402.ReasonInsufficientFunds, w.settle(t, third).ErrorReason)
	hash = w.send(t, devchain.Wallets()[9], devchain.USDC(), contracts.NewTestUSDC().PackMint(poor.Address, big.NewInt(int64(dollar))))
	w.commit(t, 1)
	w.mined(t, hash)
	require.Equal(t, x402.ReasonPending, w.settle(t, third).ErrorReason)
	w.commit(t, 1)
	require.Equal(t, 3*dollar, w.moved(t))
}

// TestSimulationHasTheRealGasPrice checks that a wallet that agrees if gas costs nothing,
// and reverts in a block, is refused before gas is spent.
func TestSimulationHasTheRealGasPrice(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	// isValidSignature's magic value, times (gas price == 0)
	code := common.FromHex("631626ba7e60e01b3a15025f5260205ff3")
	size := byte(len(code))
	create := append(append([]byte{0x5f + size}, code...), 0x5f, 0x52, 0x60, size, 0x60, 32-size, 0xf3)
	at := w.deploy(t, hexutil.Encode(create))
	w.mint(t, at, dollar)
	e := w.authorize(t, devchain.Wallets()[0])
	e.Authorization.From = at.Hex()
	v, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
	require.NoError(t, err)
	require.Equal(t, chain.ReasonSimulation, v.InvalidReason)
	require.Equal(t, chain.ReasonSimulation, w.settle(t, e).ErrorReason)
	require.Zero(t, w.spent(t))
}

// TestRevertIsPaidByThePayer checks that a payer whose settlements revert uses up its own
// budget, tenfold, and not the payee's.
func TestRevertIsPaidByThePayer(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Authorizations = chain.Authorizations{KeyGas: 100_000, PayerGas: 1_000_000, PayeeGas: 300_000}
	})
	bad, good := devchain.Wallets()[0], devchain.Wallets()[1]
	e := w.authorize(t, bad)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), w.dear(t, bad, cancel(t, bad, e.Authorization))))
	w.commit(t, 1)
	require.Equal(t, x402.ReasonTransactionState, w.ended(t, e).ErrorReason)
	require.Equal(t, chain.ReasonGasBudget, w.settle(t, w.authorize(t, bad)).ErrorReason, "its budget was good for ten")
	for range 3 {
		require.Equal(t, x402.ReasonPending, w.settle(t, w.authorize(t, good)).ErrorReason, "the payee's is good for three")
	}
	require.Equal(t, chain.ReasonGasBudget, w.settle(t, w.authorize(t, good)).ErrorReason)
}

// TestRevertOfAnotherHourFreesNoBudget checks that a settlement that was sent in one hour
// and reverts in the next gives nothing back to the counter of the next hour.
func TestRevertOfAnotherHourFreesNoBudget(t *testing.T) {
	t.Parallel()
	clock := &steady{now: time.Now().Truncate(time.Hour).Add(-time.Minute)}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Clock, c.Authorizations = clock.Now, chain.Authorizations{KeyGas: 100_000, PayeeGas: 300_000}
	})
	bad, good := devchain.Wallets()[0], devchain.Wallets()[1]
	e := w.authorize(t, bad)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	clock.advance(2 * time.Minute)
	for range 3 {
		require.Equal(t, x402.ReasonPending, w.settle(t, w.authorize(t, good)).ErrorReason, "the payee's budget is good for three")
	}
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), w.dear(t, bad, cancel(t, bad, e.Authorization))))
	w.commit(t, 1)
	require.Equal(t, x402.ReasonTransactionState, w.ended(t, e).ErrorReason)
	require.Equal(t, chain.ReasonGasBudget, w.settle(t, w.authorize(t, good)).ErrorReason, "it counted in the hour before")
}

// TestRevertFreesNoBudgetOfItsCaller checks that a caller whose settlements revert uses up
// its own budget, however many payers it names.
func TestRevertFreesNoBudgetOfItsCaller(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Authorizations = chain.Authorizations{KeyGas: 100_000, CallerWei: big.NewInt(params.GWei * 1_000_000)}
	})
	bad, good := devchain.Wallets()[0], devchain.Wallets()[1]
	settle := func(e x402.Exact, caller string) x402.Reason {
		s, err := w.rail.SettleOnce(t.Context(), e, rail.SettleRequest{Resource: resource, Caller: caller})
		require.NoError(t, err)
		return s.ErrorReason
	}
	e := w.authorize(t, bad)
	require.Equal(t, x402.ReasonPending, settle(e, "one"))
	for settle(w.authorize(t, good), "one") == x402.ReasonPending {
		continue // until the budget is used up
	}
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), w.dear(t, bad, cancel(t, bad, e.Authorization))))
	w.commit(t, 1)
	require.Equal(t, x402.ReasonTransactionState, w.ended(t, e).ErrorReason)
	require.Equal(t, chain.ReasonGasBudget, settle(w.authorize(t, good), "one"), "not given back")
	require.Equal(t, x402.ReasonPending, settle(w.authorize(t, good), "two"))
}

// TestFrontRunSettlementIsNotChargedTenfold has a stranger bring the payer's signature
// first, so that the relayer's transaction reverts. The payer is not to blame.
func TestFrontRunSettlementIsNotChargedTenfold(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Authorizations = chain.Authorizations{KeyGas: 100_000, PayerGas: 1_000_000}
	})
	honest, stranger := devchain.Wallets()[0], devchain.Wallets()[8]
	e := w.authorize(t, honest)
	require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
	o, err := evm.ParseAuthorization(e.Authorization)
	require.NoError(t, err)
	data := contracts.NewTestUSDC().PackTransferWithAuthorization(
		o.From, o.To, o.Value.Big(), o.ValidAfter.Big(), o.ValidBefore.Big(), o.Nonce, common.FromHex(e.Signature))
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), w.dear(t, stranger, data)))
	w.commit(t, 1)
	require.Equal(t, dollar, w.moved(t))
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool { return w.gauge(t, "chain_transactions_reverted") == 1 }, time.Minute, 10*time.Millisecond)
	require.True(t, w.ended(t, e).Success)
	require.Equal(t, x402.ReasonPending, w.settle(t, w.authorize(t, honest)).ErrorReason)
}

// TestBudgetsInWei covers the budgets of the relayer, a payer, a payee and a caller, each
// with its alarm.
func TestBudgetsInWei(t *testing.T) {
	t.Parallel()
	third := func(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.GWei*100_000)) }
	for name, change := range map[string]func(*chain.Authorizations){
		"payer":   func(a *chain.Authorizations) { a.PayerWei = third(4) },
		"payee":   func(a *chain.Authorizations) { a.PayeeWei = third(4) },
		"caller":  func(a *chain.Authorizations) { a.CallerWei = third(4) },
		"relayer": func(a *chain.Authorizations) { a.RelayerWei = third(4) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := errorsIn{slog.DiscardHandler, &atomic.Int64{}}
			w := setup(t, devchain.Config{}, func(c *chain.Config) {
				c.Logger, c.MaxFeeWei = slog.New(told), big.NewInt(params.GWei*1000)
				c.Authorizations.KeyGas = 100_000
				change(&c.Authorizations)
			})
			settle := func(i int, caller string) x402.Settlement {
				s, err := w.rail.SettleOnce(t.Context(), w.authorize(t, devchain.Wallets()[i]), rail.SettleRequest{Resource: resource, Caller: caller})
				require.NoError(t, err)
				return s
			}
			var s x402.Settlement
			for i := range 20 {
				if s = settle(0, "one"); !s.Success {
					require.NotZero(t, i)
					break
				}
			}
			require.Equal(t, chain.ReasonGasBudget, s.ErrorReason, s.ErrorMessage)
			require.Contains(t, s.ErrorMessage, name)
			require.EqualValues(t, 1, told.n.Load(), "the alarm")
			require.Equal(t, name == "payer", settle(1, "one").Success, "another payer")
			require.Equal(t, name == "caller" || name == "payer", settle(2, "two").Success, "another payer and caller")
		})
	}
}

// TestNothingIsSentAboveTheHighestFee checks that no transaction is sent that would only
// block later ones.
func TestNothingIsSentAboveTheHighestFee(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	in := w.connect(t, "setup", chain.MethodWallet)
	spent := w.spent(t)
	w.config.MaxFeeWei = big.NewInt(1)
	w.restart(t)
	e := w.authorize(t, devchain.Wallets()[0])
	_, err := w.rail.VerifyAuthorization(t.Context(), e, resource)
	require.Error(t, err, "undecided: the same may be asked again")
	_, err = w.rail.SettleAuthorization(t.Context(), e, resource)
	require.Error(t, err)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, w.pay(t, charge("dear", in)))
	require.Equal(t, spent, w.spent(t))
	w.config.MaxFeeWei = nil
	w.restart(t)
	require.True(t, w.settle(t, e).Success)
}
