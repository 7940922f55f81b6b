package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

func idempotency(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	r := b.request(m, 10*cent)
	first, err := b.Reserve(ctx, r)
	require.NoError(t, err)

	repeat := r
	repeat.ChargeID = id.New(id.Charge, b.clock.Now())
	_, err = b.Reserve(ctx, repeat)
	require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress)

	other := repeat
	other.Fingerprint = "another request"
	_, err = b.Reserve(ctx, other)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)

	b.settle(t, first.Charge, succeeded())
	replayed, err := b.Reserve(ctx, repeat)
	require.NoError(t, err)
	require.True(t, replayed.Replayed)
	require.Equal(t, first.Charge.ID, replayed.Charge.ID)
	require.Equal(t, ledger.ChargeSucceeded, replayed.Charge.Status)

	same, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	require.False(t, same.Replayed, "the same command again is one whose answer was lost")

	elsewhere := repeat
	elsewhere.Payee.ID = id.New(id.Merchant, b.clock.Now())
	b.refused(t, elsewhere, ledger.MerchantNotAllowed)
	require.Equal(t, 10*cent, b.spent(t, m))

	lapsed := b.request(m, 10*cent)
	_, err = b.Reserve(ctx, lapsed)
	require.NoError(t, err)
	b.clock.set(b.clock.Now().Add(time.Hour))
	lapsed.ChargeID = id.New(id.Charge, b.clock.Now())
	pending, err := b.Reserve(ctx, lapsed)
	require.NoError(t, err)
	require.True(t, pending.Replayed)
	require.Equal(t, ledger.ChargePending, pending.Charge.Status)
	b.sound(t)
}

// requestKey: a second key is for one request as well, whatever the first one is.
func requestKey(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	r := b.request(m, 10*cent)
	r.RequestKey = b.requestKeyOf(id.NewCapability("key_"))
	first, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	b.settle(t, first.Charge, succeeded())
	repeat := r
	repeat.ChargeID = id.New(id.Charge, b.clock.Now())
	replayed, err := b.Reserve(ctx, repeat)
	require.NoError(t, err)
	require.True(t, replayed.Replayed)

	another := b.request(m, 10*cent)
	another.RequestKey, another.Fingerprint = r.RequestKey, "what is charged is another"
	_, err = b.Reserve(ctx, another)
	require.ErrorIs(t, err, ledger.ErrRequestKeyMismatch)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)
	another.RequestKey, another.IdempotencyKey = b.requestKeyOf(id.NewCapability("key_")), r.IdempotencyKey
	_, err = b.Reserve(ctx, another)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)
	require.NotErrorIs(t, err, ledger.ErrRequestKeyMismatch)

	over := b.request(m, 101*cent)
	over.RequestKey = b.requestKeyOf(id.NewCapability("key_"))
	b.refused(t, over, ledger.PerTxLimit)
	require.True(t, b.refused(t, over, ledger.PerTxLimit).Replayed)
	fits := b.request(m, cent)
	fits.RequestKey = over.RequestKey
	_, err = b.Reserve(ctx, fits)
	require.ErrorIs(t, err, ledger.ErrRequestKeyMismatch, "a refusal is remembered under both")
	b.requestKeyAtOnce(t, m)
	require.Equal(t, 20*cent, b.spent(t, m))
	b.sound(t)
}

func (b *bench) requestKeyOf(key string) ledger.IdempotencyKey {
	return ledger.IdempotencyKey{MerchantID: b.merchant.ID, Kind: ledger.PaywallKey, Key: key}
}

// requestKeyAtOnce: of many charges under one request's key one is made.
func (b *bench) requestKeyAtOnce(t *testing.T, m ledger.Mandate) {
	t.Helper()
	key := b.requestKeyOf(id.NewCapability("key_"))
	made := make(chan error, 16)
	for i := range cap(made) {
		r := b.request(m, 10*cent)
		r.RequestKey, r.Fingerprint = key, fmt.Sprint("challenge ", i)
		go func() {
			_, err := b.Reserve(context.WithoutCancel(t.Context()), r)
			made <- err
		}()
	}
	charged := 0
	for range cap(made) {
		if err := <-made; err == nil {
			charged++
		} else {
			require.ErrorIs(t, err, ledger.ErrRequestKeyMismatch)
		}
	}
	require.Equal(t, 1, charged)
}

