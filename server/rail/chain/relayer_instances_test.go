package chain_test

import (
	"context"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/postgres"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
	"github.com/paywarrant/paywarrant/x402"
)

// beside starts another instance on the records and the relayer of a world.
func (w *world) beside(t *testing.T, change func(*chain.Config)) *chain.Rail {
	t.Helper()
	store, err := sqlite.Open(t.Context(), w.path)
	require.NoError(t, err)
	return w.instance(t, store, change)
}

func (w *world) instance(t *testing.T, store chain.Store, change func(*chain.Config)) *chain.Rail {
	t.Helper()
	c := w.config
	c.Store = store
	if change != nil {
		change(&c)
	}
	r, err := chain.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// errorsIn counts what is logged as an error.
type errorsIn struct {
	slog.Handler

	n *atomic.Int64
}

func (e errorsIn) Enabled(context.Context, slog.Level) bool { return true }

func (e errorsIn) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		e.n.Add(1)
	}
	return nil
}

// TestInstancesShareARelayer requests the same connections, charges and settlements from
// two instances at once. Each is made once, both return it, and no nonce is lost. Then
// one instance ends, and the other continues alone.
func TestInstancesShareARelayer(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T, *world) func() (chain.Store, error){
		"sqlite": func(t *testing.T, w *world) func() (chain.Store, error) {
			t.Helper()
			return func() (chain.Store, error) { return sqlite.Open(t.Context(), w.path) }
		},
		"postgres": func(t *testing.T, _ *world) func() (chain.Store, error) {
			t.Helper()
			url := pgtest.Schema(t)
			return func() (chain.Store, error) { return postgres.Open(t.Context(), url) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := errorsIn{slog.DiscardHandler, &atomic.Int64{}}
			w := setup(t, devchain.Config{}, func(c *chain.Config) { c.Logger, c.Wait = slog.New(told), time.Minute })
			open := on(t, w)
			f := fleet{world: w}
			for range 2 {
				store, err := open()
				require.NoError(t, err)
				r := w.instance(t, store, nil)
				require.NoError(t, r.Start(t.Context()))
				f.rails = append(f.rails, r)
			}
			f.goOn(t, "together")
			require.NoError(t, f.rails[0].Close())
			f.rails = f.rails[1:]
			f.goOn(t, "alone")
			require.Zero(t, told.n.Load(), "errors were logged")
		})
	}
}

// fleet is several instances on one relayer.
type fleet struct {
	*world

	rails []*chain.Rail
}

// all runs a function for each instance at once, and returns the results.
func all[T any](f fleet, do func(*chain.Rail) (T, error)) (answers []T, errs []error) {
	answers, errs = make([]T, len(f.rails)), make([]error, len(f.rails))
	var running sync.WaitGroup
	for i, r := range f.rails {
		running.Go(func() { answers[i], errs[i] = do(r) })
	}
	running.Wait()
	return answers, errs
}

// goOn connects a wallet, charges and settles, each at every instance at once.
func (f fleet) goOn(t *testing.T, name string) {
	t.Helper()
	in, errs := all(f, func(r *chain.Rail) (rail.Instrument, error) {
		return r.Connect(t.Context(), rail.Connection{Reference: "setup " + name, Method: chain.MethodWallet})
	})
	for i := range in {
		require.NoError(t, errs[i])
		require.Equal(t, in[0], in[i])
	}
	const each = 10
	before := f.moved(t)
	var running sync.WaitGroup
	for i := range each {
		running.Go(func() { f.chargeAtAll(t, charge(name+string(rune('a'+i)), in[0])) })
		e := f.authorize(t, devchain.Wallets()[i])
		running.Go(func() { f.settleAtAll(t, e) })
	}
	running.Wait()
	require.Equal(t, before+2*each*dollar, f.moved(t))
}

func (f fleet) chargeAtAll(t *testing.T, c rail.Charge) {
	outcomes, errs := all(f, func(r *chain.Rail) (rail.Outcome, error) { return r.Charge(t.Context(), c) })
	for i, o := range outcomes {
		if errs[i] != nil || o.Status != rail.Succeeded || o.TxHash != outcomes[0].TxHash {
			t.Errorf("charge %s: %+v, %v", c.Reference, o, errs[i])
		}
	}
}

