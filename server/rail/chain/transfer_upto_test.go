package chain_test

import (
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/contracts/contracttest"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// cents are what most tests settle of a permit of a dollar.
const cents = "40000"

// allowPermit2 lets Permit2 move an amount for a wallet.
func (w *world) allowPermit2(t *testing.T, from devchain.Wallet, micros int64) {
	t.Helper()
	w.send(t, from, devchain.USDC(), contracts.NewTestUSDC().PackApprove(evm.Permit2(), big.NewInt(micros)))
	w.commit(t, 1)
}

// permit returns a signed permit of a dollar to the payee, valid for an hour.
func (w *world) permit(t *testing.T, from devchain.Wallet, change func(*evm.UptoPermit)) x402.Upto {
	t.Helper()
	until := max(time.Now().Unix(), w.chain.Now().Unix()) + 3600
	p := evm.UptoPermit{
		From: from.Address, Token: devchain.USDC(), Amount: evm.Uint64(uint64(dollar)), Spender: evm.UptoProxy(), Nonce: evm.Uint64(777),
		Deadline: evm.Uint64(uint64(until)), To: devchain.Payee(0).Address, Facilitator: devchain.Relayer().Address,
	}
	if change != nil {
		change(&p)
	}
	signature, err := evm.Sign(evm.Digest(evm.Permit2Domain(devchain.ChainID, evm.Permit2()).Separator(), p), from.Key())
	require.NoError(t, err)
	return x402.Upto{Signature: hexutil.Encode(signature), Authorization: p.Wire()}
}

func (w *world) settleUpto(t *testing.T, u x402.Upto, amount string, q rail.SettleRequest) x402.Settlement {
	t.Helper()
	q.Resource = resource
	s, err := w.rail.SettleUpto(t.Context(), u, amount, q)
	require.NoError(t, err)
	return s
}

func (w *world) verifyUpto(t *testing.T, u x402.Upto) x402.Verification {
	t.Helper()
	v, err := w.rail.VerifyUpto(t.Context(), u, rail.SettleRequest{Resource: resource})
	require.NoError(t, err)
	return v
}

// endedUpto repeats a settlement until it has ended.
func (w *world) endedUpto(t *testing.T, u x402.Upto, amount string) (s x402.Settlement) {
	t.Helper()
	require.Eventually(t, func() bool {
		s = w.settleUpto(t, u, amount, rail.SettleRequest{})
		return s.ErrorReason != x402.ReasonPending
	}, time.Minute, time.Millisecond)
	return s
}

func TestUptoSettlesWhatWasMeteredOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	require.False(t, w.rail.SettlesUpto(), "not started")
	require.NoError(t, w.rail.Start(t.Context()))
	require.True(t, w.rail.SettlesUpto())
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	u := w.permit(t, from, nil)
	require.True(t, w.rail.UptoSignedByKey(u))
	require.Equal(t, x402.Verification{IsValid: true, Payer: from.Address.Hex()}, w.verifyUpto(t, u))
	require.True(t, w.verifyUpto(t, u).IsValid, "verifying uses nothing up")
	b := &book{}
	s := w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "one", Ledger: b})
	require.True(t, s.Success, "%v", s)
	require.Equal(t, cents, s.Amount)
	require.EqualValues(t, 40_000, w.moved(t))
	require.EqualValues(t, 40_000, b.begun[0].Amount)
	require.Equal(t, []rail.Outcome{{Status: rail.Succeeded, TxHash: s.Transaction}}, b.outcomes)

	require.Equal(t, x402.ReasonUptoNonce, w.verifyUpto(t, u).InvalidReason)
	again := w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "one", Ledger: b})
	require.Equal(t, []any{true, true, s.Transaction, cents}, []any{again.Success, again.Replayed, again.Transaction, again.Amount})
	require.Equal(t, x402.ReasonDuplicate, w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "two"}).ErrorReason)
	require.Equal(t, x402.ReasonUptoNonce, w.settleUpto(t, u, "1", rail.SettleRequest{IdempotencyKey: "one"}).ErrorReason, "another amount")
	require.Equal(t, x402.ReasonUptoNonce, w.settleUpto(t, u, "0", rail.SettleRequest{IdempotencyKey: "one"}).ErrorReason)
	require.EqualValues(t, 40_000, w.moved(t))
}

