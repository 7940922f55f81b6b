package chain_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// signedGrant is what an owner signed, with the messages.
type signedGrant struct {
	proposal chain.Proposal
	consent  chain.Consent
}

func (w *world) signGrant(t *testing.T, owner devchain.Wallet, month rail.Micros) signedGrant {
	t.Helper()
	p, err := w.rail.Prepare(t.Context(), owner.Address, chain.Terms{MaxPerCharge: dollar, MaxPerMonth: month, ExpiresAt: time.Now().AddDate(0, 2, 0)})
	require.NoError(t, err)
	sign := func(typed []byte) []byte {
		s, err := crypto.Sign(hashTyped(t, typed), owner.Key())
		require.NoError(t, err)
		s[64] += 27
		return s
	}
	return signedGrant{p, chain.Consent{
		Signature: sign(p.Grant), Permit: &chain.PermitConsent{Value: p.PermitValue, Deadline: p.PermitDeadline, Signature: sign(p.Permit)},
	}}
}

func (w *world) consent(t *testing.T, s signedGrant) (method string) {
	t.Helper()
	method, err := w.rail.Consent(t.Context(), s.proposal.GrantID, s.consent)
	require.NoError(t, err)
	return method
}

func (w *world) allowance(t *testing.T, owner common.Address) *big.Int {
	t.Helper()
	return w.readToken(t, contracts.NewTestUSDC().PackAllowance(owner, w.chain.Router()))
}

// TestGrantStrippedOfItsPermitGetsItBrought has a bystander bring the grant without its
// permit first. The wallet is connected with its allowance all the same.
func TestGrantStrippedOfItsPermitGetsItBrought(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, nil)
		owner := devchain.Wallets()[4]
		s := w.signGrant(t, owner, 10*dollar)
		method := w.consent(t, s)
		w.bringGrant(t, s)
		require.Zero(t, w.allowance(t, owner.Address).Sign())
		in := w.connect(t, "setup", method)
		require.Equal(t, s.proposal.PermitValue.Big(), w.allowance(t, owner.Address))
		require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	})
}

// TestPermitThatABystanderBroughtIsGood checks that only the allowance counts.
func TestPermitThatABystanderBroughtIsGood(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, nil)
		owner := devchain.Wallets()[4]
		s := w.signGrant(t, owner, 10*dollar)
		method := w.consent(t, s)
		p := s.consent.Permit
		call := contracts.NewTestUSDC().PackPermit(owner.Address, w.chain.Router(), p.Value.Big(), new(big.Int).SetUint64(p.Deadline), p.Signature)
		require.EqualValues(t, 1, w.mined(t, w.send(t, devchain.Wallets()[8], devchain.USDC(), call)).Status)
		in := w.connect(t, "setup", method)
		require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	})
}

// TestPermitThatLostItsNonceIsSentAgain checks that a permit that was sent without its
// grant is submitted again if a reorganization undid it and another program then used
// the nonce of its transaction. The relayer finds that out, or the charge does.
func TestPermitThatLostItsNonceIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, tended := range map[string]bool{"found by the relayer": true, "found by the charge": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, devchain.Config{Manual: true}, impatient)
			owner := devchain.Wallets()[4]
			s := w.signGrant(t, owner, 10*dollar)
			method := w.consent(t, s)
			w.sendGrant(t, s)
			w.commit(t, 3)
			before := w.head(t)
			in := w.connectManually(t, "setup", method)
			require.Equal(t, s.proposal.PermitValue.Big(), w.allowance(t, owner.Address))
			require.NoError(t, w.chain.Reorg(t.Context(), int(w.head(t)-before), true))
			w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil) // the same nonce
			w.commit(t, 3)
			require.Equal(t, contracts.StateActive, w.state(t, in))
			require.Zero(t, w.allowance(t, owner.Address).Sign())
			if tended {
				require.NoError(t, w.rail.Start(t.Context()))
				require.Eventually(t, func() bool { return len(w.records(t, "open")) == 0 }, time.Minute, 10*time.Millisecond)
			}
			require.Eventually(t, func() bool {
				w.commit(t, 1)
				outcome, err := w.rail.Charge(t.Context(), charge("txn", in))
				require.NotEqual(t, rail.Refused, outcome.Status)
				return err == nil && outcome.Status == rail.Succeeded
			}, time.Minute, 50*time.Millisecond)
			require.Equal(t, dollar, w.moved(t))
		})
	}
}