func (f fleet) settleAtAll(t *testing.T, e x402.Exact) {
	settled, errs := all(f, func(r *chain.Rail) (x402.Settlement, error) {
		return r.SettleOnce(t.Context(), e, rail.SettleRequest{Resource: resource, IdempotencyKey: "a claim"})
	})
	first := 0
	for i, s := range settled {
		if errs[i] != nil || !s.Success || s.Transaction != settled[0].Transaction {
			t.Errorf("settlement: %+v, %v", s, errs[i])
		}
		if !s.Replayed {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d answers were the first", first)
	}
}

// interrupted is a node that runs a function once, before the next call of a kind.
type interrupted struct {
	chain.RPC

	mu    sync.Mutex        // of armed
	armed map[string]func() // by kind
}

// arm sets the function that runs before the next call.
func (n *interrupted) arm(kind string, do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed = map[string]func(){kind: do}
}

func (n *interrupted) interrupt(kind string) {
	n.mu.Lock()
	do := n.armed[kind]
	delete(n.armed, kind)
	n.mu.Unlock()
	if do != nil {
		do()
	}
}

func (n *interrupted) EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error) {
	n.interrupt("estimate")
	return n.RPC.EstimateGas(ctx, call)
}

func (n *interrupted) HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error) {
	if number == nil {
		n.interrupt("newest")
	}
	return n.RPC.HeaderByNumber(ctx, number)
}

// overtaken is an instance that another one overtakes when it is armed.
func overtaken(t *testing.T, dev devchain.Config, change func(*chain.Config)) (w *world, slow *chain.Rail, node *interrupted) {
	t.Helper()
	w = setup(t, dev, change)
	node = &interrupted{RPC: w.chain.Client()}
	slow = w.beside(t, func(c *chain.Config) { c.RPC = node })
	return w, slow, node
}

// TestOvertakenAtConnect has the other instance bring the grant to the chain just before
// this one estimates, so that the router refuses it. The person is not refused.
func TestOvertakenAtConnect(t *testing.T) {
	t.Parallel()
	w, slow, node := overtaken(t, devchain.Config{}, nil)
	c := rail.Connection{Reference: "setup", Method: chain.MethodWallet}
	var first rail.Instrument
	node.arm("estimate", func() { first = w.connect(t, c.Reference, c.Method) })
	second, err := slow.Connect(t.Context(), c)
	require.NoError(t, err)
	require.NotEmpty(t, first.Method)
	require.Equal(t, first, second)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", second)).Status, "its key is not destroyed")
}

// TestOvertakenBeforeTheOtherHasEnded is the same, but the other instance has only
// broadcast the grant, and not seen that it landed.
func TestOvertakenBeforeTheOtherHasEnded(t *testing.T) {
	t.Parallel()
	w, slow, node := overtaken(t, devchain.Config{Manual: true}, nil)
	idle := w.beside(t, func(c *chain.Config) { c.Poll = time.Hour }) // once it has broadcast
	c := rail.Connection{Reference: "setup", Method: chain.MethodWallet}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	node.arm("estimate", func() {
		before, err := w.chain.Client().PendingNonceAt(t.Context(), w.rail.Relayer())
		require.NoError(t, err)
		go func() {
			_, err := idle.Connect(ctx, c)
			ended <- err
		}()
		require.Eventually(t, func() bool {
			now, err := w.chain.Client().PendingNonceAt(t.Context(), w.rail.Relayer())
			return err == nil && now > before
		}, time.Minute, time.Millisecond)
		w.commit(t, 1)
	})
	in, err := slow.Connect(t.Context(), c)
	require.NoError(t, err)
	stop()
	if err := <-ended; err != nil { // it may have looked once more in time
		require.ErrorIs(t, err, context.Canceled)
	}
	again, err := idle.Connect(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, in, again)
}

// TestChargeOfLostRecordsIsNotRefused repeats a charge that the router has made, with an
// old copy of the records. A refusal would let another rail charge it once more.
func TestChargeOfLostRecordsIsNotRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, func(c *chain.Config) { everything(c); c.Confirmations, c.Wait = 1, time.Minute })
	c := charge("txn", w.connect(t, "setup", chain.MethodWallet))
	c.Amount = devchain.WalletMicros
	require.NoError(t, w.rail.Close())
	text, err := os.ReadFile(w.path)
	require.NoError(t, err)
	w.open(t)
	require.Equal(t, rail.Succeeded, w.pay(t, c).Status)
	w.path = filepath.Join(t.TempDir(), "old.db")
	require.NoError(t, os.WriteFile(w.path, text, 0o600))
	_, err = w.beside(t, nil).Charge(t.Context(), c)
	require.ErrorContains(t, err, "there is no record of it")
	other := c
	other.Reference = "other"
	require.Equal(t, rail.InsufficientFunds, w.pay(t, other).Reason, "one that was never made is refused")
}

// mute is a node that takes transactions and does not broadcast them.
type mute struct{ chain.RPC }