// TestUptoNeedsItsContracts checks chains without the proxy, and with one of another Permit2.
func TestUptoNeedsItsContracts(t *testing.T) {
	t.Parallel()
	for name, world := range map[string]struct {
		genesis types.GenesisAlloc
		change  func(*chain.Config)
	}{
		"no proxy":        {types.GenesisAlloc{evm.UptoProxy(): {Balance: new(big.Int)}}, nil},
		"another Permit2": {nil, func(c *chain.Config) { c.Upto.Permit2 = devchain.USDC() }},
		"another proxy":   {nil, func(c *chain.Config) { c.Upto.Proxy = devchain.USDC() }},
	} {
		w := setup(t, devchain.Config{Genesis: world.genesis}, world.change)
		require.NoError(t, w.rail.Start(t.Context()), name)
		require.False(t, w.rail.SettlesUpto(), name)
	}
}

// TestUptoOfNothingEndsThePermit checks that what was settled for nothing is not settled for
// something later, and that nothing is sent.
func TestUptoOfNothingEndsThePermit(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	u := w.permit(t, from, nil)
	forged := u
	forged.Signature = w.permit(t, devchain.Wallets()[1], nil).Signature
	require.Equal(t, x402.ReasonUptoSignature, w.settleUpto(t, forged, "0", rail.SettleRequest{}).ErrorReason, "nobody else ends it")
	b := &book{}
	s := w.settleUpto(t, u, "0", rail.SettleRequest{IdempotencyKey: "one", Ledger: b})
	require.Equal(t, []any{true, "", "0"}, []any{s.Success, s.Transaction, s.Amount})
	require.Empty(t, b.begun)
	require.True(t, w.settleUpto(t, u, "0", rail.SettleRequest{IdempotencyKey: "one"}).Replayed)
	require.Equal(t, x402.ReasonDuplicate, w.settleUpto(t, u, "0", rail.SettleRequest{}).ErrorReason)
	require.Equal(t, x402.ReasonUptoNonce, w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "one"}).ErrorReason)
	require.Equal(t, x402.ReasonUptoNonce, w.verifyUpto(t, u).InvalidReason)
	require.Zero(t, w.moved(t))
}

func TestUptoThatCannotBeSettledIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	from, poor := devchain.Wallets()[0], devchain.EmptyWallet()
	w.allowPermit2(t, from, devchain.WalletMicros)
	forged := w.permit(t, from, nil)
	forged.Authorization.Witness.To = devchain.Payee(1).Address.Hex()
	more := w.permit(t, from, nil)
	more.Authorization.Permitted.Amount = "1000001"
	for name, tc := range map[string]struct {
		upto   x402.Upto
		reason x402.Reason
	}{
		"other payee than signed":  {forged, x402.ReasonUptoSignature},
		"more than signed":         {more, x402.ReasonUptoSignature},
		"other facilitator":        {w.permit(t, from, func(p *evm.UptoPermit) { p.Facilitator = from.Address }), x402.ReasonUptoFacilitator},
		"other spender":            {w.permit(t, from, func(p *evm.UptoPermit) { p.Spender = from.Address }), x402.ReasonUptoSpender},
		"other token":              {w.permit(t, from, func(p *evm.UptoPermit) { p.Token = from.Address }), x402.ReasonUptoToken},
		"payee is the payer":       {w.permit(t, from, func(p *evm.UptoPermit) { p.To = from.Address }), x402.ReasonUptoRecipient},
		"expired":                  {w.permit(t, from, func(p *evm.UptoPermit) { p.Deadline = evm.Uint64(1) }), x402.ReasonUptoExpired},
		"early":                    {w.permit(t, from, func(p *evm.UptoPermit) { p.ValidAfter = p.Deadline }), x402.ReasonUptoEarly},
		"dust":                     {w.permit(t, from, func(p *evm.UptoPermit) { p.Amount = evm.Uint64(999) }), chain.ReasonDust},
		"no funds":                 {w.permit(t, poor, nil), x402.ReasonInsufficientFunds},
		"no allowance for Permit2": {w.permit(t, devchain.Wallets()[1], nil), x402.ReasonUptoAllowance},
		"malformed":                {x402.Upto{Signature: "0x00"}, x402.ReasonInvalidPayload},
	} {
		require.Equal(t, tc.reason, w.verifyUpto(t, tc.upto).InvalidReason, name)
		amount := cents
		if name == "dust" {
			amount = "999"
		}
		require.Equal(t, tc.reason, w.settleUpto(t, tc.upto, amount, rail.SettleRequest{}).ErrorReason, name)
	}
	require.Equal(t, x402.ReasonUptoExceeds, w.settleUpto(t, w.permit(t, from, nil), "1000001", rail.SettleRequest{}).ErrorReason)
	require.Equal(t, x402.ReasonInvalidPayload, w.settleUpto(t, w.permit(t, from, nil), "-1", rail.SettleRequest{}).ErrorReason)
	require.Zero(t, w.moved(t))
	require.True(t, w.settleUpto(t, w.permit(t, from, nil), cents, rail.SettleRequest{}).Success, "no refusal used it up")
}

