package card_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/money"
	_ "github.com/paywarrant/paywarrant/internal/rapidtest" // fewer checks with the race detector
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// believed is what a reference may be, as the model sees it. An unseen one has no
// state, a tombstone no parameters.
type believed struct {
	state    card.State
	params   card.PaymentParams
	captured money.Cents
}

// captures returns b after a capture.
func (b believed) captures(cents money.Cents) believed {
	return believed{card.Captured, b.params, cents}
}

// answers reports whether a payment matches the model.
func (b believed) answers(p card.Payment) bool {
	want := b.params
	want.Reference = p.Reference // a tombstone has nothing else
	return b.state == p.State && want == p.PaymentParams && b.captured == p.CapturedCents
}

// call is one request: the states that it leads through, of which the last one is the
// response; or the error that it must return.
type call func(from believed) (through []believed, refused error)

// model is the processor as it should be: for each reference all that it may be
// after the answers so far. Without faults that is always one thing.
type model struct {
	processor *card.Processor
	open      func() *card.Processor
	payers    []rail.Instrument // by index of modelCards
	may       map[string][]believed
	refunds   map[string]*refunded
	faulty    bool
}

// modelCards are the cards of the payers.
var modelCards = [...]string{"card_visa", "card_expired", "card_lost_answer", "card_capture_refused"}

// The payers that are no card_visa.
const (
	refuses = iota + 1
	losesAnswers
	refusesCaptures
)

// TestProcessorBehavesAsItsModel asks in any order, with faults, restarts and
// changed parameters, and compares every answer and the sum of all movements.
func TestProcessorBehavesAsItsModel(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		var opened []*card.Processor
		defer func() {
			for _, p := range opened {
				require.NoError(rt, p.Close())
			}
		}()
		path, seed := filepath.Join(dir, fmt.Sprintf("%d.db", n)), rapid.Uint64().Draw(rt, "seed")
		m := &model{may: map[string][]believed{}, refunds: map[string]*refunded{}}
		m.open = func() *card.Processor {
			p, err := card.OpenProcessor(context.Background(), card.ProcessorConfig{
				Path: path, Random: rand.NewPCG(seed, uint64(len(opened))),
			})
			require.NoError(rt, err)
			opened = append(opened, p)
			return p
		}
		m.processor = m.open()
		r, err := card.New(card.Config{Gateway: m.processor})
		require.NoError(rt, err)
		for _, name := range modelCards {
			instrument, err := r.Connect(context.Background(), rail.Connection{Reference: "connect-" + name, Method: name})
			require.NoError(rt, err)
			m.payers = append(m.payers, instrument)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"pay": m.pay, "authorize": m.authorize, "void": m.void, "capture": m.capture, "capture held": m.captureHeld,
			"look up": m.lookUp, "refund": m.refund, "look up refund": m.lookUpRefund,
			"faults": m.faults, "restart": m.restart, "": m.check,
		})
		m.settle(rt)
	})
}

func (m *model) reference(t *rapid.T) string {
	reference := fmt.Sprintf("r%d", rapid.IntRange(0, 3).Draw(t, "reference"))
	if m.may[reference] == nil {
		m.may[reference] = []believed{{}}
	}
	return reference
}

func (m *model) pay(t *rapid.T) { m.payOr(t, card.CaptureAtOnce) }

func (m *model) authorize(t *rapid.T) { m.payOr(t, card.CaptureManual) }

func (m *model) payOr(t *rapid.T, mode card.CaptureMode) {
	payer := rapid.SampledFrom([]int{0, 0, 0, refuses, losesAnswers, refusesCaptures}).Draw(t, "payer")
	p := params(charge(m.reference(t), m.payers[payer]))
	p.AmountCents = money.Cents(rapid.SampledFrom([]int{100, 100, 7}).Draw(t, "cents"))
	p.Capture = mode
	got, err := m.processor.Pay(context.Background(), p)
	m.learn(t, p.Reference, payer == losesAnswers, got, err, func(from believed) ([]believed, error) {
		held := believed{card.RequiresCapture, p, 0}
		switch {
		case from.state == "" && payer == refuses:
			return []believed{from, {card.Declined, p, 0}}, nil
		case from.state == "" && mode == card.CaptureManual:
			return []believed{from, held}, nil
		case from.state == "":
			return []believed{from, held, m.captured(held, p.AmountCents)}, nil
		case from.state == card.Voided && from.params == card.PaymentParams{}:
			return []believed{from}, nil
		case from.params != p:
			return []believed{from}, card.ErrReferenceReused
		case from.state == card.RequiresCapture && mode == card.CaptureAtOnce:
			return []believed{from, m.captured(from, p.AmountCents)}, nil
		default:
			return []believed{from}, nil
		}
	})
}

// captured is what a capture makes of a payment that requires it.
func (m *model) captured(from believed, cents money.Cents) believed {
	if from.params.Method == m.payers[refusesCaptures].Method {
		return believed{card.Declined, from.params, 0}
	}
	return from.captures(cents)
}

func (m *model) void(t *rapid.T) {
	reference := m.reference(t)
	got, err := m.processor.Void(context.Background(), reference)
	m.learn(t, reference, false, got, err, func(from believed) ([]believed, error) {
		if from.state == "" || from.state == card.RequiresCapture {
			return []believed{from, {card.Voided, from.params, 0}}, nil
		}
		return []believed{from}, nil
	})
}

