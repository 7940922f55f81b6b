package chain_test

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// ownerOf returns the development wallet of a sandbox instrument.
func ownerOf(t *testing.T, in rail.Instrument) devchain.Wallet {
	t.Helper()
	for _, w := range devchain.Wallets() {
		if w.Address.Hex() == in.Customer {
			return w
		}
	}
	require.Fail(t, "no dev wallet", in.Customer)
	return devchain.Wallet{}
}

func TestChargeReturnsItsTransaction(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, nil)
		in := w.connect(t, "setup", chain.MethodWallet)
		owner := ownerOf(t, in)
		before := w.balance(t, owner.Address)
		outcome := w.pay(t, charge("txn_1.chainrail", in))
		require.Equal(t, rail.Succeeded, outcome.Status)
		receipt := w.mined(t, common.HexToHash(outcome.TxHash))
		require.Equal(t, dollar, w.moved(t))
		require.Equal(t, before-dollar, w.balance(t, owner.Address), "the payer pays the amount and no gas")
		header, err := w.chain.Client().HeaderByNumber(t.Context(), receipt.BlockNumber)
		require.NoError(t, err)
		require.EqualValues(t, header.Time, outcome.SettledAt.Unix())
		require.Less(t, receipt.GasUsed, uint64(160_000))
	})
}

// TestRefusedBeforeGasIsSpent covers what the wallet and the grant do not allow: no
// transaction is sent for any of it.
func TestRefusedBeforeGasIsSpent(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, func(c *chain.Config) {
			c.Sandbox.Terms = chain.Terms{
				MaxPerCharge: 5 * dollar, MaxPerMonth: 8 * dollar, ExpiresAt: time.Now().Add(24 * time.Hour),
				Payees: []common.Address{devchain.Payee(0).Address},
			}
		})
		good, empty, bare := w.connect(t, "1", chain.MethodWallet), w.connect(t, "2", chain.MethodEmpty), w.connect(t, "3", chain.MethodNoAllowance)
		ended := w.connect(t, "4", chain.MethodWallet)
		require.NoError(t, w.rail.Disconnect(t.Context(), ended))
		full := w.connect(t, "5", chain.MethodWallet)
		c := charge("fill", full)
		c.Amount = 5 * dollar
		require.Equal(t, rail.Succeeded, w.pay(t, c).Status)
		bound := w.connect(t, "6", chain.MethodWallet)
		c = charge("bind", bound)
		c.MandateID = "del_other"
		require.Equal(t, rail.Succeeded, w.pay(t, c).Status)

		nonce, err := w.chain.Client().PendingNonceAt(t.Context(), w.rail.Relayer())
		require.NoError(t, err)
		moved := w.moved(t)
		for name, test := range map[string]struct {
			in     rail.Instrument
			change func(*rail.Charge)
			reason rail.Reason
		}{
			"empty wallet":           {in: empty, reason: rail.InsufficientFunds},
			"no allowance":           {in: bare, reason: rail.AllowanceMissing},
			"over the charge's cap":  {in: good, change: func(c *rail.Charge) { c.Amount = 5*dollar + 1 }, reason: rail.AllowanceMissing},
			"over the month's cap":   {in: full, change: func(c *rail.Charge) { c.Amount = 3*dollar + 1 }, reason: rail.AllowanceMissing},
			"payee not granted":      {in: good, change: func(c *rail.Charge) { c.PayTo = devchain.Payee(1).Address.Hex() }, reason: rail.AllowanceMissing},
			"disconnected":           {in: ended, reason: rail.Unavailable},
			"another mandate's":      {in: bound, reason: rail.Unavailable},
			"merchant has no wallet": {in: good, change: func(c *rail.Charge) { c.PayTo = "" }, reason: rail.Unavailable},
			"payee is no address":    {in: good, change: func(c *rail.Charge) { c.PayTo = "0x12" }, reason: rail.Unavailable},
			"payee is nobody":        {in: good, change: func(c *rail.Charge) { c.PayTo = common.Address{}.Hex() }, reason: rail.Unavailable},
			"a card":                 {in: rail.Instrument{Rail: rail.Card, Method: good.Method, Customer: good.Customer}, reason: rail.Unavailable},
			"another's grant":        {in: rail.Instrument{Rail: rail.Chain, Method: good.Method, Customer: empty.Customer}, reason: rail.Unavailable},
		} {
			c := charge("refused "+name, test.in)
			if test.change != nil {
				test.change(&c)
			}
			outcome := w.pay(t, c)
			require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: test.reason}, outcome, name)
		}
		after, err := w.chain.Client().PendingNonceAt(t.Context(), w.rail.Relayer())
		require.NoError(t, err)
		require.LessOrEqual(t, after, nonce+1, "the revocation may have come late, nothing else")
		require.Equal(t, moved, w.moved(t))
	})
}