// TestUptoIsSettledForLessThanDust checks that the smallest amount applies to what was
// permitted, since what a request uses may be less.
func TestUptoIsSettledForLessThanDust(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	require.True(t, w.settleUpto(t, w.permit(t, from, nil), "1", rail.SettleRequest{}).Success)
	require.EqualValues(t, 1, w.moved(t))
}

// TestUptoWhoseNonceThePayerUsesFirst checks a payer who makes the nonce unusable: before
// the settlement is sent, and after.
func TestUptoWhoseNonceThePayerUsesFirst(t *testing.T) {
	t.Parallel()
	cancel := contracts.NewTestPermit2().PackInvalidateUnorderedNonces(big.NewInt(777>>8), new(big.Int).Lsh(big.NewInt(1), 777&255))
	for name, sent := range map[string]bool{"before it is sent": false, "after it is sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, devchain.Config{Manual: true}, impatient)
			from := devchain.Wallets()[0]
			w.allowPermit2(t, from, devchain.WalletMicros)
			u := w.permit(t, from, nil)
			want := x402.ReasonUptoNonce
			if sent {
				want = x402.ReasonTransactionState
				require.Equal(t, x402.ReasonPending, w.settleUpto(t, u, cents, rail.SettleRequest{}).ErrorReason)
			}
			w.send(t, from, evm.Permit2(), cancel)
			w.commit(t, 1)
			require.Equal(t, want, w.endedUpto(t, u, cents).ErrorReason)
			w.restart(t)
			require.Equal(t, want, w.endedUpto(t, u, cents).ErrorReason)
			require.False(t, w.verifyUpto(t, u).IsValid)
			require.Zero(t, w.moved(t))
		})
	}
}

// TestUptoOfAnotherPaymentIsNotTakenForIt checks two permits of one payer, payee and amount:
// the nonce of the second is used up, and the transfer of the first does not pay it.
func TestUptoOfAnotherPaymentIsNotTakenForIt(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	second := w.permit(t, from, func(p *evm.UptoPermit) { p.Nonce = evm.Uint64(778) })
	require.True(t, w.verifyUpto(t, second).IsValid)
	require.True(t, w.settleUpto(t, w.permit(t, from, nil), cents, rail.SettleRequest{}).Success)
	w.mined(t, w.send(t, from, evm.Permit2(), contracts.NewTestPermit2().PackInvalidateUnorderedNonces(big.NewInt(778>>8), new(big.Int).Lsh(big.NewInt(1), 778&255))))
	require.Equal(t, x402.ReasonUptoNonce, w.settleUpto(t, second, cents, rail.SettleRequest{}).ErrorReason)
	require.EqualValues(t, 40_000, w.moved(t))
}

