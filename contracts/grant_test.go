package contracts_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/contracts/contracttest"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// permit returns a permit for the router, signed by the owner.
func (w *world) permit(t *testing.T, value uint64, key devchain.Wallet) contracts.MandateRouterPermit {
	t.Helper()
	nonce, err := w.token.UnpackNonces(w.call(t, devchain.USDC(), w.token.PackNonces(w.owner.Address)))
	require.NoError(t, err)
	n, err := evm.FromBig(nonce)
	require.NoError(t, err)
	token := evm.Domain{Name: devchain.USDCName, Version: devchain.USDCVersion, ChainID: devchain.ChainID, Contract: devchain.USDC()}.Separator()
	deadline := w.now() + 1000
	s, err := evm.Sign(evm.Digest(token, evm.Permit{
		Owner: w.owner.Address, Spender: w.chain.Router(), Value: evm.Uint64(value), Nonce: n, Deadline: evm.Uint64(deadline),
	}), key.Key())
	require.NoError(t, err)
	return contracts.MandateRouterPermit{
		Value: new(big.Int).SetUint64(value), Deadline: new(big.Int).SetUint64(deadline), V: s[64], R: [32]byte(s[:32]), S: [32]byte(s[32:64]),
	}
}

func (w *world) allowance(t *testing.T) uint64 {
	t.Helper()
	allowance, err := w.token.UnpackAllowance(w.call(t, devchain.USDC(), w.token.PackAllowance(w.owner.Address, w.chain.Router())))
	require.NoError(t, err)
	return allowance.Uint64()
}

func TestGrantRelayedWithPermit(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		g := w.grant()
		call := w.router.PackGrantWithPermit(abi(g), w.sign(t, g, w.owner.Key()), w.permit(t, 77, w.owner))
		receipt := w.must(t, anyone(), w.chain.Router(), call)
		require.EqualValues(t, 77, w.allowance(t))
		event, err := w.router.UnpackMandateGrantedEvent(receipt.Logs[0])
		require.NoError(t, err)
		id := g.ID(devchain.ChainID, w.chain.Router())
		require.EqualValues(t, id, event.GrantId)
		require.Equal(t, g.Payees, event.Payees)
		kept, err := w.router.UnpackMandate(w.call(t, w.chain.Router(), w.router.PackMandate(id)))
		require.NoError(t, err)
		require.Equal(t, g.Owner, kept.Owner)
		require.Equal(t, g.Token, kept.Token)
		require.Equal(t, g.SessionKey, kept.SessionKey)
		require.Equal(t, g.MaxPerCharge, kept.MaxPerCharge.Uint64())
		require.Equal(t, g.MaxPerMonth, kept.MaxPerMonth.Uint64())
		require.Equal(t, g.ExpiresAt, kept.ExpiresAt)
		require.Equal(t, contracts.StateActive, kept.State)
		require.False(t, kept.AnyPayee)
		for payee, want := range map[common.Address]bool{w.payee: true, devchain.Payee(1).Address: false} {
			is, err := w.router.UnpackIsPayee(w.call(t, w.chain.Router(), w.router.PackIsPayee(id, payee)))
			require.NoError(t, err)
			require.Equal(t, want, is)
		}
	})
}

// TestPermitBroughtBefore has another account submit the permit of the relayed call
// first. The grant must not fail because of it.
func TestPermitBroughtBefore(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		g, p := w.grant(), w.permit(t, 77, w.owner)
		w.must(t, anyone(), devchain.USDC(), w.token.PackPermit0(w.owner.Address, w.chain.Router(), p.Value, p.Deadline, p.V, p.R, p.S))
		w.must(t, anyone(), w.chain.Router(), w.router.PackGrantWithPermit(abi(g), w.sign(t, g, w.owner.Key()), p))
		require.EqualValues(t, 77, w.allowance(t))
	})
}

func TestPermitOfSomebodyElseChangesNothing(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, w *world) {
		before := w.allowance(t)
		g := w.grant()
		w.must(t, anyone(), w.chain.Router(), w.router.PackGrantWithPermit(abi(g), w.sign(t, g, w.owner.Key()), w.permit(t, 77, anyone())))
		require.Equal(t, before, w.allowance(t))
	})
}