func (m *model) capture(t *rapid.T) {
	reference := m.reference(t)
	got, err := m.processor.Capture(context.Background(), reference)
	m.learn(t, reference, false, got, err, func(from believed) ([]believed, error) {
		if from.state == card.RequiresCapture && from.params.Capture == card.CaptureAtOnce {
			return []believed{from, m.captured(from, from.params.AmountCents)}, nil
		}
		return []believed{from}, known(from)
	})
}

func (m *model) captureHeld(t *rapid.T) {
	reference := m.reference(t)
	cents := money.Cents(rapid.SampledFrom([]int{7, 60, 100}).Draw(t, "captured"))
	got, err := m.processor.CaptureHeld(context.Background(), card.CaptureParams{Reference: reference, AmountCents: cents})
	m.learn(t, reference, m.mayLose(reference), got, err, func(from believed) ([]believed, error) {
		switch {
		case from.state == "" || from.state == card.Voided || from.state == card.Declined:
			return []believed{from}, known(from)
		case from.params.Capture == card.CaptureAtOnce || from.state == card.Captured && from.captured != cents:
			return []believed{from}, card.ErrReferenceReused
		case from.state == card.Captured:
			return []believed{from}, nil
		case cents > from.params.AmountCents:
			return []believed{from}, card.ErrAmountTooLarge
		default:
			return []believed{from, m.captured(from, cents)}, nil
		}
	})
}

// mayLose reports whether the payment may be one of the card that loses its answers.
func (m *model) mayLose(reference string) bool {
	return slices.ContainsFunc(m.may[reference], func(b believed) bool {
		return b.params.Method == m.payers[losesAnswers].Method
	})
}

func (m *model) lookUp(t *rapid.T) {
	reference := m.reference(t)
	got, err := m.processor.Payment(context.Background(), reference)
	m.learn(t, reference, false, got, err, unchanged)
}

// unchanged is a call that only reads.
func unchanged(from believed) ([]believed, error) { return []believed{from}, known(from) }

// known returns the error of a call that does not create the payment.
func known(from believed) error {
	if from.state == "" {
		return card.ErrUnknownPayment
	}
	return nil
}

func (m *model) faults(t *rapid.T) {
	f := card.Faults{}
	if m.faulty = rapid.Bool().Draw(t, "faulty"); m.faulty {
		f = card.Faults{ErrorPercent: 15, StopPercent: 30, LosePercent: 15}
	}
	require.NoError(t, m.processor.SetFaults(f))
}

// restart opens the file again; the processor before is closed or, as in a crash,
// left as it is.
func (m *model) restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "farewell") {
		require.NoError(t, m.processor.Close())
	}
	m.processor, m.faulty = m.open(), false
}

// learn compares an answer with what the model allows and narrows the belief. No
// answer widens the model: the work may have reached any of its states.
func (m *model) learn(t *rapid.T, reference string, loses bool, got card.Payment, err error, ask call) {
	if err == nil {
		require.Equal(t, reference, got.Reference)
	}
	var now []believed
	for _, from := range m.may[reference] {
		through, refused := ask(from)
		last := through[len(through)-1]
		switch {
		case errors.Is(err, card.ErrUnavailable):
			require.True(t, m.faulty || loses, "no fault was asked for: %v", err)
			now = append(now, through...)
		case refused != nil && errors.Is(err, refused), refused == nil && err == nil && last.answers(got):
			now = append(now, last)
		}
	}
	require.NotEmpty(t, now, "%s answered %+v, %v; may have been %+v", reference, got, err, m.may[reference])
	unique := map[believed]bool{}
	m.may[reference] = nil
	for _, b := range now {
		if !unique[b] {
			unique[b] = true
			m.may[reference] = append(m.may[reference], b)
		}
	}
}

// check bounds the sums by what may have been captured, held and refunded.
func (m *model) check(t *rapid.T) {
	var captured, held bounds
	for _, may := range m.may {
		moved, waiting := boundsOf(may, func(b believed) money.Cents { return b.captured }), boundsOf(may, believed.held)
		captured, held = captured.plus(moved), held.plus(waiting)
	}
	totals, err := m.processor.Totals(context.Background())
	require.NoError(t, err)
	captured.require(t, totals.CapturedCents, "captured")
	held.require(t, totals.HeldCents, "held")
	m.checkRefunds(t, totals)
}

// held is what the payment holds until it is captured or voided.
func (b believed) held() money.Cents {
	if b.state == card.RequiresCapture && b.params.Capture == card.CaptureManual {
		return b.params.AmountCents
	}
	return 0
}

// settle takes the faults away and looks every reference up: the belief is one
// thing each then, and the sums exact.
func (m *model) settle(t *rapid.T) {
	require.NoError(t, m.processor.SetFaults(card.Faults{}))
	m.faulty = false
	for reference := range m.may {
		got, err := m.processor.Payment(context.Background(), reference)
		m.learn(t, reference, false, got, err, unchanged)
		require.Len(t, m.may[reference], 1)
	}
	m.settleRefunds(t)
	m.check(t)
}

// bounds are the least and the most that a sum may be.
type bounds struct{ least, most money.Cents }

func boundsOf[T any](may []T, amount func(T) money.Cents) bounds {
	b := bounds{least: 1 << 62}
	for _, one := range may {
		b.least, b.most = min(b.least, amount(one)), max(b.most, amount(one))
	}
	return b
}

func (b bounds) plus(other bounds) bounds {
	return bounds{b.least + other.least, b.most + other.most}
}

func (b bounds) require(t *rapid.T, sum money.Cents, what string) {
	require.GreaterOrEqual(t, sum, b.least, what)
	require.LessOrEqual(t, sum, b.most, what)
}
