package card_test

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	require.NoError(t, os.WriteFile(garbage, []byte("this is no database, whatever it is called, and long enough to tell"), 0o600))
	later := filepath.Join(dir, "later")
	db, err := sql.Open("sqlite", later)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "PRAGMA user_version = 99")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for name, config := range map[string]card.ProcessorConfig{
		"no path":              {},
		"no folder":            {Path: filepath.Join(dir, "missing", "card.db")},
		"a folder":             {Path: dir},
		"no database":          {Path: garbage},
		"a later schema":       {Path: later},
		"negative slow answer": {Path: filepath.Join(dir, "a"), SlowAnswer: -1},
		"impossible faults":    {Path: filepath.Join(dir, "b"), Faults: card.Faults{LosePercent: 101}},
	} {
		_, err := card.OpenProcessor(t.Context(), config)
		require.Error(t, err, name)
	}
}

func TestFileIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "we?ird %20 #name.db")
	p := open(t, card.ProcessorConfig{Path: path})
	connect(t, newRail(t, p), "card_visa")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		require.Contains(t, entry.Name(), "we?ird %20 #name.db")
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, entry.Name())
	}
}

func TestManyOpenOneFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "card.db")
	processors, errs := make([]*card.Processor, 6), make([]error, 6)
	var group sync.WaitGroup
	for i := range processors {
		group.Go(func() {
			processors[i], errs[i] = card.OpenProcessor(t.Context(), card.ProcessorConfig{Path: path})
		})
	}
	group.Wait()
	for i, p := range processors {
		require.NoError(t, errs[i])
		require.NoError(t, p.Close())
	}
}

func TestFaultsOfOneSeedAreTheSameFaults(t *testing.T) {
	t.Parallel()
	run := func() (errs []bool) {
		p := open(t, card.ProcessorConfig{
			Path:   filepath.Join(t.TempDir(), "card.db"),
			Faults: card.Faults{ErrorPercent: 50},
			Random: rand.NewPCG(1, 2),
		})
		for range 40 {
			_, err := p.Void(t.Context(), "r")
			errs = append(errs, err != nil)
		}
		return errs
	}
	first := run()
	require.Equal(t, first, run())
	require.Contains(t, first, true)
	require.Contains(t, first, false)
}

func TestFaultsCanBeChangedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	require.ErrorIs(t, s.processor.SetFaults(card.Faults{LatencyMillis: -1}), card.ErrInvalid)
	require.NoError(t, s.processor.SetFaults(card.Faults{ErrorPercent: 100}))
	_, err := s.processor.Void(t.Context(), "r")
	require.ErrorIs(t, err, card.ErrUnavailable)
	require.NoError(t, s.processor.SetFaults(card.Faults{}))
	_, err = s.processor.Payment(t.Context(), "r")
	require.ErrorIs(t, err, card.ErrUnknownPayment, "the error came before the work")
	require.NoError(t, s.processor.SetFaults(card.Faults{LosePercent: 100}))
	_, err = s.processor.Void(t.Context(), "r")
	require.ErrorIs(t, err, card.ErrUnavailable)
	require.NoError(t, s.processor.SetFaults(card.Faults{}))
	payment, err := s.processor.Payment(t.Context(), "r")
	require.NoError(t, err, "the answer was lost after the work")
	require.Equal(t, card.Voided, payment.State)
}

func TestLatencyOutlastsItsCaller(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	instrument := connect(t, s.rail, "card_visa")
	r, err := card.New(card.Config{Gateway: s.processor, Timeout: time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, s.processor.SetFaults(card.Faults{LatencyMillis: 60_000}))
	_, err = r.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
	require.Error(t, err)
	require.NoError(t, s.processor.SetFaults(card.Faults{}))
	outcome, err := s.rail.Lookup(t.Context(), "txn_1.fiatrail")
	require.NoError(t, err)
	require.Equal(t, rail.Unseen, outcome.Status)
}

func TestCloseEndsThoseWhoWait(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	require.NoError(t, s.processor.SetFaults(card.Faults{LatencyMillis: 60_000}))
	waiting := make(chan error)
	go func() {
		_, err := s.processor.Void(t.Context(), "r")
		waiting <- err
	}()
	require.NoError(t, s.processor.Close())
	require.ErrorIs(t, <-waiting, card.ErrClosed)
	_, err := s.processor.Payment(t.Context(), "r")
	require.ErrorIs(t, err, card.ErrClosed)
	require.NoError(t, s.processor.Close())
}

func TestCustomersAndMethodsAreMadeOncePerReference(t *testing.T) {
	t.Parallel()
	gateways(t, func(t *testing.T, _ *setup, gateway card.Gateway) {
		asked := card.CustomerParams{Reference: "c1", Email: "payer@example.com"}
		customer, err := gateway.CreateCustomer(t.Context(), asked)
		require.NoError(t, err)
		again, err := gateway.CreateCustomer(t.Context(), asked)
		require.NoError(t, err)
		require.Equal(t, customer, again)
		asked.Email = "other@example.com"
		_, err = gateway.CreateCustomer(t.Context(), asked)
		require.ErrorIs(t, err, card.ErrReferenceReused)
		_, err = gateway.CreateMethod(t.Context(), card.MethodParams{Reference: "m1", Customer: customer.ID, Card: "card_gold"})
		require.ErrorIs(t, err, card.ErrUnknownCard)
		_, err = gateway.CreateMethod(t.Context(), card.MethodParams{Reference: "m1", Customer: "cus_none", Card: "card_visa"})
		require.ErrorIs(t, err, card.ErrUnknownCustomer)
		_, err = gateway.CreateMethod(t.Context(), card.MethodParams{Reference: "m1", Customer: customer.ID, Card: "card_visa"})
		require.NoError(t, err)
		_, err = gateway.CreateMethod(t.Context(), card.MethodParams{Reference: "m1", Customer: customer.ID, Card: "card_slow"})
		require.ErrorIs(t, err, card.ErrReferenceReused)
	})
}