func refusalsAreRemembered(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 150*cent))
	held := b.reserve(t, m, 100*cent)
	r := b.request(m, 60*cent)
	first := b.refused(t, r, ledger.MonthlyLimit)
	require.False(t, first.Replayed)
	b.settle(t, held, declined()) // now it would fit
	r.RequestID = "req_2"
	again := b.refused(t, r, ledger.MonthlyLimit)
	require.True(t, again.Replayed)
	again.Replayed = false
	require.Equal(t, first, again)
	r.Fingerprint = "another request"
	_, err := b.Reserve(t.Context(), r)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)

	inactive := b.request(m, cent)
	inactive.Payee.Active = false
	b.refused(t, inactive, ledger.MerchantInactive)
	inactive.Payee.Active = true
	_, err = b.Reserve(t.Context(), inactive)
	require.NoError(t, err, "only refusals by the mandate's rules are remembered")
}

func sessions(t *testing.T, b *bench) {
	ctx := t.Context()
	s := b.session(t, b.terms(100*cent, 1000*cent))
	stored, err := b.Session(ctx, s.Hash)
	require.NoError(t, err)
	stored.SealedToken = nil
	require.Equal(t, s, stored)

	completion := ledger.Completion{SessionHash: s.Hash, MandateID: "del_1", Terms: s.Terms, SealedToken: []byte{1}}
	m, err := b.CompleteSession(ctx, completion)
	require.NoError(t, err)
	kept, err := b.Mandate(ctx, "del_1")
	require.NoError(t, err)
	require.Equal(t, m, kept)
	again, err := b.CompleteSession(ctx, completion)
	require.NoError(t, err)
	require.Equal(t, m, again, "the same command again is one whose answer was lost")
	require.NoError(t, b.CreateSession(ctx, s))
	completion.MandateID = "del_2"
	_, err = b.CompleteSession(ctx, completion)
	require.ErrorIs(t, err, ledger.ErrSessionFinished)
	_, err = b.FailSession(ctx, s.Hash, ledger.SessionDeclined)
	require.ErrorIs(t, err, ledger.ErrSessionFinished)

	refusedOften := b.session(t, s.Terms)
	for i := range ledger.MaxAttempts {
		after, err := b.RefuseAttempt(ctx, refusedOften.Hash)
		require.NoError(t, err)
		require.Equal(t, i == ledger.MaxAttempts-1, after.Status == ledger.SessionFailed)
	}
	_, err = b.RefuseAttempt(ctx, refusedOften.Hash)
	require.ErrorIs(t, err, ledger.ErrSessionFinished)

	late := b.session(t, s.Terms)
	b.clock.set(late.ExpiresAt)
	_, err = b.CompleteSession(ctx, ledger.Completion{SessionHash: late.Hash, MandateID: "del_3", Terms: s.Terms})
	require.ErrorIs(t, err, ledger.ErrSessionFinished)
	require.Equal(t, ledger.SessionExpired, late.At(b.clock.Now()).FailureReason)

	_, err = b.Session(ctx, "none")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.FailSession(ctx, "none", ledger.SessionDeclined)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.Mandate(ctx, "del_2")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	b.sound(t)
}

func sessionsOnlyNarrow(t *testing.T, b *bench) {
	asked := b.limited()
	for name, change := range map[string]func(*ledger.Terms){
		"per payment": func(t *ledger.Terms) { t.MaxPerTx++ },
		"per month":   func(t *ledger.Terms) { t.MaxMonthly++ },
		"per day":     func(t *ledger.Terms) { t.MaxDaily = 0 },
		"in all":      func(t *ledger.Terms) { t.MaxTotal++ },
		"payments":    func(t *ledger.Terms) { t.MaxPaymentsPerDay++ },
		"per payee":   func(t *ledger.Terms) { t.MaxMonthlyPerPayee = 0 },
		"negative":    func(t *ledger.Terms) { t.MaxDaily = -1 },
		"expiry":      func(t *ledger.Terms) { t.ExpiresAt = t.ExpiresAt.Add(time.Second) },
		"payees":      func(t *ledger.Terms) { t.Payees = []string{ledger.AnyPayee} },
		"no payee":    func(t *ledger.Terms) { t.Payees = nil },
		"nothing":     func(t *ledger.Terms) { t.MaxPerTx = 0 },
		"crossed":     func(t *ledger.Terms) { t.MaxMonthly = t.MaxPerTx - 1 },
	} {
		s := b.session(t, asked)
		wide := asked
		change(&wide)
		_, err := b.CompleteSession(t.Context(), ledger.Completion{SessionHash: s.Hash, MandateID: "del_w", Terms: wide})
		require.ErrorIs(t, err, ledger.ErrWidened, name)
	}
}