func TestGrantNeedsItsOwner(t *testing.T) {
	t.Parallel()
	w := setup(t)
	g := w.grant()
	refused[contracts.MandateRouterBadSignature](t, w, anyone(), w.router.PackGrant(abi(g)))
	refused[contracts.MandateRouterBadSignature](t, w, anyone(), w.router.PackGrantWithSignature(abi(g), w.sign(t, g, anyone().Key())))
	signature := w.sign(t, g, w.owner.Key())
	for name, change := range map[string]func(*evm.Grant){
		"token":   func(g *evm.Grant) { g.Token = common.Address{1} },
		"key":     func(g *evm.Grant) { g.SessionKey = common.Address{1} },
		"charge":  func(g *evm.Grant) { g.MaxPerCharge++ },
		"month":   func(g *evm.Grant) { g.MaxPerMonth++ },
		"expiry":  func(g *evm.Grant) { g.ExpiresAt++ },
		"payees":  func(g *evm.Grant) { g.Payees = nil },
		"payees+": func(g *evm.Grant) { g.Payees = append(g.Payees[:1:1], common.Address{1}) },
		"salt":    func(g *evm.Grant) { g.Salt[0]++ },
	} {
		wider := g
		change(&wider)
		e := refused[contracts.MandateRouterBadSignature](t, w, anyone(), w.router.PackGrantWithSignature(abi(wider), signature))
		require.NotNil(t, e, name)
		e = refused[contracts.MandateRouterBadSignature](t, w, anyone(), w.router.PackGrantWithPermit(abi(wider), signature, w.permit(t, 1, w.owner)))
		require.NotNil(t, e, name)
	}
	w.must(t, anyone(), w.chain.Router(), w.router.PackGrantWithSignature(abi(g), signature))
	refused[contracts.MandateRouterGrantExists](t, w, anyone(), w.router.PackGrantWithSignature(abi(g), signature))
}

func TestBadGrants(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, change := range map[string]func(*contracts.MandateRouterGrant){
		"no token":            func(g *contracts.MandateRouterGrant) { g.Token = common.Address{} },
		"no key":              func(g *contracts.MandateRouterGrant) { g.SessionKey = common.Address{} },
		"nothing a charge":    func(g *contracts.MandateRouterGrant) { g.MaxPerCharge = common.Big0 },
		"charge over month":   func(g *contracts.MandateRouterGrant) { g.MaxPerCharge = big.NewInt(25_000_001) },
		"over already":        func(g *contracts.MandateRouterGrant) { g.ExpiresAt = w.now() },
		"any payee, and some": func(g *contracts.MandateRouterGrant) { g.AnyPayee = true },
		"no payee":            func(g *contracts.MandateRouterGrant) { g.Payees = nil },
		"too many payees":     func(g *contracts.MandateRouterGrant) { g.Payees = make([]common.Address, 33) },
	} {
		g := abi(w.grant())
		change(&g)
		e := refused[contracts.MandateRouterBadGrant](t, w, w.owner, w.router.PackGrant(g))
		require.NotNil(t, e, name)
	}
}

