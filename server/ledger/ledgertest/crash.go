package ledgertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/id"
	_ "github.com/paywarrant/paywarrant/internal/rapidtest" // fewer checks with the race detector
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// errLost is what a crashing store says in place of the database's answer.
var errLost = errors.New("ledgertest: crashed")

// crashing is a store whose process dies at a commit: before it, so that nothing
// was done, or after it, so that all was done and no caller received the result.
type crashing struct {
	ledger.Store

	at crashPoint // of the next update
}

type crashPoint int

const (
	noCrash crashPoint = iota
	crashBefore
	crashDeciding
	crashAfter
)

func (c *crashing) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	at := c.at
	c.at = noCrash
	switch at {
	case crashBefore:
		return errLost
	case crashDeciding:
		return c.Store.Update(ctx, keys, func(s *ledger.State) (ledger.Effects, error) {
			if _, err := decide(s); err != nil {
				return ledger.Effects{}, err
			}
			return ledger.Effects{}, errLost
		})
	case crashAfter:
		if err := c.Store.Update(ctx, keys, decide); err != nil {
			return err
		}
		return errLost
	}
	return c.Store.Update(ctx, keys, decide)
}

// model is what the ledger should hold of one mandate, whatever happened to the
// processes in between.
type model struct {
	terms   ledger.Terms
	day     ledger.Day               // the latest that a charge counted in
	counted map[string]ledger.Charge // pending or succeeded
	pending map[string]ledger.Charge
	held    map[string]ledger.Charge // authorized
	ended   map[string]ledger.ChargeStatus
	refunds modelRefunds
	revoked bool
}

// used is what the charges that count use of a limit on a day.
func (w *model) used(kind ledger.WindowKind, payee string, d ledger.Day) (sum int64) {
	for _, c := range w.counted {
		same := c.Day.Month() == d.Month()
		switch kind {
		case ledger.DailyLimit, ledger.VelocityLimit:
			same = c.Day == d
		case ledger.TotalLimit:
			same = true
		case ledger.PayeeLimit:
			same = same && c.MerchantID == payee
		}
		switch {
		case !same:
		case kind == ledger.VelocityLimit:
			sum++
		default:
			sum += int64(c.Amount - c.Refunded)
		}
	}
	return sum
}

// refusal is the limit that refuses a charge on a day; empty if none does.
func (w *model) refusal(r ledger.Reserve, d ledger.Day) ledger.RefusalCode {
	switch {
	case w.revoked:
		return ledger.MandateIsRevoked
	case r.Amount > w.terms.MaxPerTx:
		return ledger.PerTxLimit
	}
	for _, kind := range append(slices.Clip(ledger.WindowKinds), ledger.PayeeLimit) {
		more := int64(r.Amount)
		if kind == ledger.VelocityLimit {
			more = 1
		}
		if w.used(kind, r.Payee.ID, d)+more > w.terms.Cap(kind) {
			return kind
		}
	}
	return ""
}

// crashes runs random commands with crashes, reopened databases and a jumping
// clock, against a model. A command whose answer was lost is done again, as the
// service does it, and must come out as if it had been done once.
func crashes(t *testing.T, b *bench) {
	store := &crashing{Store: b.store}
	l, err := ledger.New(ledger.Config{Store: store, Clock: b.clock.Now})
	require.NoError(t, err)
	b.Close()
	b.Ledger = l
	rapid.Check(t, func(rt *rapid.T) {
		want := &model{
			terms: b.limited(), day: ledger.DayOf(b.clock.Now()),
			counted: map[string]ledger.Charge{}, pending: map[string]ledger.Charge{}, held: map[string]ledger.Charge{}, ended: map[string]ledger.ChargeStatus{},
			refunds: modelRefunds{paid: map[string]ledger.Charge{}, pending: map[string]ledger.Refund{}, ended: map[string]ledger.RefundStatus{}},
		}
		want.terms.Payees = []string{ledger.AnyPayee}
		m := b.mandate(rt, want.terms)
		rt.Repeat(map[string]func(*rapid.T){
			"reserve":    func(rt *rapid.T) { b.modelReserve(rt, store, want, m) },
			"settle":     func(rt *rapid.T) { b.modelSettle(rt, store, want) },
			"capture":    func(rt *rapid.T) { b.modelCapture(rt, store, want) },
			"void":       func(rt *rapid.T) { b.modelVoid(rt, store, want) },
			"refund":     func(rt *rapid.T) { b.modelRefund(rt, store, want) },
			"give back":  func(rt *rapid.T) { b.modelSettleRefund(rt, store, want) },
			"revoke":     func(rt *rapid.T) { b.modelRevoke(rt, store, want, m) },
			"reopen":     func(rt *rapid.T) { b.reopen(rt, store) },
			"clock":      func(rt *rapid.T) { b.jump(rt) },
			"take over":  func(rt *rapid.T) { b.modelLease(rt, want) },
			"":           func(rt *rapid.T) { b.compare(rt, want, m) },
			"reserve 2":  func(rt *rapid.T) { b.modelReserve(rt, store, want, m) }, // charges are most of what happens
			"settle too": func(rt *rapid.T) { b.modelSettle(rt, store, want) },
		})
	})
	b.sound(t)
}