// TestRevertedOnChain empties the wallet while the charge waits for its block.
func TestRevertedOnChain(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 50 * time.Millisecond })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	owner := ownerOf(t, in)
	// The owner's transfer waits with a higher tip, so it comes first.
	hash := w.send(t, owner, devchain.USDC(), contracts.NewTestUSDC().PackTransfer(devchain.Payee(3).Address, big.NewInt(devchain.WalletMicros)))
	outcome := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Pending, outcome.Status)
	require.NotEmpty(t, outcome.TxHash)
	w.commit(t, 1)
	require.EqualValues(t, 1, w.mined(t, hash).Status)
	require.EqualValues(t, 0, w.mined(t, common.HexToHash(outcome.TxHash)).Status)
	ended, err := w.rail.Lookup(t.Context(), "txn")
	require.NoError(t, err)
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Reverted}, ended)
	require.Zero(t, w.moved(t))
}

// connectManually connects on a chain that makes blocks only on demand.
func (w *world) connectManually(t *testing.T, reference, method string) rail.Instrument {
	t.Helper()
	done := make(chan rail.Instrument, 1)
	failed := make(chan error, 1)
	go func() {
		in, err := w.rail.Connect(t.Context(), rail.Connection{Reference: reference, Method: method})
		if err != nil {
			failed <- err
			return
		}
		done <- in
	}()
	for {
		select {
		case in := <-done:
			return in
		case err := <-failed:
			require.NoError(t, err)
		case <-time.After(2 * time.Millisecond):
			w.commit(t, 1)
		}
	}
}

// TestKilledBetweenBroadcastAndReceipt checks that restarts add no second transfer.
func TestKilledBetweenBroadcastAndReceipt(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 20 * time.Millisecond })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	c := charge("txn", in)
	first := w.pay(t, c)
	require.Equal(t, rail.Pending, first.Status)
	for range 3 {
		w.restart(t)
		again := w.pay(t, c)
		require.Equal(t, first, again, "the same transaction")
	}
	w.commit(t, 1)
	w.restart(t)
	ended, err := w.rail.Lookup(t.Context(), "txn")
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, ended.Status)
	require.Equal(t, first.TxHash, ended.TxHash)
	require.Equal(t, dollar, w.moved(t))
}

// TestReorganizedCharge undoes three blocks with a settled charge: the rail sends its
// transaction again, and nothing is paid twice.
func TestReorganizedCharge(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]bool{"transactions wait again": false, "transactions are forgotten": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, devchain.Config{}, nil)
			in := w.connect(t, "setup", chain.MethodWallet)
			w.commit(t, 4)
			outcome := w.pay(t, charge("txn", in))
			require.Equal(t, rail.Succeeded, outcome.Status)
			w.commit(t, 2)
			require.NoError(t, w.chain.Reorg(t.Context(), 3, drop))
			if drop {
				require.Zero(t, w.moved(t), "the chain has forgotten it")
			}
			require.NoError(t, w.rail.Start(t.Context()))
			require.Eventually(t, func() bool { return w.moved(t) == dollar }, time.Minute, 10*time.Millisecond)
			require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
			require.Equal(t, rail.Succeeded, w.pay(t, charge("txn_2", in)).Status)
			require.Equal(t, 2*dollar, w.moved(t))
		})
	}
}

// TestLostNonce uses the relayer's key beside the rail.
func TestLostNonce(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait = 20 * time.Millisecond })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	first := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Pending, first.Status)
	w.chain.Forget()
	w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil) // the same nonce
	w.commit(t, 1)
	second := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Pending, second.Status)
	require.NotEqual(t, first.TxHash, second.TxHash)
	w.commit(t, 1)
	ended := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Succeeded, ended.Status)
	require.Equal(t, second.TxHash, ended.TxHash)
	require.Equal(t, dollar, w.moved(t))
}

// TestFeesAreRaised checks that a waiting transaction is replaced, and that either one
// may land.
func TestFeesAreRaised(t *testing.T) {
	t.Parallel()
	clock := &movable{now: time.Now()}
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait, c.Clock = 20*time.Millisecond, clock.Now })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	first := w.pay(t, charge("txn", in))
	clock.now = clock.now.Add(time.Minute)
	w.pay(t, charge("txn", in)) // finds that it has waited long
	second := w.pay(t, charge("txn", in))
	require.NotEqual(t, first.TxHash, second.TxHash)
	w.commit(t, 1)
	ended := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Succeeded, ended.Status)
	require.Equal(t, second.TxHash, ended.TxHash)
	require.Equal(t, dollar, w.moved(t))
}

