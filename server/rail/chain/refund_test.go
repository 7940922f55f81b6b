package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/railtest"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// signing is a rail whose payee signs each refund at once.
type signing struct{ *chain.Rail }

func (s signing) Refund(ctx context.Context, r rail.Refund) (rail.Outcome, error) {
	outcome, err := s.Rail.Refund(ctx, r)
	if err != nil || outcome.Status != rail.Pending {
		return outcome, err
	}
	p, waits, err := s.RefundProposal(ctx, r.Reference)
	if err != nil || !waits {
		return outcome, err
	}
	signature, err := signProposal(p)
	if err != nil {
		return rail.Outcome{}, err
	}
	for tries := 1; ; tries++ { // what others move is reserved for a moment after it has moved
		outcome, err = s.SignRefund(ctx, r.Reference, signature)
		var refused *rail.RefusedError
		if !errors.As(err, &refused) || tries == 100 {
			return outcome, err
		}
		if err := sleep.For(ctx, 50*time.Millisecond); err != nil {
			return rail.Outcome{}, err
		}
	}
}

// authorizationIn returns the authorization in a proposal.
func authorizationIn(p rail.RefundProposal) (x402.Authorization, error) {
	var typed struct {
		Message x402.Authorization `json:"message"`
	}
	err := json.Unmarshal(p.TypedData, &typed)
	return typed.Message, err
}

// signProposal signs as the payee.
func signProposal(p rail.RefundProposal) (string, error) {
	wire, err := authorizationIn(p)
	if err != nil {
		return "", err
	}
	t, err := evm.ParseAuthorization(wire)
	if err != nil {
		return "", err
	}
	signature, err := evm.Sign(evm.Digest(tokenDomain(), t), devchain.Payee(0).Key())
	return hexutil.Encode(signature), err
}

func tokenDomain() evm.Separator {
	return evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}.Separator()
}

func TestRailKeepsTheContractOfRefunds(t *testing.T) {
	t.Parallel()
	for name, deep := range map[string]bool{"final at once": false, "three blocks deep": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			railtest.RunRefunder(t, func(t *testing.T) railtest.Fixture {
				t.Helper()
				return refundFixture(t, deep)
			})
		})
	}
}

func refundFixture(t *testing.T, deep bool) railtest.Fixture {
	t.Helper()
	w := setup(t, devchain.Config{}, func(c *chain.Config) {
		if deep {
			c.Confirmations, c.Wait = 3, 20*time.Millisecond
		}
	})
	f := fixture(w)
	f.Rail = signing{w.rail}
	f.Restart = func(t *testing.T) rail.Rail {
		t.Helper()
		w.restart(t)
		return signing{w.rail}
	}
	f.Advance = func(t *testing.T) {
		t.Helper()
		if deep {
			w.commit(t, 1)
		}
	}
	return f
}

// paid charges, and returns a refund of half of it.
func (w *world) paid(t *testing.T, reference string) (rail.Charge, rail.Refund) {
	t.Helper()
	c := charge(reference, w.connect(t, "sess_"+reference, chain.MethodWallet))
	require.Equal(t, rail.Succeeded, w.pay(t, c).Status)
	return c, rail.Refund{Reference: "rfd_" + reference, Charge: c.Reference, Amount: c.Amount / 2}
}

// proposal opens a refund, which waits for a signature.
func (w *world) proposal(t *testing.T, r rail.Refund) rail.RefundProposal {
	t.Helper()
	outcome, err := w.rail.Refund(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, rail.Outcome{Status: rail.Pending}, outcome)
	p, waits, err := w.rail.RefundProposal(t.Context(), r.Reference)
	require.NoError(t, err)
	require.True(t, waits)
	return p
}

func (w *world) signed(t *testing.T, r rail.Refund) string {
	t.Helper()
	signature, err := signProposal(w.proposal(t, r))
	require.NoError(t, err)
	return signature
}

// refundOutcome asks until the refund is decided.
func (w *world) refundOutcome(t *testing.T, r rail.Refund) (outcome rail.Outcome) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		outcome, err = w.rail.LookupRefund(t.Context(), r.Reference)
		require.NoError(t, err)
		return outcome.Status != rail.Pending
	}, time.Minute, time.Millisecond)
	return outcome
}

