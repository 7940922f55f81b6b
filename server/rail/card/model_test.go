package card_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
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
	state  card.State
	params card.PaymentParams
}

// answers reports whether a payment matches the model.
func (b believed) answers(p card.Payment) bool {
	want := b.params
	want.Reference = p.Reference // a tombstone has nothing else
	return b.state == p.State && want == p.PaymentParams
}

// call is one thing to ask: the states that it leads through, the last one what
// it answers; or that it must be refused as a reuse.
type call func(from believed) (through []believed, reused bool)

// model is the processor as it should be: for each reference all that it may be
// after the answers so far. Without faults that is always one thing.
type model struct {
	processor *card.Processor
	open      func() *card.Processor
	payers    []rail.Instrument // by index: works, refuses, loses its answer
	may       map[string][]believed
	faulty    bool
}

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
		m := &model{may: map[string][]believed{}}
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
		for _, name := range []string{"card_visa", "card_expired", "card_lost_answer"} {
			instrument, err := r.Connect(context.Background(), rail.Connection{Reference: "connect-" + name, Method: name})
			require.NoError(rt, err)
			m.payers = append(m.payers, instrument)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"pay": m.pay, "void": m.void, "capture": m.capture, "look up": m.lookUp,
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

func (m *model) pay(t *rapid.T) {
	payer := rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "payer")
	p := params(charge(m.reference(t), m.payers[payer]))
	p.AmountCents = money.Cents(rapid.SampledFrom([]int{100, 100, 7}).Draw(t, "cents"))
	got, err := m.processor.Pay(context.Background(), p)
	m.learn(t, p.Reference, payer == 2, got, err, func(from believed) ([]believed, bool) {
		switch {
		case from.state == "" && payer == 1:
			return []believed{from, {card.Declined, p}}, false
		case from.state == "":
			return []believed{from, {card.RequiresCapture, p}, {card.Captured, p}}, false
		case from.state == card.Voided && from.params == card.PaymentParams{}:
			return []believed{from}, false
		case from.params != p:
			return []believed{from}, true
		case from.state == card.RequiresCapture:
			return []believed{from, {card.Captured, p}}, false
		default:
			return []believed{from}, false
		}
	})
}

func (m *model) void(t *rapid.T) {
	reference := m.reference(t)
	got, err := m.processor.Void(context.Background(), reference)
	m.learn(t, reference, false, got, err, func(from believed) ([]believed, bool) {
		if from.state == "" || from.state == card.RequiresCapture {
			return []believed{from, {card.Voided, from.params}}, false
		}
		return []believed{from}, false
	})
}

func (m *model) capture(t *rapid.T) {
	reference := m.reference(t)
	got, err := m.processor.Capture(context.Background(), reference)
	m.learn(t, reference, false, got, err, func(from believed) ([]believed, bool) {
		if from.state == card.RequiresCapture {
			return []believed{from, {card.Captured, from.params}}, false
		}
		return []believed{from}, false
	})
}

func (m *model) lookUp(t *rapid.T) {
	reference := m.reference(t)
	got, err := m.processor.Payment(context.Background(), reference)
	m.learn(t, reference, false, got, err, func(from believed) ([]believed, bool) { return []believed{from}, false })
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
		through, reused := ask(from)
		last := through[len(through)-1]
		switch {
		case errors.Is(err, card.ErrUnavailable):
			require.True(t, m.faulty || loses, "no fault was asked for: %v", err)
			now = append(now, through...)
		case errors.Is(err, card.ErrReferenceReused) && reused,
			errors.Is(err, card.ErrUnknownPayment) && last.state == "" && !reused:
			now = append(now, last)
		case err == nil && !reused && last.answers(got):
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

// check bounds the sum of all movements by what may have been captured.
func (m *model) check(t *rapid.T) {
	var least, most money.Cents
	for _, may := range m.may {
		low, high := money.Cents(1<<62), money.Cents(0)
		for _, b := range may {
			captured := money.Cents(0)
			if b.state == card.Captured {
				captured = b.params.AmountCents
			}
			low, high = min(low, captured), max(high, captured)
		}
		least, most = least+low, most+high
	}
	totals, err := m.processor.Totals(context.Background())
	require.NoError(t, err)
	require.GreaterOrEqual(t, totals.CapturedCents, least)
	require.LessOrEqual(t, totals.CapturedCents, most)
}

// settle takes the faults away and looks every reference up: the belief is one
// thing each then, and the sum exact.
func (m *model) settle(t *rapid.T) {
	require.NoError(t, m.processor.SetFaults(card.Faults{}))
	m.faulty = false
	for reference := range m.may {
		got, err := m.processor.Payment(context.Background(), reference)
		m.learn(t, reference, false, got, err, func(from believed) ([]believed, bool) { return []believed{from}, false })
		require.Len(t, m.may[reference], 1)
	}
	m.check(t)
}