// TestPermitThatWasNotNeededIsNotSentAfterwards has an owner whose allowance was enough
// without the permit, which was never sent. When the owner takes the allowance back, it
// stays so.
func TestPermitThatWasNotNeededIsNotSentAfterwards(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	owner := devchain.Wallets()[4]
	s := w.signGrant(t, owner, 10*dollar)
	method := w.consent(t, s)
	approve := func(value *big.Int) {
		call := contracts.NewTestUSDC().PackApprove(w.chain.Router(), value)
		require.EqualValues(t, 1, w.mined(t, w.send(t, owner, devchain.USDC(), call)).Status)
	}
	approve(s.proposal.PermitValue.Big())
	w.bringGrant(t, s)
	in := w.connect(t, "setup", method)
	approve(new(big.Int))
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.AllowanceMissing}, w.pay(t, charge("txn", in)))
	require.Zero(t, w.allowance(t, owner.Address).Sign())
}

// TestTwoGrantsSignedWithOnePermitNonce checks that the second grant is refused, whatever
// allowance the first one has left, since only one of the permits can work.
func TestTwoGrantsSignedWithOnePermitNonce(t *testing.T) {
	t.Parallel()
	for name, month := range map[string]rail.Micros{"of equal value": 10 * dollar, "of less value": 5 * dollar, "of more value": 20 * dollar} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, devchain.Config{}, nil)
			owner := devchain.Wallets()[4]
			first, second := w.signGrant(t, owner, 10*dollar), w.signGrant(t, owner, month)
			w.connect(t, "first", w.consent(t, first))
			_, err := w.rail.Connect(t.Context(), rail.Connection{Reference: "second", Method: w.consent(t, second)})
			var refused *rail.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, rail.AllowanceMissing, refused.Reason)
			third := w.signGrant(t, owner, month)
			w.connect(t, "third", w.consent(t, third))
			require.Equal(t, third.proposal.PermitValue.Big(), w.allowance(t, owner.Address))
		})
	}
}

func (w *world) readToken(t *testing.T, call []byte) *big.Int {
	t.Helper()
	usdc := devchain.USDC()
	answer, err := w.chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: call}, nil)
	require.NoError(t, err)
	return new(big.Int).SetBytes(answer)
}

// bringGrant brings a grant's signature as a bystander, without its permit.
func (w *world) bringGrant(t *testing.T, s signedGrant) {
	t.Helper()
	require.EqualValues(t, 1, w.mined(t, w.sendGrant(t, s)).Status)
}

func (w *world) sendGrant(t *testing.T, s signedGrant) common.Hash {
	t.Helper()
	var typed apitypes.TypedData
	require.NoError(t, json.Unmarshal(s.proposal.Grant, &typed))
	m := typed.Message
	number := func(name string) *big.Int {
		n, ok := new(big.Int).SetString(fmt.Sprint(m[name]), 0)
		require.True(t, ok, "%s: %v", name, m[name])
		return n
	}
	address := func(name string) common.Address { return common.HexToAddress(m[name].(string)) }
	call := contracts.NewMandateRouter().PackGrantWithSignature(contracts.MandateRouterGrant{
		Owner: address("owner"), Token: address("token"), SessionKey: address("sessionKey"), MaxPerCharge: number("maxPerCharge"),
		MaxPerMonth: number("maxPerMonth"), ExpiresAt: number("expiresAt").Uint64(), AnyPayee: true,
		Salt: common.HexToHash(m["salt"].(string)),
	}, s.consent.Signature)
	return w.send(t, devchain.Wallets()[8], w.chain.Router(), call)
}
