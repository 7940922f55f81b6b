package chain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
)

// signed returns a wallet's signatures of messages; bare writes v as 0 or 1.
func signed(t *testing.T, by devchain.Wallet, bare bool, messages ...json.RawMessage) (all []string) {
	t.Helper()
	for _, m := range messages {
		signature, err := crypto.Sign(hashTyped(t, m), by.Key())
		require.NoError(t, err)
		if !bare {
			signature[64] += 27
		}
		all = append(all, hexutil.Encode(signature))
	}
	return all
}

func someLimits() rail.Limits {
	return rail.Limits{MaxPerCharge: 2 * dollar, MaxPerMonth: 3 * dollar, ExpiresAt: time.Now().AddDate(0, 5, 0), PayTo: []string{payTo()}}
}

// A wallet signs what it is given, and is charged within that; what it signed serves
// one mandate's connection alone, though its id is on the chain for all to read.
func TestWalletOfAPerson(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	owner, limits := devchain.Wallets()[4], someLimits()
	for _, bare := range []bool{false, true} {
		p, err := w.rail.Propose(t.Context(), owner.Address.Hex(), limits)
		require.NoError(t, err)
		method, err := w.rail.Accept(t.Context(), p.ID, limits, signed(t, owner, bare, p.Messages...))
		require.NoError(t, err)
		again, err := w.rail.Accept(t.Context(), p.ID, limits, signed(t, owner, !bare, p.Messages...))
		require.NoError(t, err)
		require.Equal(t, method, again)

		in, err := w.rail.Connect(t.Context(), rail.Connection{Reference: "mine " + p.ID, Method: method, Limits: limits})
		require.NoError(t, err)
		require.Equal(t, owner.Address.Hex(), in.Customer)
		_, err = w.rail.Connect(t.Context(), rail.Connection{Reference: "thief " + p.ID, Method: method, Limits: limits})
		require.ErrorIs(t, err, rail.ErrUnknownMethod)

		c := charge("txn "+p.ID, in)
		c.MandateID = "del " + p.ID
		require.Equal(t, rail.Succeeded, w.pay(t, c).Status)
		call, ok := w.rail.RevokeCall(in)
		require.True(t, ok)
		data, err := hexutil.Decode(call.Data)
		require.NoError(t, err)
		require.Equal(t, w.chain.Router().Hex(), call.To)
		require.EqualValues(t, 1, w.mined(t, w.send(t, owner, w.chain.Router(), data)).Status)
		c.Reference += " after"
		require.Equal(t, rail.Unavailable, w.pay(t, c).Reason)
	}
}

func TestWalletOfAPersonIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, devchain.Config{}, nil)
	owner, limits := devchain.Wallets()[4], someLimits()
	refusal := func(of string, l rail.Limits) rail.Reason {
		var refused *rail.RefusedError
		_, err := w.rail.Propose(t.Context(), of, l)
		require.ErrorAs(t, err, &refused)
		return refused.Reason
	}
	require.Equal(t, rail.InsufficientFunds, refusal(devchain.EmptyWallet().Address.Hex(), limits))
	nobody := limits
	nobody.PayTo = nil
	require.Equal(t, rail.Unavailable, refusal(owner.Address.Hex(), nobody))
	past := limits
	past.ExpiresAt = time.Unix(1, 0)
	require.Equal(t, rail.Unavailable, refusal(owner.Address.Hex(), past))
	for _, bad := range []string{"", "0x", "0x0000000000000000000000000000000000000000", owner.Address.Hex()[2:], owner.Address.Hex() + "00"} {
		_, err := w.rail.Propose(t.Context(), bad, limits)
		require.ErrorIs(t, err, rail.ErrUnknownMethod, bad)
	}

	p, err := w.rail.Propose(t.Context(), owner.Address.Hex(), limits)
	require.NoError(t, err)
	good, other := signed(t, owner, false, p.Messages...), signed(t, devchain.Wallets()[5], false, p.Messages...)
	for name, signatures := range map[string][]string{
		"another's grant": {other[0], good[1]}, "another's permit": {good[0], other[1]}, "swapped": {good[1], good[0]},
		"short": {good[0][:100], good[1]}, "no hexadecimal": {"0xzz", good[1]}, "empty": {"", ""},
	} {
		_, err := w.rail.Accept(t.Context(), p.ID, limits, signatures)
		require.ErrorIs(t, err, rail.ErrSignature, name)
	}
	for name, change := range map[string]func(*rail.Limits){
		"a dearer charge": func(l *rail.Limits) { l.MaxPerCharge++ },
		"a dearer month":  func(l *rail.Limits) { l.MaxPerMonth++ },
		"a later end":     func(l *rail.Limits) { l.ExpiresAt = l.ExpiresAt.Add(time.Second) },
		"anybody":         func(l *rail.Limits) { l.AnyPayee = true },
		"somebody else":   func(l *rail.Limits) { l.PayTo = []string{devchain.Payee(1).Address.Hex()} },
	} {
		changed := limits
		change(&changed)
		_, err := w.rail.Accept(t.Context(), p.ID, changed, good)
		require.ErrorIs(t, err, rail.ErrNoProposal, name)
	}
	for _, id := range []string{"", "0x", p.ID[:64], "0x" + p.ID} {
		_, err := w.rail.Accept(t.Context(), id, limits, good)
		require.ErrorIs(t, err, rail.ErrNoProposal, id)
	}
	_, err = w.rail.Accept(t.Context(), p.ID, limits, good[:1])
	require.ErrorIs(t, err, rail.ErrNoProposal)
	_, err = w.rail.Accept(t.Context(), p.ID, limits, good)
	require.NoError(t, err)
	_, ok := w.rail.RevokeCall(rail.Instrument{Rail: rail.Card, Method: p.ID})
	require.False(t, ok)
}
