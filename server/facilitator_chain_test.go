package server_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

const used = "invalid_exact_evm_nonce_already_used"

func (c *chainside) payerAccount() account {
	return account{address: c.payer.Address, key: c.payer.Key()}
}

func (a answer) refusedPayment(t *testing.T, reason string) {
	t.Helper()
	require.Equal(t, []any{200, false, reason}, []any{a.Status, a.Body["success"], a.Body["errorReason"]}, a.Text)
}

// TestSomebodyElseBroadcasts: the payee has the money, and the service knew the
// authorization before, so the payment is settled.
func TestSomebodyElseBroadcasts(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	for _, version := range []int{x402.Version1, x402.Version2} {
		a := c.attempt(t, version, c.payerAccount(), attack{})
		require.Equal(t, true, c.ask(t, "verify", a.body).Body["isValid"])
		receipt := c.bring(t, a.exact)
		require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
		before := c.paid(t)
		require.Equal(t, true, c.ask(t, "verify", a.body).Body["isValid"])
		first := c.ask(t, "settle", a.body)
		require.Equal(t, []any{true, receipt.TxHash.Hex()}, []any{first.Body["success"], first.Body["transaction"]}, first.Text)
		require.Empty(t, first.Header.Get("Idempotency-Replayed"))
		c.ask(t, "settle", a.body).refusedPayment(t, "duplicate_settlement")
		require.Equal(t, before, c.paid(t))
	}
}

// TestSomebodyElseBroadcastsMeanwhile: money moves once and the payment is settled,
// whichever transaction lands first.
func TestSomebodyElseBroadcastsMeanwhile(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	for range 5 {
		before := c.paid(t)
		a := c.attempt(t, x402.Version2, c.payerAccount(), attack{})
		require.Equal(t, true, c.ask(t, "verify", a.body).Body["isValid"])
		var both sync.WaitGroup
		both.Go(func() { c.bring(t, a.exact) })
		settled := c.ask(t, "settle", a.body)
		both.Wait()
		require.Equal(t, true, settled.Body["success"], settled.Text)
		require.EqualValues(t, 10_000, c.paid(t)-before)
	}
}

// TestTransferLiftedFromTheChainIsNotSettled: an authorization that somebody settled
// elsewhere is public; it pays for nothing here, whatever the version.
func TestTransferLiftedFromTheChainIsNotSettled(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	for _, version := range []int{x402.Version1, x402.Version2} {
		a := c.attempt(t, version, c.payerAccount(), attack{})
		require.Equal(t, types.ReceiptStatusSuccessful, c.bring(t, a.exact).Status)
		require.Equal(t, used, c.ask(t, "verify", a.body).str("invalidReason"))
		for range 2 {
			c.ask(t, "settle", a.body).refusedPayment(t, used)
		}
	}
}

// TestUsedForSomethingElse: a nonce that was used or canceled, without our transfer.
func TestUsedForSomethingElse(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	payer := c.payerAccount()
	spent := func(change func(*evm.TransferAuthorization)) *attempt {
		a := c.attempt(t, x402.Version2, payer, attack{})
		elsewhere := a.order
		change(&elsewhere)
		require.Equal(t, types.ReceiptStatusSuccessful, c.bring(t, payer.sign(t, tokenDomain(), elsewhere)).Status)
		return a
	}
	for name, a := range map[string]*attempt{
		"paid to another": spent(func(o *evm.TransferAuthorization) { o.To = devchain.Payee(7).Address }),
		"paid less":       spent(func(o *evm.TransferAuthorization) { o.Value = evm.Uint64(1) }),
	} {
		before := c.paid(t)
		require.Equal(t, used, c.ask(t, "verify", a.body).str("invalidReason"), name)
		c.ask(t, "settle", a.body).refusedPayment(t, used)
		require.Equal(t, before, c.paid(t), name)
	}
}

// TestSecondAuthorizationOfANonce: one nonce is one payment.
func TestSecondAuthorizationOfANonce(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	first := c.attempt(t, x402.Version2, c.payerAccount(), attack{})
	require.Equal(t, true, c.ask(t, "settle", first.body).Body["success"])
	for name, value := range map[string]string{"for more": "20000", "for less": "5000"} {
		amount, err := evm.ParseUint256(value)
		require.NoError(t, err)
		second := c.attempt(t, x402.Version2, c.payerAccount(), attack{order: func(_ uint64, a *attempt) {
			a.order.Nonce, a.order.Value, a.amount = first.order.Nonce, amount, value
		}})
		require.Equal(t, used, c.ask(t, "verify", second.body).str("invalidReason"), name)
		c.ask(t, "settle", second.body).refusedPayment(t, used)
	}
	require.EqualValues(t, 10_000, c.paid(t))
}

// TestOneAuthorizationForTwoResources, asked at once: one of them is paid.
func TestOneAuthorizationForTwoResources(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	a := c.attempt(t, x402.Version2, c.payerAccount(), attack{})
	bodies := []map[string]any{a.body, tree(a.body)}
	bodies[1]["paymentPayload"].(map[string]any)["resource"] = map[string]any{"url": sold + "/other"}
	var settled, refusedThere atomic.Int64
	var callers sync.WaitGroup
	for i := range 20 {
		callers.Go(func() {
			one := c.ask(t, "settle", bodies[i%2])
			if one.Body["success"] == true && one.Header.Get("Idempotency-Replayed") == "" {
				settled.Add(1)
			}
			if one.str("errorReason") == used {
				refusedThere.Add(1)
			}
		})
	}
	callers.Wait()
	require.Equal(t, []int64{1, 10, 10_000}, []int64{settled.Load(), refusedThere.Load(), c.paid(t)})
}