func TestRefundGoesFromThePaidWalletToTheOneThatPaid(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	c, r := w.paid(t, "one")
	owner := common.HexToAddress(c.Instrument.Customer)
	before := w.balance(t, owner)
	p := w.proposal(t, r)
	require.Equal(t, payTo(), p.Signer)
	a, err := authorizationIn(p)
	require.NoError(t, err)
	require.Equal(t, owner, common.HexToAddress(a.To))
	require.Equal(t, "500000", a.Value)

	for name, bad := range map[string]string{
		"of another key": func() string {
			s, err := evm.Sign(common.Hash{1}, devchain.Payee(1).Key())
			require.NoError(t, err)
			return hexutil.Encode(s)
		}(),
		"none": "", "no signature": "0x1234", "no hexadecimal": "0xzz",
	} {
		_, err := w.rail.SignRefund(t.Context(), r.Reference, bad)
		require.ErrorIs(t, err, rail.ErrSignature, name)
	}
	_, err = w.rail.SignRefund(t.Context(), "rfd_none", "0x1234")
	require.ErrorIs(t, err, rail.ErrNoProposal)

	signature, err := signProposal(p)
	require.NoError(t, err)
	outcome, err := w.rail.SignRefund(t.Context(), r.Reference, signature)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.Equal(t, before+r.Amount, w.balance(t, owner))
	again, err := w.rail.SignRefund(t.Context(), r.Reference, signature)
	require.NoError(t, err)
	require.Equal(t, outcome, again)
	_, waits, err := w.rail.RefundProposal(t.Context(), r.Reference)
	require.NoError(t, err)
	require.False(t, waits)
}

// TestRefundOfAnEmptyWalletConsumesNothing: the same signature moves the money once there is
// some.
func TestRefundOfAnEmptyWalletConsumesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	_, r := w.paid(t, "one")
	signature := w.signed(t, r)
	require.EqualValues(t, 1, w.mined(t, w.send(t, devchain.Wallets()[8], devchain.USDC(), spendCall(t, w.moved(t)))).Status)
	for range 2 {
		_, err := w.rail.SignRefund(t.Context(), r.Reference, signature)
		var refused *rail.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, rail.InsufficientFunds, refused.Reason)
		w.restart(t)
	}
	w.mint(t, devchain.Payee(0).Address, dollar)
	outcome, err := w.rail.SignRefund(t.Context(), r.Reference, signature)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
}

// TestUnsignedRefundExpires: after a day the signature moves nothing, and the amount can be
// refunded again.
func TestUnsignedRefundExpires(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	c, r := w.paid(t, "one")
	signature := w.signed(t, r)
	rest := rail.Refund{Reference: "rfd_rest", Charge: c.Reference, Amount: c.Amount}
	outcome, err := w.rail.Refund(t.Context(), rest)
	require.NoError(t, err)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, outcome)
	require.NoError(t, w.chain.AdvanceTime(25*time.Hour))
	w.commit(t, 1)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Expired}, w.refundOutcome(t, r))
	late, err := w.rail.SignRefund(t.Context(), r.Reference, signature)
	require.NoError(t, err)
	require.Equal(t, rail.Expired, late.Reason)
	w.signed(t, rail.Refund{Reference: "rfd_again", Charge: c.Reference, Amount: c.Amount})
}

// exactOf returns a signed proposal in the form in which anyone can send it.
func exactOf(t *testing.T, p rail.RefundProposal) x402.Exact {
	t.Helper()
	a, err := authorizationIn(p)
	require.NoError(t, err)
	signature, err := signProposal(p)
	require.NoError(t, err)
	return x402.Exact{Signature: signature, Authorization: a}
}

// spendCall returns the call by which the payee spends an amount elsewhere.
func spendCall(t *testing.T, amount rail.Micros) []byte {
	t.Helper()
	a := evm.TransferAuthorization{
		From: devchain.Payee(0).Address, To: devchain.Payee(1).Address, Value: evm.Uint64(uint64(amount)), ValidBefore: evm.Uint64(1 << 40),
	}
	signature, err := evm.Sign(evm.Digest(tokenDomain(), a), devchain.Payee(0).Key())
	require.NoError(t, err)
	return contracts.NewTestUSDC().PackTransferWithAuthorization(
		a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, signature)
}

