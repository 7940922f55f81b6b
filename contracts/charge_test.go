package contracts_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// anyone is an account without a part in any grant.
func anyone() devchain.Wallet { return devchain.Wallets()[7] }

// relayer is an operator, which submits charges.
func relayer() devchain.Wallet { return devchain.Relayer() }

// TestOnlyOperatorsBringCharges checks that no other account can make a failed charge
// succeed.
func TestOnlyOperatorsBringCharges(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.granted(t, w.grant())
	call := w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 1, Ref: common.Hash{1}})
	for _, by := range []devchain.Wallet{anyone(), w.owner, devchain.Admin()} {
		refused[contracts.MandateRouterNotOperator](t, w, by, call)
	}
	w.must(t, devchain.Operator(), w.chain.Router(), call)
}

func TestChargeMovesExactlyTheAmount(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		id := w.granted(t, w.grant())
		for i, amount := range []uint64{1, 999, 10_000_000} {
			payer, payee := w.balance(t, w.owner.Address), w.balance(t, w.payee)
			ref := common.Hash{byte(i + 1)}
			receipt := w.must(t, relayer(), w.chain.Router(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: amount, Ref: ref}))
			require.Equal(t, payer-amount, w.balance(t, w.owner.Address))
			require.Equal(t, payee+amount, w.balance(t, w.payee))
			require.Len(t, receipt.Logs, 2)
			event, err := w.router.UnpackChargedEvent(receipt.Logs[0])
			require.NoError(t, err)
			require.EqualValues(t, id, event.GrantId)
			require.EqualValues(t, ref, event.Ref)
			require.Equal(t, w.payee, event.Payee)
			require.Equal(t, amount, event.Amount.Uint64())
			moved, err := w.token.UnpackTransferEvent(receipt.Logs[1])
			require.NoError(t, err)
			require.Equal(t, amount, moved.Value.Uint64())
			require.Zero(t, w.balance(t, w.chain.Router()), "the router keeps nothing")
		}
		require.EqualValues(t, 25_000_000-10_001_000, w.remaining(t, id))
	})
}

func TestChargeCap(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.granted(t, w.grant())
	over := refused[contracts.MandateRouterOverChargeCap](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 10_000_001}))
	require.EqualValues(t, 10_000_000, over.Cap.Int64())
	refused[contracts.MandateRouterBadAmount](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee}))
	require.Zero(t, w.balance(t, w.payee))
}

// TestMonthCap crosses the ends of a February with and one without a leap day, of
// a year, and of a month that nothing was spent in.
func TestMonthCap(t *testing.T) {
	t.Parallel()
	w := setup(t)
	g := w.grant()
	g.ExpiresAt = uint64(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	id := w.granted(t, g)
	ref := uint64(0)
	spend := func(amount uint64) []byte {
		ref++
		return w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: amount, Ref: common.BigToHash(new(big.Int).SetUint64(ref))})
	}
	for _, begins := range []time.Time{
		time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), // still the month of February
		time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2031, 12, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2032, 12, 1, 0, 0, 0, 0, time.UTC),
	} {
		w.until(t, begins.Add(-30*time.Second))
		left := w.remaining(t, id)
		for ; left >= 10_000_000; left -= 10_000_000 {
			w.must(t, relayer(), w.chain.Router(), spend(10_000_000))
		}
		over := refused[contracts.MandateRouterOverMonthCap](t, w, relayer(), spend(left+1))
		require.Equal(t, left, over.Left.Uint64())
		require.Equal(t, left, w.remaining(t, id))
		w.until(t, begins)
		if begins.Day() != 1 {
			require.Equal(t, left, w.remaining(t, id), "not a new month: %s", begins)
			continue
		}
		require.EqualValues(t, 25_000_000, w.remaining(t, id), "a new month: %s", begins)
		w.must(t, relayer(), w.chain.Router(), spend(1))
		require.EqualValues(t, 24_999_999, w.remaining(t, id))
	}
}

// TestMonthIsTheCalendars compares months with the standard library's.
func TestMonthIsTheCalendars(t *testing.T) {
	t.Parallel()
	w := setup(t)
	check := func(t require.TestingT, at time.Time) {
		got, err := w.router.UnpackMonthOf(w.call(t, w.chain.Router(), w.router.PackMonthOf(big.NewInt(at.Unix()))))
		require.NoError(t, err)
		require.EqualValues(t, at.Year()*12+int(at.Month())-1, got, "%s", at)
	}
	for year := 1970; year <= 2405; year++ {
		for _, month := range []time.Month{time.January, time.March} {
			first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
			if year > 1970 || month > time.January {
				check(t, first.Add(-time.Second))
			}
			check(t, first)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 200_000_000_000).Draw(t, "time"), 0).UTC()
		check(t, at)
		first := time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		check(t, first)
		check(t, first.Add(-time.Second))
	})
}

