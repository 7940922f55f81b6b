package card_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// refunded is what the model knows of a refund's reference.
type refunded struct {
	tried []card.RefundParams // one of these may have been accepted, while final is nil
	final *card.Refund        // succeeded or refused
}

func (m *model) refundReference(t *rapid.T) string {
	reference := fmt.Sprintf("f%d", rapid.IntRange(0, 5).Draw(t, "refund"))
	if m.refunds[reference] == nil {
		m.refunds[reference] = &refunded{}
	}
	return reference
}

func (m *model) refund(t *rapid.T) {
	asked := card.RefundParams{
		Reference: m.refundReference(t), Payment: m.reference(t),
		AmountCents: money.Cents(rapid.SampledFrom([]int{7, 40, 60}).Draw(t, "cents")),
	}
	known := m.refunds[asked.Reference]
	want, exact := m.expect(asked)
	got, err := m.processor.Refund(context.Background(), asked)
	switch {
	case errors.Is(err, card.ErrUnavailable):
		require.True(t, m.faulty || m.mayLose(asked.Payment), "no fault was asked for: %v", err)
		if known.final == nil && !slices.Contains(known.tried, asked) {
			known.tried = append(known.tried, asked)
		}
	case errors.Is(err, card.ErrReferenceReused):
		if known.final != nil {
			require.NotEqual(t, known.final.RefundParams, asked)
			return
		}
		known.tried = slices.DeleteFunc(known.tried, func(p card.RefundParams) bool { return p == asked })
		require.NotEmpty(t, known.tried, "nothing else used the reference")
	default:
		require.NoError(t, err)
		require.Equal(t, asked, got.RefundParams)
		if exact {
			require.Equal(t, want, got.State, "payment may be %+v", m.may[asked.Payment])
		}
		m.decide(t, known, got)
	}
}

// expect returns the state that a refund must get, and whether the model knows it: it does if
// it knows the payment and all its refunds.
func (m *model) expect(asked card.RefundParams) (state card.RefundState, exact bool) {
	if known := m.refunds[asked.Reference]; len(m.may[asked.Payment]) != 1 || known.final != nil {
		return "", false
	}
	left := m.may[asked.Payment][0].captured
	for _, other := range m.refunds {
		if other.final == nil && len(other.tried) > 0 {
			return "", false
		}
		if other.final != nil && other.final.Payment == asked.Payment && other.final.State == card.RefundSucceeded {
			left -= other.final.AmountCents
		}
	}
	if asked.AmountCents <= left && m.may[asked.Payment][0].state == card.Captured {
		return card.RefundSucceeded, true
	}
	return card.RefundRefused, true
}

// decide stores a refund that was answered, and compares it with an earlier answer.
func (m *model) decide(t *rapid.T, known *refunded, got card.Refund) {
	if got.State == card.RefundPending {
		require.Nil(t, known.final)
		known.tried = []card.RefundParams{got.RefundParams}
		return
	}
	if known.final != nil {
		require.Equal(t, *known.final, got)
	}
	known.final, known.tried = &got, nil
}

func (m *model) lookUpRefund(t *rapid.T) {
	m.findRefund(t, m.refundReference(t))
}

func (m *model) findRefund(t *rapid.T, reference string) {
	known := m.refunds[reference]
	got, err := m.processor.FindRefund(context.Background(), reference)
	switch {
	case errors.Is(err, card.ErrUnavailable):
		require.True(t, m.faulty)
	case errors.Is(err, card.ErrUnknownRefund):
		require.Nil(t, known.final, "a refund was forgotten")
		known.tried = nil
	default:
		require.NoError(t, err)
		require.Equal(t, reference, got.Reference)
		if known.final == nil {
			require.Contains(t, known.tried, got.RefundParams)
		}
		m.decide(t, known, got)
	}
}

// settleRefunds finishes the pending refunds and compares each payment with its refunds.
func (m *model) settleRefunds(t *rapid.T) {
	sums := map[string]money.Cents{}
	for reference, known := range m.refunds {
		m.findRefund(t, reference)
		if known.final == nil && len(known.tried) == 1 { // it is pending
			got, err := m.processor.Refund(context.Background(), known.tried[0])
			if errors.Is(err, card.ErrUnavailable) && m.mayLose(known.tried[0].Payment) {
				got, err = m.processor.Refund(context.Background(), known.tried[0])
			}
			require.NoError(t, err)
			require.Equal(t, card.RefundSucceeded, got.State, "a refund was accepted and then refused")
			m.decide(t, known, got)
		}
		if known.final != nil && known.final.State == card.RefundSucceeded {
			sums[known.final.Payment] += known.final.AmountCents
		}
	}
	for reference, may := range m.may {
		require.LessOrEqual(t, sums[reference], may[0].captured)
		if may[0].state == "" {
			continue
		}
		payment, err := m.processor.Payment(context.Background(), reference)
		require.NoError(t, err)
		require.Equal(t, sums[reference], payment.RefundedCents)
	}
}

// checkRefunds bounds the sum of the refunds by those that were answered, and by what was
// captured.
func (m *model) checkRefunds(t *rapid.T, totals card.Totals) {
	var sum bounds
	for _, known := range m.refunds {
		switch {
		case known.final == nil:
			sum.most += boundsOf(known.tried, func(p card.RefundParams) money.Cents { return p.AmountCents }).most
		case known.final.State == card.RefundSucceeded:
			sum = sum.plus(bounds{known.final.AmountCents, known.final.AmountCents})
		}
	}
	sum.require(t, totals.RefundedCents, "refunded")
	require.LessOrEqual(t, totals.RefundedCents, totals.CapturedCents)
}