// TestPayerSpendsTheSameMoneyTwice: two authorizations, money for one.
func TestPayerSpendsTheSameMoneyTwice(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	poor := devchain.Payee(8)
	usdc := devchain.USDC()
	c.send(t, &usdc, contracts.NewTestUSDC().PackMint(poor.Address, evm.Uint64(10_000).Big()))
	from := account{address: poor.Address, key: poor.Key()}
	var settled, not atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		a := c.attempt(t, x402.Version1, from, attack{})
		callers.Go(func() {
			if c.ask(t, "settle", a.body).Body["success"] == true {
				settled.Add(1)
			} else {
				not.Add(1)
			}
		})
	}
	callers.Wait()
	require.Equal(t, []int64{1, 7, 10_000}, []int64{settled.Load(), not.Load(), c.paid(t)})
}

// TestWindowClosesBetweenVerifyAndSettle: the window is looked at again.
func TestWindowClosesBetweenVerifyAndSettle(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	a := c.attempt(t, x402.Version2, c.payerAccount(), attack{})
	require.Equal(t, true, c.ask(t, "verify", a.body).Body["isValid"])
	c.Clock.Advance(595 * time.Second)
	c.ask(t, "settle", a.body).refusedPayment(t, badWindow)
	require.Zero(t, c.paid(t))
}

// TestFundsLeaveBetweenVerifyAndSettle, without a transaction of ours.
func TestFundsLeaveBetweenVerifyAndSettle(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	a := c.attempt(t, x402.Version2, c.payerAccount(), attack{})
	require.Equal(t, true, c.ask(t, "verify", a.body).Body["isValid"])
	all := c.attempt(t, x402.Version2, c.payerAccount(), attack{order: func(_ uint64, a *attempt) {
		a.order.To, a.order.Value = devchain.Payee(7).Address, evm.Uint64(devchain.WalletMicros)
	}})
	require.Equal(t, types.ReceiptStatusSuccessful, c.bring(t, all.exact).Status)
	c.ask(t, "settle", a.body).refusedPayment(t, "insufficient_funds")
}

// TestWalletsThatAreNotThere: a signature may say how to deploy its wallet; the
// relayer never does so, and calls nothing that a payload names.
func TestWalletsThatAreNotThere(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	to := c.wallet(t, devchain.Wallets()[1], false, true)
	usdc, token := devchain.USDC(), contracts.NewTestUSDC()
	drain := token.PackTransfer(crook().Address, evm.Uint64(1).Big())
	wrapped := func(factory common.Address, call []byte) account {
		a := to
		a.wrap = func(signature []byte) []byte {
			return evm.Wrapped{Factory: factory, FactoryCall: call, Signature: signature}.Wrap()
		}
		return a
	}
	for name, one := range map[string]struct {
		from   account
		reason string
	}{
		"factory that works":        {to, "invalid_exact_evm_payload_undeployed_smart_wallet"},
		"no factory":                {wrapped(common.Address{}, nil), badSignature},
		"the token as factory":      {wrapped(usdc, drain), badSignature},
		"the router as factory":     {wrapped(common.HexToAddress(c.Chain.Router), []byte{1, 2, 3, 4}), badSignature},
		"factory of another wallet": {wrapped(c.factory, []byte{0}), badSignature},
		"bare signature":            {account{address: to.address, key: to.key}, badSignature},
	} {
		for _, version := range []int{x402.Version1, x402.Version2} {
			a := c.attempt(t, version, one.from, attack{})
			require.Equal(t, one.reason, c.ask(t, "verify", a.body).str("invalidReason"), name)
			c.ask(t, "settle", a.body).refusedPayment(t, one.reason)
		}
	}
	code, err := c.node.CodeAt(t.Context(), to.address, nil)
	require.NoError(t, err)
	require.Empty(t, code, "nothing was deployed")
	spent, err := c.node.NonceAt(t.Context(), devchain.Relayer().Address, nil)
	require.NoError(t, err)
	require.Zero(t, spent, "the relayer sent nothing")
}

// TestWalletsThatLie: contracts that answer as they like. Nothing is settled that
// did not move.
func TestWalletsThatLie(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	for _, one := range map[string]struct{ code, reason string }{
		"burns all gas":          {"5b5f56", badSignature},
		"fails":                  {"fe", badSignature},
		"answers nothing":        {"00", badSignature},
		"answers another":        {"6001" + "5f52" + "60205ff3", badSignature},
		"answers too little":     {"631626ba7e60e01b5f5260045ff3", badSignature},
		"says no when it counts": {"631626ba7e60e01b3a15025f5260205ff3", "invalid_exact_evm_transaction_simulation_failed"}, // yes where gas costs nothing
	} {
		from := c.contract(t, one.code)
		for _, version := range []int{x402.Version1, x402.Version2} {
			a := c.attempt(t, version, from, attack{})
			c.ask(t, "settle", a.body).refusedPayment(t, one.reason)
			c.ask(t, "settle", a.body).refusedPayment(t, one.reason)
		}
	}
	require.Zero(t, c.paid(t))
}