// TestUptoThatIsInterruptedIsSettledOnce: by a restart, after it was sent.
func TestUptoThatIsInterruptedIsSettledOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	u, b := w.permit(t, from, nil), &book{}
	pending := w.settleUpto(t, u, cents, rail.SettleRequest{Ledger: b})
	require.Equal(t, x402.ReasonPending, pending.ErrorReason)
	require.Equal(t, x402.ReasonUptoNonce, w.settleUpto(t, u, "50000", rail.SettleRequest{}).ErrorReason, "another amount")
	w.restart(t)
	w.commit(t, 1)
	require.Eventually(t, func() bool {
		o, err := w.rail.TransferOutcome(t.Context(), "txn_1")
		require.NoError(t, err)
		return o == rail.Outcome{Status: rail.Succeeded, TxHash: pending.Transaction}
	}, 20*time.Second, 10*time.Millisecond)
	s := w.endedUpto(t, u, cents)
	require.Equal(t, []any{true, pending.Transaction}, []any{s.Success, s.Transaction})
	require.EqualValues(t, 40_000, w.moved(t))
}

// TestUptoIsSettledByOneOfManyCallers: with one amount.
func TestUptoIsSettledByOneOfManyCallers(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	u := w.permit(t, from, nil)
	var callers sync.WaitGroup
	results := make(chan x402.Settlement, 12)
	for i := range cap(results) {
		callers.Go(func() {
			s, err := w.rail.SettleUpto(t.Context(), u, []string{"10000", "20000", "0"}[i%3], rail.SettleRequest{Resource: resource})
			if err != nil {
				t.Error(err)
			}
			results <- s
		})
	}
	callers.Wait()
	close(results)
	var settled []x402.Settlement
	for s := range results {
		if s.Success {
			settled = append(settled, s)
		}
	}
	require.Len(t, settled, 1)
	moved := w.moved(t)
	require.Equal(t, settled[0].Amount, big.NewInt(int64(moved)).String())
}

// TestManyPermitsOfOneBalance checks that permits are verified only as far as the balance
// covers all of them, until they are settled, for less or nothing, or expire.
func TestManyPermitsOfOneBalance(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	var permits []x402.Upto
	for i := range 50 {
		permits = append(permits, w.permit(t, from, func(p *evm.UptoPermit) {
			p.Amount, p.Nonce = evm.Uint64(devchain.WalletMicros/2), evm.Uint64(uint64(i))
		}))
	}
	valid := func() (valid []int) {
		var mu sync.Mutex
		var callers sync.WaitGroup
		for i, u := range permits {
			callers.Go(func() {
				v, err := w.rail.VerifyUpto(t.Context(), u, rail.SettleRequest{Resource: resource})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if v.IsValid {
					valid = append(valid, i)
				}
			})
		}
		callers.Wait()
		return valid
	}
	first := valid()
	require.Len(t, first, 2)
	require.ElementsMatch(t, first, valid(), "the same ones, again")
	w.restart(t)
	require.ElementsMatch(t, first, valid())
	require.True(t, w.settleUpto(t, permits[first[0]], "0", rail.SettleRequest{}).Success)
	second := valid()
	require.Len(t, second, 2)
	require.NotContains(t, second, first[0])
	require.NoError(t, w.chain.AdvanceTime(2*time.Hour))
	require.Empty(t, valid(), "expired")
	late := w.permit(t, from, func(p *evm.UptoPermit) { p.Amount = evm.Uint64(devchain.WalletMicros) })
	require.True(t, w.verifyUpto(t, late).IsValid)
}

