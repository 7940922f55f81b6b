package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// state is what a decision about a charge and its mandate sees.
func (b *bench) state(t *testing.T, c ledger.Charge) (m ledger.Mandate, stored ledger.Charge) {
	t.Helper()
	keys := ledger.Keys{Mandates: []string{c.MandateID}, Charges: []string{c.ID}}
	require.NoError(t, b.store.Update(t.Context(), keys, func(s *ledger.State) (ledger.Effects, error) {
		m, stored = s.Mandates[c.MandateID], s.Charges[c.ID]
		return ledger.Effects{}, nil
	}))
	return m, stored
}

// stateIsWhatIsStored: a decision sees the rows as every reader does, also right after
// they were written, at whatever time.
func stateIsWhatIsStored(t *testing.T, b *bench) {
	terms := b.terms(100*cent, 1000*cent)
	b.clock.set(b.clock.Now().Add(123_456_789 * time.Nanosecond))
	m := b.mandate(t, terms)
	compare := func(c ledger.Charge) {
		t.Helper()
		seen, charge := b.state(t, c)
		stored, err := b.Mandate(t.Context(), m.ID)
		require.NoError(t, err)
		require.Equal(t, stored, seen)
		want, err := b.Charge(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, want, charge)
	}
	plain := b.request(m, cent)
	plain.Metadata, plain.Rails = nil, nil
	reserved, err := b.Reserve(t.Context(), plain)
	require.NoError(t, err)
	compare(reserved.Charge)
	c := b.reserve(t, m, 2*cent)
	compare(c)
	compare(b.settle(t, c, succeeded()))
	_, err = b.Revoke(t.Context(), m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	compare(c)
}

// unsavedIsUnseen: what a transaction did not save, no later one sees.
func unsavedIsUnseen(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	c := b.reserve(t, m, cent)
	before, held := b.state(t, c)
	broken := before
	broken.Windows = []ledger.Window{{Kind: ledger.MonthlyLimit, Cap: int64(1000 * cent), Start: before.Windows[0].Start, Used: int64(500 * cent)}}
	lost := held
	lost.LeaseUntil = time.Time{}
	keys := ledger.Keys{Mandates: []string{m.ID}, Charges: []string{c.ID}}
	for name, end := range map[string]func() (ledger.Effects, error){
		"a decision that fails": func() (ledger.Effects, error) {
			return ledger.Effects{Update: ledger.Rows{Mandates: []ledger.Mandate{broken}, Charges: []ledger.Charge{lost}}}, errors.New("no")
		},
		"a row that exists": func() (ledger.Effects, error) {
			return ledger.Effects{
				Insert: ledger.Rows{Charges: []ledger.Charge{held}},
				Update: ledger.Rows{Mandates: []ledger.Mandate{broken}, Charges: []ledger.Charge{lost}},
			}, nil
		},
		"a panic": func() (ledger.Effects, error) { panic("no") },
	} {
		func() {
			defer func() { _ = recover() }()
			err := b.store.Update(t.Context(), keys, func(s *ledger.State) (ledger.Effects, error) {
				s.Mandates[m.ID], s.Charges[c.ID] = broken, lost
				return end()
			})
			require.Error(t, err, name)
		}()
		after, charge := b.state(t, c)
		require.Equal(t, before, after, name)
		require.Equal(t, held, charge, name)
	}
	b.settle(t, c, succeeded())
	b.sound(t)
}