// TestHashesAreThoseThatGoSigns compares the contract's hashes with those of Go.
func TestHashesAreThoseThatGoSigns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	g := w.grant()
	got, err := w.router.UnpackHashGrant(w.call(t, w.chain.Router(), w.router.PackHashGrant(abi(g))))
	require.NoError(t, err)
	require.EqualValues(t, evm.Digest(w.domain, g), got)
	c := evm.Charge{GrantID: common.Hash{1}, Payee: w.payee, Amount: 7, Ref: common.Hash{2}, Deadline: 9}
	got, err = w.router.UnpackHashCharge(w.call(t, w.chain.Router(), w.router.PackHashCharge(c.GrantID, c.Payee, big.NewInt(7), c.Ref, big.NewInt(9))))
	require.NoError(t, err)
	require.EqualValues(t, evm.Digest(w.domain, c), got)
	got, err = w.router.UnpackHashRevoke(w.call(t, w.chain.Router(), w.router.PackHashRevoke(c.GrantID)))
	require.NoError(t, err)
	require.EqualValues(t, evm.Digest(w.domain, evm.Revoke{GrantID: c.GrantID}), got)
	got, err = w.router.UnpackGrantIdOf(w.call(t, w.chain.Router(), w.router.PackGrantIdOf(g.Owner, g.Salt)))
	require.NoError(t, err)
	require.EqualValues(t, g.ID(devchain.ChainID, w.chain.Router()), got)
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	w := setup(t)
	signed := func(id common.Hash) []byte {
		return w.router.PackRevokeWithSignature(id, w.sign(t, evm.Revoke{GrantID: id}, w.owner.Key()))
	}
	for name, c := range map[string]struct {
		by   devchain.Wallet
		call func(id common.Hash) []byte
	}{
		"owner":             {w.owner, func(id common.Hash) []byte { return w.router.PackRevoke(id) }},
		"operator":          {devchain.Operator(), func(id common.Hash) []byte { return w.router.PackRevoke(id) }},
		"owner's signature": {anyone(), signed},
	} {
		id := w.granted(t, w.grant())
		receipt := w.must(t, c.by, w.chain.Router(), c.call(id))
		event, err := w.router.UnpackMandateRevokedEvent(receipt.Logs[0])
		require.NoError(t, err, name)
		require.EqualValues(t, id, event.GrantId)
		require.Equal(t, c.by.Address, event.By)
		refused[contracts.MandateRouterRevoked](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 1}))
		require.Empty(t, w.must(t, c.by, w.chain.Router(), c.call(id)).Logs, "twice says nothing again")
		require.Zero(t, w.remaining(t, id))
	}
	id := w.granted(t, w.grant())
	for _, by := range []devchain.Wallet{anyone(), devchain.Admin()} {
		refused[contracts.MandateRouterNotRevoker](t, w, by, w.router.PackRevoke(id))
	}
	refused[contracts.MandateRouterBadSignature](t, w, anyone(), w.router.PackRevokeWithSignature(id, w.sign(t, evm.Revoke{GrantID: id}, w.key)))
	refused[contracts.MandateRouterBadSignature](t, w, anyone(), w.router.PackRevokeWithSignature(id, w.sign(t, evm.Revoke{GrantID: common.Hash{1}}, w.owner.Key())))
	refused[contracts.MandateRouterNoGrant](t, w, devchain.Operator(), w.router.PackRevoke(common.Hash{1}))
	refused[contracts.MandateRouterNoGrant](t, w, anyone(), w.router.PackRevokeWithSignature(common.Hash{1}, nil))
}

// TestRefusedBeforeItIsBrought checks that an owner can invalidate a signed grant that is
// not on the chain yet, and no other account can.
func TestRefusedBeforeItIsBrought(t *testing.T) {
	t.Parallel()
	w := setup(t)
	g := w.grant()
	w.must(t, anyone(), w.chain.Router(), w.router.PackRefuse(g.Salt))
	other := w.grant()
	w.must(t, w.owner, w.chain.Router(), w.router.PackRefuse(other.Salt))
	refused[contracts.MandateRouterGrantExists](t, w, anyone(), w.router.PackGrantWithSignature(abi(other), w.sign(t, other, w.owner.Key())))
	w.must(t, anyone(), w.chain.Router(), w.router.PackGrantWithSignature(abi(g), w.sign(t, g, w.owner.Key())))
}

func TestPause(t *testing.T) {
	t.Parallel()
	w := setup(t)
	admin := devchain.Admin()
	id := w.granted(t, w.grant())
	w.must(t, admin, w.chain.Router(), w.router.PackPause())
	g := w.grant()
	signature := w.sign(t, g, w.owner.Key())
	for _, call := range [][]byte{
		w.router.PackGrant(abi(g)),
		w.router.PackGrantWithSignature(abi(g), signature), w.router.PackGrantWithPermit(abi(g), signature, w.permit(t, 1, w.owner)),
	} {
		refused[contracts.MandateRouterEnforcedPause](t, w, w.owner, call)
	}
	refused[contracts.MandateRouterEnforcedPause](t, w, relayer(), w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 1}))
	w.must(t, w.owner, w.chain.Router(), w.router.PackRevoke(id))
	w.must(t, admin, w.chain.Router(), w.router.PackUnpause())
	w.must(t, w.owner, w.chain.Router(), w.router.PackGrant(abi(g)))
}