// TestRefundThatThePayeeSentHimselfIsFound: it counts once, even if the payee also hands in the
// signature, and even if it is found after its window.
func TestRefundThatThePayeeSentHimselfIsFound(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*testing.T, *world, rail.Refund, string){
		"at once": func(*testing.T, *world, rail.Refund, string) {},
		"signed as well": func(t *testing.T, w *world, r rail.Refund, signature string) {
			t.Helper()
			_, err := w.rail.SignRefund(t.Context(), r.Reference, signature)
			require.NoError(t, err)
		},
		"after a restart and two days": func(t *testing.T, w *world, _ rail.Refund, _ string) {
			t.Helper()
			w.restart(t)
			require.NoError(t, w.chain.AdvanceTime(48*time.Hour))
			w.commit(t, 2100) // farther back than the rail looks for payments
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, devchain.Config{}, nil)
			_, r := w.paid(t, "one")
			e := exactOf(t, w.proposal(t, r))
			hash := w.bring(t, e)
			after(t, w, r, e.Signature)
			outcome := w.refundOutcome(t, r)
			require.Equal(t, rail.Succeeded, outcome.Status)
			require.Equal(t, hash.Hex(), outcome.TxHash)
			require.Equal(t, dollar-r.Amount, w.moved(t))
		})
	}
}

// TestCanceledRefundIsRefused: the payee's wallet may cancel the authorization on the chain.
func TestCanceledRefundIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	c, r := w.paid(t, "one")
	a, err := authorizationIn(w.proposal(t, r))
	require.NoError(t, err)
	hash := w.send(t, devchain.Wallets()[8], devchain.USDC(), cancel(t, devchain.Payee(0), a))
	require.EqualValues(t, 1, w.mined(t, hash).Status)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Reverted}, w.refundOutcome(t, r))
	w.signed(t, rail.Refund{Reference: "rfd_again", Charge: c.Reference, Amount: c.Amount})
}

// TestSignedRefundBuysNothing: a payer who sells too is not paid with the refund.
func TestSignedRefundBuysNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	_, r := w.paid(t, "one")
	e := exactOf(t, w.proposal(t, r))
	v, err := w.rail.VerifyAuthorization(t.Context(), e, "https://shop.example/")
	require.NoError(t, err)
	require.False(t, v.IsValid)
	s, err := w.rail.SettleAuthorization(t.Context(), e, "https://shop.example/")
	require.NoError(t, err)
	require.Equal(t, x402.ReasonInvalidPayload, s.ErrorReason)
	require.Contains(t, s.ErrorMessage, "refund")
	require.Equal(t, dollar, w.moved(t))
}

// TestRefundThatRevertedStaysPendingWhileItCanMove: any program that has the signature can send it until
// its window ends, so the amount is not released before.
func TestRefundThatRevertedStaysPendingWhileItCanMove(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 20 * time.Millisecond })
	c := charge("one", w.connectManually(t, "setup", chain.MethodWallet))
	require.Equal(t, rail.Pending, w.pay(t, c).Status)
	w.commit(t, 1)
	require.Equal(t, rail.Succeeded, w.pay(t, c).Status)
	r := rail.Refund{Reference: "rfd_one", Charge: c.Reference, Amount: dollar / 2}
	e := exactOf(t, w.proposal(t, r))
	outcome, err := w.rail.SignRefund(t.Context(), r.Reference, e.Signature)
	require.NoError(t, err)
	require.Equal(t, rail.Pending, outcome.Status)
	require.NotEmpty(t, outcome.TxHash)
	w.send(t, devchain.Wallets()[8], devchain.USDC(), spendCall(t, dollar)) // comes first, by its tip
	w.commit(t, 1)
	require.EqualValues(t, 0, w.mined(t, common.HexToHash(outcome.TxHash)).Status)
	outcome, err = w.rail.LookupRefund(t.Context(), r.Reference)
	require.NoError(t, err)
	require.Equal(t, rail.Pending, outcome.Status)
	other, err := w.rail.Refund(t.Context(), rail.Refund{Reference: "rfd_other", Charge: c.Reference, Amount: dollar})
	require.NoError(t, err)
	require.Equal(t, rail.Refused, other.Status)

	w.send(t, devchain.Wallets()[9], devchain.USDC(), contracts.NewTestUSDC().PackMint(devchain.Payee(0).Address, big.NewInt(int64(dollar))))
	w.commit(t, 1)
	a, err := evm.ParseAuthorization(e.Authorization)
	require.NoError(t, err)
	hash := w.send(t, devchain.Wallets()[8], devchain.USDC(), contracts.NewTestUSDC().PackTransferWithAuthorization(
		a.From, a.To, a.Value.Big(), a.ValidAfter.Big(), a.ValidBefore.Big(), a.Nonce, hexutil.MustDecode(e.Signature)))
	w.commit(t, 1)
	outcome = w.refundOutcome(t, r)
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.Equal(t, hash.Hex(), outcome.TxHash)
}