func (mute) SendTransaction(context.Context, *types.Transaction) error { return nil }

// TestWhatOneInstanceStoredAnotherSends checks that another instance sends a transaction
// if the first one dies between storing and sending it, and no caller repeats the charge.
func TestWhatOneInstanceStoredAnotherSends(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, impatient)
	in := w.connect(t, "setup", chain.MethodWallet)
	dies := w.beside(t, func(c *chain.Config) { c.RPC = mute{c.RPC} })
	outcome, err := dies.Charge(t.Context(), charge("txn", in))
	require.NoError(t, err)
	require.Equal(t, rail.Pending, outcome.Status)
	require.NoError(t, dies.Close())
	require.NoError(t, w.rail.Start(t.Context()))
	require.Eventually(t, func() bool { return w.moved(t) == dollar }, time.Minute, 10*time.Millisecond)
	require.Equal(t, outcome.TxHash, w.pay(t, charge("txn", in)).TxHash)
}

// everything sets limits that let one charge move all that a wallet has.
func everything(c *chain.Config) {
	impatient(c)
	c.Confirmations = 3
	c.Sandbox.Terms = chain.Terms{MaxPerCharge: devchain.WalletMicros, MaxPerMonth: devchain.WalletMicros, ExpiresAt: time.Now().Add(240 * time.Hour)}
}

// TestOvertakenAtCharge has the other instance charge all that the wallet has just before
// this one reads the balance for the same charge. The charge is not refused, neither at
// the first broadcast nor after a lost nonce.
func TestOvertakenAtCharge(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"first broadcast": false, "nonce lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, slow, node := overtaken(t, devchain.Config{Manual: true}, everything)
			w.commit(t, 3)
			c := charge("txn", w.connectManually(t, "setup", chain.MethodWallet))
			c.Amount = devchain.WalletMicros
			if lost {
				require.Equal(t, rail.Pending, w.pay(t, c).Status)
				w.chain.Forget()
				w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil) // the same nonce
				w.commit(t, 3)
			}
			overtook := false
			node.arm("newest", func() {
				require.Equal(t, rail.Pending, w.pay(t, c).Status)
				w.commit(t, 1)
				require.EqualValues(t, devchain.WalletMicros, w.moved(t))
				overtook = true
			})
			outcome, err := slow.Charge(t.Context(), c)
			require.NoError(t, err)
			require.True(t, overtook)
			require.Equal(t, rail.Pending, outcome.Status, outcome.Reason)
			w.commit(t, 3)
			outcome, err = slow.Charge(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, rail.Succeeded, outcome.Status)
			require.EqualValues(t, devchain.WalletMicros, w.moved(t))
		})
	}
}

// TestOvertakenAtSettlement is the same for a signed transfer.
func TestOvertakenAtSettlement(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"first broadcast": false, "nonce lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, slow, node := overtaken(t, devchain.Config{Manual: true}, everything)
			w.commit(t, 3)
			e := w.authorize(t, devchain.Wallets()[0])
			if lost {
				require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
				w.chain.Forget()
				w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil) // the same nonce
				w.commit(t, 3)
			}
			overtook := false
			node.arm("newest", func() {
				require.Equal(t, x402.ReasonPending, w.settle(t, e).ErrorReason)
				w.commit(t, 1)
				require.Equal(t, dollar, w.moved(t))
				overtook = true
			})
			s, err := slow.SettleAuthorization(t.Context(), e, resource)
			require.NoError(t, err)
			require.True(t, overtook)
			require.Equal(t, x402.ReasonPending, s.ErrorReason, s.ErrorMessage)
			w.commit(t, 3)
			s, err = slow.SettleAuthorization(t.Context(), e, resource)
			require.NoError(t, err)
			require.True(t, s.Success && !s.Replayed)
			require.Equal(t, dollar, w.moved(t))
		})
	}
}

// TestAnotherProgramOnTheRelayersKeyIsLogged checks the alarm for transactions that the
// records do not have.
func TestAnotherProgramOnTheRelayersKeyIsLogged(t *testing.T) {
	t.Parallel()
	told := errorsIn{slog.DiscardHandler, &atomic.Int64{}}
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.Logger = slog.New(told) })
	require.NoError(t, w.rail.Start(t.Context()))
	w.connect(t, "setup", chain.MethodWallet)
	require.Zero(t, told.n.Load())
	hash := w.send(t, devchain.Relayer(), devchain.Payee(7).Address, nil)
	w.mined(t, hash)
	require.Eventually(t, func() bool { return told.n.Load() == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("txn", w.connect(t, "other", chain.MethodWallet))).Status, "it goes on")
}