// draws picks where the next commit crashes, mostly nowhere.
func draws(rt *rapid.T) crashPoint {
	return rapid.SampledFrom([]crashPoint{noCrash, noCrash, noCrash, crashBefore, crashDeciding, crashAfter}).Draw(rt, "crash")
}

// again does a command until its answer was heard.
func again(rt *rapid.T, store *crashing, command func() error) error {
	store.at = draws(rt)
	err := command()
	if errors.Is(err, errLost) {
		err = command()
	}
	return err
}

func (b *bench) modelReserve(rt *rapid.T, store *crashing, want *model, m ledger.Mandate) {
	r := b.request(m, ledger.Micros(rapid.Int64Range(1, int64(120*cent)).Draw(rt, "amount")))
	if rapid.Bool().Draw(rt, "another payee") {
		r.Payee = ledger.WalletPayee("0x00000000000000000000000000000000000000b1")
	}
	if rapid.Bool().Draw(rt, "hold") {
		r.Hold, r.Kind = ledger.MaxHold, ledger.AuthorizeKey
	}
	day := max(ledger.DayOf(b.clock.Now()), want.day)
	expected := want.refusal(r, day)
	var got ledger.Reservation
	err := again(rt, store, func() (err error) {
		got, err = b.Reserve(context.Background(), r)
		return err
	})
	var refusal *ledger.Refusal
	if expected != "" {
		require.ErrorAs(rt, err, &refusal)
		require.Equal(rt, expected, refusal.Code)
		return
	}
	require.NoError(rt, err)
	want.day = day
	want.counted[r.ChargeID], want.pending[r.ChargeID] = got.Charge, got.Charge
}