type movable struct{ now time.Time }

func (m *movable) Now() time.Time { return m.now }

// TestChargeOnAnIdleChainIsNotLate: the newest block is older than a charge may be.
func TestChargeOnAnIdleChainIsNotLate(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.Lifetime = 3 * time.Second })
	in := w.connect(t, "setup", chain.MethodWallet)
	time.Sleep(5 * time.Second)
	ended := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Succeeded, ended.Status, ended.Reason)
}

// TestDeadline checks that a charge that never landed is refused, and cannot land later.
func TestDeadline(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{Manual: true}, func(c *chain.Config) { c.Wait, c.Lifetime = 20*time.Millisecond, 30*time.Second })
	in := w.connectManually(t, "setup", chain.MethodWallet)
	require.Equal(t, rail.Pending, w.pay(t, charge("txn", in)).Status)
	w.chain.Forget() // the network lost it
	require.NoError(t, w.chain.AdvanceTime(time.Minute))
	ended := w.pay(t, charge("txn", in))
	require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, ended)
	require.NoError(t, w.rail.Start(t.Context())) // it is sent again, so that its nonce is used
	require.Equal(t, rail.Pending, w.pay(t, charge("txn_2", in)).Status)
	require.Eventually(t, func() bool {
		w.commit(t, 1)
		outcome, err := w.rail.Lookup(t.Context(), "txn_2")
		return err == nil && outcome.Status == rail.Succeeded
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, dollar, w.moved(t), "the second alone")
}

// TestRevokedOnTheContract checks that the watcher reports a revocation until the report
// is taken, and continues after a restart.
func TestRevokedOnTheContract(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	fail := errors.New("not now")
	failing := 2
	inner := w.config.OnRevoked
	w.config.OnRevoked = func(ctx context.Context, r chain.Revocation) error {
		if failing > 0 {
			failing--
			return fail
		}
		return inner(ctx, r)
	}
	w.restart(t)
	in, other := w.connect(t, "1", chain.MethodWallet), w.connect(t, "2", chain.MethodWallet)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	owner := ownerOf(t, in)
	router := contracts.NewMandateRouter()
	require.EqualValues(t, 1, w.mined(t, w.send(t, owner, w.chain.Router(), router.PackRevoke(common.HexToHash(in.Method)))).Status)
	require.NoError(t, w.rail.Start(t.Context()))
	seen := func() []chain.Revocation {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.revoked
	}
	require.Eventually(t, func() bool { return len(seen()) == 1 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, in.Method, seen()[0].Method())
	require.Equal(t, "del_1", seen()[0].MandateID)
	require.Equal(t, owner.Address, seen()[0].By)
	require.Equal(t, rail.Refused, w.pay(t, charge("txn_2", in)).Status)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn_3", other)).Status)
	w.restart(t)
	require.NoError(t, w.rail.Start(t.Context()))
	require.NoError(t, w.rail.Disconnect(t.Context(), other))
	require.NoError(t, w.rail.Disconnect(t.Context(), other))
	require.Eventually(t, func() bool { return len(seen()) == 2 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, other.Method, seen()[1].Method(), "the first is not told again after a restart")
	require.Equal(t, w.rail.Relayer(), seen()[1].By)
}

// TestWalletSigns connects and charges a wallet whose key the rail never has.
func TestWalletSigns(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, nil)
		owner := devchain.Wallets()[4]
		terms := chain.Terms{MaxPerCharge: 2 * dollar, MaxPerMonth: 3 * dollar, ExpiresAt: time.Now().AddDate(0, 5, 0)}
		p, err := w.rail.Prepare(t.Context(), owner.Address, terms)
		require.NoError(t, err)
		_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "early", Method: "wallet:" + p.GrantID.Hex()})
		require.ErrorIs(t, err, rail.ErrUnknownMethod, "nobody has signed")
		sign := func(typed []byte) []byte {
			s, err := crypto.Sign(hashTyped(t, typed), owner.Key())
			require.NoError(t, err)
			s[64] += 27
			return s
		}
		method, err := w.rail.Consent(t.Context(), p.GrantID, chain.Consent{
			Signature: sign(p.Grant), Permit: &chain.PermitConsent{Value: p.PermitValue, Deadline: p.PermitDeadline, Signature: sign(p.Permit)},
		})
		require.NoError(t, err)
		_, err = w.rail.Consent(t.Context(), p.GrantID, chain.Consent{Signature: sign(p.Grant)})
		require.ErrorIs(t, err, chain.ErrNoProposal, "once")
		ether, err := w.chain.Client().BalanceAt(t.Context(), owner.Address, nil)
		require.NoError(t, err)
		in := w.connect(t, "setup", method)
		require.Equal(t, owner.Address.Hex(), in.Customer)
		require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
		after, err := w.chain.Client().BalanceAt(t.Context(), owner.Address, nil)
		require.NoError(t, err)
		require.Equal(t, ether, after, "no gas")
		c := charge("txn_2", in)
		c.Amount = 2*dollar + 1
		require.Equal(t, rail.AllowanceMissing, w.pay(t, c).Reason)
	})
}