func listAndStatistics(t *testing.T, b *bench) {
	ctx := t.Context()
	m, other := b.mandate(t, b.terms(100*cent, 10_000*cent)), b.mandate(t, b.terms(100*cent, 10_000*cent))
	var newest []string
	for i := range 25 {
		b.clock.set(b.clock.Now().Add(time.Millisecond))
		of := m
		if i%2 == 0 {
			of = other
		}
		c := b.reserve(t, of, 10*cent)
		end := succeeded()
		if i%5 == 0 {
			end = declined()
		}
		b.settle(t, c, end)
		newest = append([]string{c.ID}, newest...)
	}
	var got []string
	for after := ""; ; {
		page, err := b.Charges(ctx, b.merchant.ID, after, 10)
		require.NoError(t, err)
		for _, c := range page {
			got = append(got, c.ID)
		}
		if len(page) < 10 {
			break
		}
		after = page[9].ID
		b.clock.set(b.clock.Now().Add(time.Millisecond))
		b.reserve(t, m, cent) // new ones do not disturb the pages that follow
	}
	require.Equal(t, newest, got)
	b.mandateStatement(t, m, other)
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, ledger.Stats{Volume: 200 * cent, Count: 20, ActiveMandates: 2}, stats)
	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	stats, err = b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.ActiveMandates)
	stats, err = b.Stats(ctx, b.merchant.ID, other.Terms.ExpiresAt)
	require.NoError(t, err)
	require.Zero(t, stats.ActiveMandates)
	stats, err = b.Stats(ctx, "mer_none", b.clock.Now())
	require.NoError(t, err)
	require.Zero(t, stats)
	b.sound(t)
}

func reopenLedger(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	c := b.reserve(t, m, 10*cent)
	b.Close()
	b.Close()
	_, err := b.Reserve(t.Context(), b.request(m, cent))
	require.ErrorIs(t, err, ledger.ErrClosed)
	l, err := ledger.New(ledger.Config{Store: b.store, Clock: b.clock.Now, Committers: 4})
	require.NoError(t, err)
	b.Ledger = l
	require.Equal(t, ledger.ChargeSucceeded, b.settle(t, c, succeeded()).Status)
	b.sound(t)
}

func cancelled(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Reserve(ctx, b.request(m, cent))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, b.spent(t, m))
}

// mandateStatement checks what the person who confirmed a mandate reads: its own
// charges, newest first, and the sum of those that succeeded.
func (b *bench) mandateStatement(t *testing.T, mandates ...ledger.Mandate) {
	t.Helper()
	ctx := t.Context()
	for _, m := range mandates {
		list, err := b.MandateCharges(ctx, m.ID, 1000)
		require.NoError(t, err)
		require.NotEmpty(t, list)
		var sum ledger.Micros
		for i, c := range list {
			require.Equal(t, m.ID, c.MandateID)
			require.True(t, i == 0 || c.ID < list[i-1].ID, "newest first")
			if c.Status == ledger.ChargeSucceeded {
				sum += c.Amount
			}
		}
		volume, err := b.MandateVolume(ctx, m.ID)
		require.NoError(t, err)
		require.Equal(t, sum, volume)
		latest, err := b.MandateCharges(ctx, m.ID, 3)
		require.NoError(t, err)
		require.Equal(t, list[:3], latest)
	}
	volume, err := b.MandateVolume(ctx, "del_none")
	require.NoError(t, err)
	require.Zero(t, volume)
}