// pick draws one of some charges or refunds, if there is one.
func pick[T any](rt *rapid.T, all map[string]T) T {
	if len(all) == 0 {
		rt.Skip("there is none")
	}
	ids := make([]string, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	// Map order is random and ids are new in each run: an index is what can be replayed.
	return all[ids[rapid.IntRange(0, len(ids)-1).Draw(rt, "which")]]
}

// modelCapture captures a part of a held charge, from nothing to all. It is pending then,
// unless its time has passed or its mandate has ended without the card's processor knowing.
func (b *bench) modelCapture(rt *rapid.T, store *crashing, want *model) {
	c := pick(rt, want.held)
	amount := ledger.Micros(rapid.Int64Range(0, int64(c.Authorized)).Draw(rt, "captured"))
	if c.Rail == rail.Card {
		amount -= amount % cent
	}
	r := ledger.Capture{
		ChargeID: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, Amount: amount,
		IdempotencyKey: "capture " + c.ID, Fingerprint: "f", RequestID: "req_1", Lease: time.Minute,
	}
	var got ledger.Captured
	err := again(rt, store, func() (err error) {
		got, err = b.Capture(context.Background(), r)
		return err
	})
	delete(want.held, c.ID)
	var refusal *ledger.Refusal
	switch {
	case c.Rail == rail.Chain && want.revoked:
		require.ErrorAs(rt, err, &refusal)
		require.Equal(rt, ledger.MandateIsRevoked, refusal.Code)
	case errors.Is(err, ledger.ErrIdempotencyInProgress): // the answer of the first was lost
		got.Charge, err = b.Charge(context.Background(), c.ID)
		require.NoError(rt, err)
		fallthrough
	case amount > 0 && b.clock.Now().Before(c.AuthorizedUntil):
		require.NoError(rt, err)
		require.Equal(rt, ledger.ChargePending, got.Charge.Status)
		require.Equal(rt, amount, got.Charge.Amount)
		want.counted[c.ID], want.pending[c.ID] = got.Charge, got.Charge
		return
	default:
		require.NoError(rt, err)
		require.Equal(rt, ledger.ChargeVoided, got.Charge.Status)
	}
	delete(want.counted, c.ID)
	want.ended[c.ID] = ledger.ChargeVoided
}

func (b *bench) modelVoid(rt *rapid.T, store *crashing, want *model) {
	c := pick(rt, want.held)
	require.NoError(rt, again(rt, store, func() error {
		_, err := b.Void(context.Background(), c)
		return err
	}))
	delete(want.held, c.ID)
	delete(want.counted, c.ID)
	want.ended[c.ID] = ledger.ChargeVoided
}

func (b *bench) modelSettle(rt *rapid.T, store *crashing, want *model) {
	c, end := pick(rt, want.pending), succeeded()
	if c.Step == ledger.StepAuthorize {
		end.Outcome = rail.Outcome{Status: rail.Held, ProcessorID: "pay_1"}
		end.Step = c.Step
		end.Rail = rapid.SampledFrom(c.Rails).Draw(rt, "rail")
	}
	if rapid.Bool().Draw(rt, "declined") {
		end = declined()
		delete(want.counted, c.ID)
	}
	var got ledger.Charge
	require.NoError(rt, again(rt, store, func() (err error) {
		got, err = b.Settle(context.Background(), c, end)
		return err
	}))
	delete(want.pending, c.ID)
	if got.Status == ledger.ChargeAuthorized {
		want.held[c.ID] = got
		return
	}
	want.ended[c.ID] = got.Status
	if got.Status == ledger.ChargeSucceeded {
		want.refunds.paid[c.ID] = got
	}
}

func (b *bench) modelRevoke(rt *rapid.T, store *crashing, want *model, m ledger.Mandate) {
	if rapid.IntRange(0, 9).Draw(rt, "really") != 0 {
		rt.Skip("seldom")
	}
	require.NoError(rt, again(rt, store, func() error {
		_, err := b.Revoke(context.Background(), m.ID, ledger.RevokedByUser)
		return err
	}))
	want.revoked = true
}

// modelLease takes over a charge, as an instance does that finds it lapsed.
func (b *bench) modelLease(rt *rapid.T, want *model) {
	c := pick(rt, want.pending)
	stored, err := b.Charge(context.Background(), c.ID)
	require.NoError(rt, err)
	lapsed := !b.clock.Now().Before(stored.LeaseUntil)
	_, taken, err := b.Lease(context.Background(), c, b.clock.Now().Add(time.Minute))
	require.NoError(rt, err)
	require.Equal(rt, lapsed, taken)
}

// reopen ends the process and starts the next one on the same database.
func (b *bench) reopen(rt *rapid.T, store *crashing) {
	b.Close()
	require.NoError(rt, store.Store.Close())
	fresh, err := b.database.Open(context.Background())
	require.NoError(rt, err)
	b.store, store.Store = fresh, fresh
	b.Ledger, err = ledger.New(ledger.Config{Store: store, Clock: b.clock.Now})
	require.NoError(rt, err)
	b.checker = nil
}

// jump moves the clock: a little, over a month's end, or back.
func (b *bench) jump(rt *rapid.T) {
	now := b.clock.Now()
	switch rapid.SampledFrom([]string{"seconds", "day", "month", "back"}).Draw(rt, "jump") {
	case "seconds":
		b.clock.set(now.Add(30 * time.Second))
	case "day":
		b.clock.set(now.AddDate(0, 0, 1))
	case "month":
		b.clock.set(now.AddDate(0, 1, 0))
	case "back":
		b.clock.set(now.Add(-40 * 24 * time.Hour))
	}
}

// compare looks whether database and model agree.
func (b *bench) compare(rt *rapid.T, want *model, m ledger.Mandate) {
	stored, err := b.Mandate(context.Background(), m.ID)
	require.NoError(rt, err)
	for _, w := range stored.Windows {
		require.Equal(rt, want.used(w.Kind, "", want.day), w.At(want.day).Used, w.Kind)
	}
	require.Equal(rt, want.revoked, stored.Status == ledger.MandateRevoked)
	for id, status := range want.ended {
		c, err := b.Charge(context.Background(), id)
		require.NoError(rt, err)
		require.Equal(rt, status, c.Status)
	}
	for id := range want.held {
		c, err := b.Charge(context.Background(), id)
		require.NoError(rt, err)
		require.Equal(rt, ledger.ChargeAuthorized, c.Status)
	}
	for id := range want.pending {
		c, err := b.Charge(context.Background(), id)
		require.NoError(rt, err)
		require.Equal(rt, ledger.ChargePending, c.Status)
	}
	b.compareRefunds(rt, want)
}

// lostAnswer: the commit of a whole batch is done and its result is lost; each
// command, done again, finds what it did.
func lostAnswer(t *testing.T, b *bench) {
	store := &crashing{Store: b.store}
	l, err := ledger.New(ledger.Config{Store: store, Clock: b.clock.Now})
	require.NoError(t, err)
	defer l.Close()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	r := b.request(m, 10*cent)
	store.at = crashAfter
	_, err = l.Reserve(t.Context(), r)
	require.ErrorIs(t, err, errLost)
	r.ChargeID, r.RequestID = id.New(id.Charge, b.clock.Now()), "req_again"
	_, err = l.Reserve(t.Context(), r)
	require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress, "the key shows that it was done")
	require.Equal(t, 10*cent, b.spent(t, m))
	require.Equal(t, 1, b.sound(t).Pending)
}