func TestPayees(t *testing.T) {
	t.Parallel()
	w := setup(t)
	stranger := devchain.Payee(5).Address
	id := w.granted(t, w.grant())
	refused[contracts.MandateRouterPayeeNotAllowed](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: stranger, Amount: 1}))
	g := w.grant()
	g.Payees = nil
	anybody := w.granted(t, g)
	w.must(t, relayer(), w.chain.Router(), w.charge(t, evm.Charge{GrantID: anybody, Payee: stranger, Amount: 1}))
	for name, never := range map[string]common.Address{"nobody": {}, "the router": w.chain.Router(), "the owner": w.owner.Address} {
		e := refused[contracts.MandateRouterPayeeNotAllowed](t, w, relayer(), w.charge(t, evm.Charge{GrantID: anybody, Payee: never, Amount: 1, Ref: common.Hash{2}}))
		require.Equal(t, never, e.Payee, name)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := setup(t)
	g := w.grant()
	g.ExpiresAt = w.now() + 1000
	id := w.granted(t, g)
	w.must(t, relayer(), w.chain.Router(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 1, Ref: common.Hash{1}}))
	w.until(t, time.Unix(int64(g.ExpiresAt), 0))
	refused[contracts.MandateRouterExpired](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 1, Ref: common.Hash{2}}))
	require.Zero(t, w.remaining(t, id))
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.granted(t, w.grant())
	late := w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 1, Ref: common.Hash{1}, Deadline: w.now() + 100})
	w.until(t, w.chain.Now().Add(102*time.Second))
	refused[contracts.MandateRouterDeadlinePassed](t, w, relayer(), late)
}

func TestReplayOfRef(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		id := w.granted(t, w.grant())
		c := evm.Charge{GrantID: id, Payee: w.payee, Amount: 5, Ref: common.Hash{1}}
		w.must(t, relayer(), w.chain.Router(), w.charge(t, c))
		receipt := w.must(t, relayer(), w.chain.Router(), w.charge(t, c))
		require.Empty(t, receipt.Logs, "a repeat says nothing")
		require.EqualValues(t, 5, w.balance(t, w.payee))
		more := c
		more.Amount = 6
		refused[contracts.MandateRouterRefReused](t, w, relayer(), w.charge(t, more))
		other := c
		other.GrantID = w.granted(t, w.grant())
		w.must(t, relayer(), w.chain.Router(), w.charge(t, other))
		require.EqualValues(t, 10, w.balance(t, w.payee), "another grant's refs are its own")
		answer, err := w.router.UnpackCharged(w.call(t, w.chain.Router(), w.router.PackCharged(id, c.Ref, c.Payee, big.NewInt(5))))
		require.NoError(t, err)
		require.Equal(t, contracts.ChargedOutput{Any: true, Same: true}, answer)
		answer, err = w.router.UnpackCharged(w.call(t, w.chain.Router(), w.router.PackCharged(id, c.Ref, c.Payee, big.NewInt(6))))
		require.NoError(t, err)
		require.Equal(t, contracts.ChargedOutput{Any: true}, answer)
	})
}

// TestWrongSignature covers other keys than the session key, and other charges than the
// signed one.
func TestWrongSignature(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.granted(t, w.grant())
	c := evm.Charge{GrantID: id, Payee: w.payee, Amount: 5, Ref: common.Hash{1}, Deadline: w.now() + 1000}
	pack := func(c evm.Charge, signature []byte) []byte {
		return w.router.PackCharge(c.GrantID, c.Payee, new(big.Int).SetUint64(c.Amount), c.Ref, new(big.Int).SetUint64(c.Deadline), signature)
	}
	good := w.sign(t, c, w.key)
	otherDomain := func(d evm.Domain) []byte {
		signature, err := evm.Sign(evm.Digest(d.Separator(), c), w.key)
		require.NoError(t, err)
		return signature
	}
	changed := func(change func(*evm.Charge)) []byte {
		other := c
		change(&other)
		return w.sign(t, other, w.key)
	}
	for name, signature := range map[string][]byte{
		"nothing":          {},
		"the owner":        w.sign(t, c, w.owner.Key()),
		"another key":      w.sign(t, c, keyOf(10)),
		"the relayer":      w.sign(t, c, devchain.Relayer().Key()),
		"another chain":    otherDomain(evm.Domain{Name: "MandateRouter", Version: "1", ChainID: 8453, Contract: w.chain.Router()}),
		"another contract": otherDomain(evm.Domain{Name: "MandateRouter", Version: "1", ChainID: devchain.ChainID, Contract: devchain.USDC()}),
		"another version":  otherDomain(evm.Domain{Name: "MandateRouter", Version: "2", ChainID: devchain.ChainID, Contract: w.chain.Router()}),
		"another grant":    changed(func(c *evm.Charge) { c.GrantID = common.Hash{1} }),
		"another payee":    changed(func(c *evm.Charge) { c.Payee = common.Address{1} }),
		"another amount":   changed(func(c *evm.Charge) { c.Amount++ }),
		"another ref":      changed(func(c *evm.Charge) { c.Ref = common.Hash{2} }),
		"another deadline": changed(func(c *evm.Charge) { c.Deadline++ }),
		"too long":         append(append([]byte{}, good...), 0),
	} {
		e := refused[contracts.MandateRouterBadSignature](t, w, relayer(), pack(c, signature))
		require.NotNil(t, e, name)
	}
	w.must(t, relayer(), w.chain.Router(), pack(c, good))
}

func TestChargeWithoutGrant(t *testing.T) {
	t.Parallel()
	w := setup(t)
	refused[contracts.MandateRouterNoGrant](t, w, relayer(), w.charge(t, evm.Charge{GrantID: common.Hash{1}, Payee: w.payee, Amount: 1}))
}

// TestOwnerWithoutMoney checks that a charge that the token refuses changes nothing.
func TestOwnerWithoutMoney(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		id := w.granted(t, w.grant())
		w.must(t, w.owner, devchain.USDC(), w.token.PackApprove(w.chain.Router(), big.NewInt(3)))
		refused[contracts.TestUSDCERC20InsufficientAllowance](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 4, Ref: common.Hash{1}}))
		require.EqualValues(t, 25_000_000, w.remaining(t, id))
		w.must(t, relayer(), w.chain.Router(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 3, Ref: common.Hash{1}}))
	})
}