// TestPermitsInProgressAreLimited checks that a payer has at most 100 for one payee and 500 in
// all, and that one that has ended no longer counts.
func TestPermitsInProgressAreLimited(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	permit := func(payee, nonce int) x402.Upto {
		return w.permit(t, from, func(p *evm.UptoPermit) {
			p.To, p.Amount, p.Nonce = devchain.Payee(payee).Address, evm.Uint64(1000), evm.Uint64(uint64(nonce))
		})
	}
	for payee := range 5 {
		for i := range 100 {
			require.True(t, w.verifyUpto(t, permit(payee, 100*payee+i)).IsValid)
		}
		require.Equal(t, x402.ReasonInsufficientFunds, w.verifyUpto(t, permit(payee, 100*payee+100)).InvalidReason)
	}
	more := permit(5, 500)
	require.Equal(t, x402.ReasonInsufficientFunds, w.verifyUpto(t, more).InvalidReason)
	first := permit(0, 0)
	require.True(t, w.verifyUpto(t, first).IsValid, "it is one of them")
	require.True(t, w.settleUpto(t, first, "0", rail.SettleRequest{}).Success)
	require.True(t, w.verifyUpto(t, more).IsValid)
}

// TestUptoThatExpiresUnderwayIsRefused: between the check and the settlement.
func TestUptoThatExpiresUnderwayIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, impatient)
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	u := w.permit(t, from, nil)
	require.True(t, w.verifyUpto(t, u).IsValid)
	require.NoError(t, w.chain.AdvanceTime(2*time.Hour))
	require.Equal(t, x402.ReasonUptoExpired, w.settleUpto(t, u, cents, rail.SettleRequest{}).ErrorReason)
	require.Zero(t, w.moved(t))
}

// TestUptoOfAContractWallet checks a signature by ERC-1271.
func TestUptoOfAContractWallet(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	key := devchain.Wallets()[2]
	factory, calls := w.deploy(t, contracttest.SmartWalletFactoryMetaData.Bin), contracttest.NewSmartWalletFactory()
	w.mined(t, w.send(t, key, factory, calls.PackCreate(key.Address)))
	answer, err := w.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &factory, Data: calls.PackAddressOf(key.Address)}, nil)
	require.NoError(t, err)
	wallet := common.BytesToAddress(answer)
	token := contracts.NewTestUSDC()
	w.mined(t, w.send(t, key, devchain.USDC(), token.PackTransfer(wallet, big.NewInt(int64(dollar)))))
	approve := token.PackApprove(evm.Permit2(), big.NewInt(int64(dollar)))
	receipt := w.mined(t, w.send(t, key, wallet, contracttest.NewSmartWallet().PackExecute(devchain.USDC(), approve)))
	require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
	u := w.permit(t, key, func(p *evm.UptoPermit) { p.From = wallet })
	require.False(t, w.rail.UptoSignedByKey(u))
	require.True(t, w.verifyUpto(t, u).IsValid)
	require.True(t, w.settleUpto(t, u, cents, rail.SettleRequest{}).Success)
	require.EqualValues(t, 40_000, w.moved(t))
}

// TestUptoThatAReorganizationTookBackIsReported checks that a settlement that was answered is
// undone if the payer spends the money first on the new branch.
func TestUptoThatAReorganizationTookBackIsReported(t *testing.T) {
	t.Parallel()
	reports := &undoneReports{}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) {
		impatient(c)
		c.Confirmations, c.OnUndone = 3, reports.take
	})
	from := devchain.Wallets()[0]
	w.allowPermit2(t, from, devchain.WalletMicros)
	w.commit(t, 6)
	u := w.permit(t, from, nil)
	require.Equal(t, x402.ReasonPending, w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "one", Ledger: &book{}}).ErrorReason)
	w.commit(t, 5)
	var s x402.Settlement
	require.Eventually(t, func() bool {
		s = w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "one", Ledger: &book{}})
		return s.Success
	}, time.Minute, time.Millisecond)
	w.spendFirst(t, from)
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		return len(reports.get()) > 0
	}, time.Minute, 100*time.Millisecond)
	took := reports.get()[0]
	require.Equal(t, s.Transaction, took.TxHash)
	require.EqualValues(t, 40_000, took.Amount)
	again := w.settleUpto(t, u, cents, rail.SettleRequest{IdempotencyKey: "one"})
	require.Equal(t, []any{false, x402.ReasonTransactionState}, []any{again.Success, again.ErrorReason})
	require.Zero(t, w.moved(t))
}