func TestAdministration(t *testing.T) {
	t.Parallel()
	w := setup(t)
	admin, next := devchain.Admin(), devchain.Wallets()[3]
	for _, call := range [][]byte{
		w.router.PackPause(), w.router.PackUnpause(), w.router.PackSetOperator(next.Address, true),
		w.router.PackTransferOwnership(next.Address), w.router.PackAcceptOwnership(), w.router.PackRenounceOwnership(),
	} {
		for _, by := range []devchain.Wallet{anyone(), devchain.Operator(), devchain.Relayer()} {
			refused[contracts.MandateRouterOwnableUnauthorizedAccount](t, w, by, call)
		}
	}
	refused[contracts.MandateRouterCannotRenounce](t, w, admin, w.router.PackRenounceOwnership())
	w.must(t, admin, w.chain.Router(), w.router.PackTransferOwnership(next.Address))
	refused[contracts.MandateRouterOwnableUnauthorizedAccount](t, w, next, w.router.PackPause())
	w.must(t, next, w.chain.Router(), w.router.PackAcceptOwnership())
	refused[contracts.MandateRouterOwnableUnauthorizedAccount](t, w, admin, w.router.PackPause())
	w.must(t, next, w.chain.Router(), w.router.PackSetOperator(devchain.Operator().Address, false))
	id := w.granted(t, w.grant())
	refused[contracts.MandateRouterNotRevoker](t, w, devchain.Operator(), w.router.PackRevoke(id))
}

// TestReentrancy checks that a charge is counted before the token can call back.
func TestReentrancy(t *testing.T) {
	t.Parallel()
	w := setup(t)
	hostile := contracttest.NewReentrantToken()
	opts := bind.NewKeyedTransactor(anyone().Key(), big.NewInt(devchain.ChainID))
	deployed, err := bind.LinkAndDeploy(&bind.DeploymentParams{Contracts: []*bind.MetaData{&contracttest.ReentrantTokenMetaData}}, bind.DefaultDeployer(opts, w.chain.Client()))
	require.NoError(t, err)
	_, err = w.chain.Commit()
	require.NoError(t, err)
	w.nonces[anyone().Address]++
	token := deployed.Addresses[contracttest.ReentrantTokenMetaData.ID]
	w.must(t, anyone(), token, hostile.PackMint(w.owner.Address, big.NewInt(100_000_000)))
	w.must(t, w.owner, token, w.token.PackApprove(w.chain.Router(), big.NewInt(100_000_000)))
	w.must(t, devchain.Admin(), w.chain.Router(), w.router.PackSetOperator(token, true)) // the worst of tokens
	g := w.grant()
	g.Token, g.MaxPerMonth = token, g.MaxPerCharge
	id := w.granted(t, g)
	again := func(ref byte) []byte {
		return w.charge(t, evm.Charge{GrantID: id, Payee: w.payee, Amount: 10_000_000, Ref: common.Hash{ref}})
	}
	balance := func() uint64 {
		b, err := w.token.UnpackBalanceOf(w.call(t, token, w.token.PackBalanceOf(w.payee)))
		require.NoError(t, err)
		return b.Uint64()
	}
	w.must(t, anyone(), token, hostile.PackArm(w.chain.Router(), again(2)))
	w.must(t, relayer(), w.chain.Router(), again(1))
	require.EqualValues(t, 10_000_000, balance(), "the month's cap held within the call")
	ok, err := hostile.UnpackSucceeded(w.call(t, token, hostile.PackSucceeded()))
	require.NoError(t, err)
	require.False(t, ok)

	next := g
	next.Salt = common.Hash{0xaa}
	id = w.granted(t, next)
	w.must(t, anyone(), token, hostile.PackArm(w.chain.Router(), again(3)))
	w.must(t, relayer(), w.chain.Router(), again(3))
	require.EqualValues(t, 20_000_000, balance(), "the same ref moved once")
}
