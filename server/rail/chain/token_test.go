package chain_test

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts/contracttest"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/railtest"
)

// onEachForm runs a test on the plain test dollar, and on the one that behaves like the
// deployed USDC: behind a proxy, with an issuer, and with texts as reasons for reverts.
func onEachForm(t *testing.T, test func(t *testing.T, genesis types.GenesisAlloc)) {
	t.Helper()
	for name, genesis := range map[string]types.GenesisAlloc{"plain": nil, "issued": devchaintest.IssuedUSDC(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, genesis)
		})
	}
}

// issuer acts as the token's issuer, as any account may on a development chain.
type issuer struct {
	*world

	token *contracttest.IssuedUSDC
}

func withIssuer(t *testing.T, dev devchain.Config, change func(*chain.Config)) issuer {
	t.Helper()
	dev.Genesis = devchaintest.IssuedUSDC(t)
	return issuer{setup(t, dev, change), contracttest.NewIssuedUSDC()}
}

// does sends a call to the token and waits for its block.
func (i issuer) does(t *testing.T, call []byte) {
	t.Helper()
	hash := i.send(t, devchain.Wallets()[9], devchain.USDC(), call)
	require.EqualValues(t, 1, i.mined(t, hash).Status)
}

func (i issuer) spentNonces(t *testing.T) uint64 {
	t.Helper()
	nonce, err := i.chain.Client().PendingNonceAt(t.Context(), devchain.Relayer().Address)
	require.NoError(t, err)
	return nonce
}

func TestRailKeepsTheContractOnIssuedUSDC(t *testing.T) {
	t.Parallel()
	railtest.Run(t, func(t *testing.T) railtest.Fixture {
		t.Helper()
		return fixture(withIssuer(t, devchain.Config{}, nil).world)
	})
}

// TestPausedTokenIsTemporary checks that a pause refuses nothing for good and spends no
// gas, and that the same setup, settlement and charge succeed after it.
func TestPausedTokenIsTemporary(t *testing.T) {
	t.Parallel()
	w := withIssuer(t, devchain.Config{}, nil)
	in := w.connect(t, "setup", chain.MethodWallet)
	e := w.authorize(t, devchain.Wallets()[0])
	w.does(t, w.token.PackPause())
	before := w.spentNonces(t)
	_, err := w.rail.SettleAuthorization(t.Context(), e, resource)
	require.ErrorContains(t, err, "paused")
	_, err = w.rail.Charge(t.Context(), charge("txn", in))
	require.ErrorContains(t, err, "paused")
	_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "later", Method: chain.MethodWallet})
	require.ErrorContains(t, err, "paused")
	require.Equal(t, before, w.spentNonces(t))
	w.does(t, w.token.PackUnpause())
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	require.True(t, w.settle(t, e).Success)
	later := w.connect(t, "later", chain.MethodWallet)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn 2", later)).Status)
	require.Equal(t, 3*dollar, w.moved(t))
}

// TestPermitWaitsForTheEndOfAPause checks that a pause destroys no session key if another
// sender brought the grant without its permit.
func TestPermitWaitsForTheEndOfAPause(t *testing.T) {
	t.Parallel()
	w := withIssuer(t, devchain.Config{}, nil)
	s := w.signGrant(t, devchain.Wallets()[4], 10*dollar)
	method := w.consent(t, s)
	w.bringGrant(t, s)
	w.does(t, w.token.PackPause())
	_, err := w.rail.Connect(t.Context(), rail.Connection{Reference: "setup", Method: method})
	require.ErrorContains(t, err, "paused")
	w.does(t, w.token.PackUnpause())
	in := w.connect(t, "setup", method)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
}

// TestBlockedWalletHasItsOwnReason checks that a wallet that the token's issuer has blocked
// is refused before gas is spent, with a reason of its own.
func TestBlockedWalletHasItsOwnReason(t *testing.T) {
	t.Parallel()
	w := withIssuer(t, devchain.Config{}, nil)
	in := w.connect(t, "setup", chain.MethodWallet)
	payer := ownerOf(t, in)
	before := w.spentNonces(t)
	for name, account := range map[string]common.Address{"payer": payer.Address, "payee": devchain.Payee(0).Address} {
		w.does(t, w.token.PackBlacklist(account))
		require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.WalletBlocked}, w.pay(t, charge("charge of "+name, in)), name)
		require.Equal(t, chain.ReasonBlocked, w.settle(t, w.authorize(t, payer)).ErrorReason, name)
		w.does(t, w.token.PackUnBlacklist(account))
	}
	s := w.signGrant(t, devchain.Wallets()[4], 10*dollar)
	method := w.consent(t, s)
	w.does(t, w.token.PackBlacklist(devchain.Wallets()[4].Address))
	_, err := w.rail.Connect(t.Context(), rail.Connection{Reference: "blocked", Method: method})
	var refused *rail.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, rail.WalletBlocked, refused.Reason)
	require.Equal(t, before, w.spentNonces(t), "gas was spent")
	require.Zero(t, w.moved(t))
	require.Equal(t, rail.Succeeded, w.pay(t, charge("afterwards", in)).Status)
}

// TestBlockedWhileItsTransactionWaits checks that a charge that reverts because its wallet
// was blocked has the same reason as one that is refused before.
func TestBlockedWhileItsTransactionWaits(t *testing.T) {
	t.Parallel()
	w := withIssuer(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 50 * time.Millisecond })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	outcome := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Pending, outcome.Status)
	first := w.dear(t, devchain.Wallets()[9], w.token.PackBlacklist(ownerOf(t, in).Address))
	require.NoError(t, w.chain.Client().SendTransaction(t.Context(), first))
	w.commit(t, 1)
	require.EqualValues(t, 1, w.mined(t, first.Hash()).Status)
	require.EqualValues(t, 0, w.mined(t, common.HexToHash(outcome.TxHash)).Status)
	ended, err := w.rail.Lookup(t.Context(), "txn")
	require.NoError(t, err)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.WalletBlocked}, ended)
}