func TestWalletThatSignsWrongIsRefused(t *testing.T) {
	t.Parallel()
	onEachForm(t, func(t *testing.T, genesis types.GenesisAlloc) {
		w := setup(t, devchain.Config{Genesis: genesis}, nil)
		owner := devchain.Wallets()[4]
		terms := chain.Terms{MaxPerCharge: 2 * dollar, MaxPerMonth: 3 * dollar, ExpiresAt: time.Now().AddDate(0, 5, 0)}
		for name, key := range map[string]devchain.Wallet{"permit by another": devchain.Wallets()[5]} {
			p, err := w.rail.Prepare(t.Context(), owner.Address, terms)
			require.NoError(t, err)
			grant, err := crypto.Sign(hashTyped(t, p.Grant), owner.Key())
			require.NoError(t, err)
			grant[64] += 27
			permit, err := crypto.Sign(hashTyped(t, p.Permit), key.Key())
			require.NoError(t, err)
			permit[64] += 27
			method, err := w.rail.Consent(t.Context(), p.GrantID, chain.Consent{
				Signature: grant, Permit: &chain.PermitConsent{Value: p.PermitValue, Deadline: p.PermitDeadline, Signature: permit},
			})
			require.NoError(t, err)
			var refused *rail.RefusedError
			_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: name, Method: method})
			require.ErrorAs(t, err, &refused)
			require.Equal(t, rail.AllowanceMissing, refused.Reason)
		}
		_, err := w.rail.Consent(t.Context(), common.Hash{1}, chain.Consent{})
		require.ErrorIs(t, err, chain.ErrNoProposal)
		_, err = w.rail.Consent(t.Context(), common.Hash{1}, chain.Consent{Permit: &chain.PermitConsent{}})
		require.ErrorIs(t, err, evm.ErrSignature)
		for _, bad := range []chain.Terms{
			{},
			{MaxPerCharge: 2, MaxPerMonth: 1, ExpiresAt: terms.ExpiresAt},
			{MaxPerCharge: 1, MaxPerMonth: 1, ExpiresAt: time.Unix(1, 0)},
			{MaxPerCharge: 1, MaxPerMonth: 1, ExpiresAt: terms.ExpiresAt, Payees: make([]common.Address, 33)},
		} {
			_, err := w.rail.Prepare(t.Context(), owner.Address, bad)
			require.ErrorIs(t, err, chain.ErrTerms)
		}
	})
}

func TestSandboxConsentHasTheMandatesTerms(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	terms := chain.Terms{MaxPerCharge: dollar, MaxPerMonth: dollar, ExpiresAt: time.Now().AddDate(1, 0, 0)}
	method, err := w.rail.SandboxConsent(t.Context(), chain.MethodWallet, terms)
	require.NoError(t, err)
	in := w.connect(t, "setup", method)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", in)).Status)
	require.Equal(t, rail.AllowanceMissing, w.pay(t, charge("txn_2", in)).Reason, "the month's cap")
	_, err = w.rail.SandboxConsent(t.Context(), "card_visa", terms)
	require.ErrorIs(t, err, rail.ErrUnknownMethod)
}

func TestStartOnAnotherChain(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.ChainID = 8453 })
	require.ErrorContains(t, w.rail.Start(t.Context()), "id is 84532, not 8453")
}

func TestConfigNamesItsFields(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	for field, change := range map[string]func(*chain.Config){
		"RPC":       func(c *chain.Config) { c.RPC = nil },
		"ChainID":   func(c *chain.Config) { c.ChainID = 0 },
		"Router":    func(c *chain.Config) { c.Router = common.Address{} },
		"Token":     func(c *chain.Config) { c.Token.Name = "" },
		"Store":     func(c *chain.Config) { c.Store = nil },
		"Vault":     func(c *chain.Config) { c.Vault = nil },
		"Relayer":   func(c *chain.Config) { c.Relayer = nil },
		"durations": func(c *chain.Config) { c.Wait = -1 },
	} {
		config := w.config
		if field != "Store" {
			config.Store = noStore{}
		}
		change(&config)
		_, err := chain.New(config)
		require.ErrorContains(t, err, field)
	}
}

type noStore struct{ chain.Store }
