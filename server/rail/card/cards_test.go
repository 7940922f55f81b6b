package card_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

func TestCardsAreWellFormedAndDistinct(t *testing.T) {
	t.Parallel()
	names, numbers := map[string]bool{}, map[string]bool{}
	for _, c := range card.TestCards() {
		require.True(t, luhn(c.Number), "%s: %s", c.Name, c.Number)
		require.Equal(t, c.Number[len(c.Number)-4:], c.LastFour)
		require.NotEmpty(t, c.Brand)
		require.NotEmpty(t, c.Summary)
		names[c.Name], numbers[c.Number] = true, true
	}
	require.Len(t, names, len(card.TestCards()))
	require.Len(t, numbers, len(card.TestCards()))
	for _, promised := range []string{
		"card_visa", "card_declined", "card_insufficient_funds", "card_processor_error",
		"card_decline_after_setup", "card_expired", "card_slow", "card_lost_answer",
		"card_capture_refused", "card_refund_refused",
	} {
		require.True(t, names[promised], promised)
	}
	require.Equal(t, "card_visa", card.TestCards()[0].Name, "the one that works comes first")
}

func TestTheDocsListEveryCard(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/errors/README.md")
	require.NoError(t, err)
	for _, c := range card.TestCards() {
		require.Contains(t, string(page), fmt.Sprintf("| `%s` | %s: %s |\n", c.Name, c.Number, c.Summary))
	}
}

func TestTheListOfCardsIsACopy(t *testing.T) {
	t.Parallel()
	card.TestCards()[0].Name = "changed"
	require.Equal(t, "card_visa", card.TestCards()[0].Name)
}

// luhn is the checksum of card numbers.
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		digit := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if digit *= 2; digit > 9 {
				digit -= 9
			}
		}
		sum += digit
	}
	return sum%10 == 0
}

func TestCardsThatRefuseEveryCharge(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]rail.Reason{
		"card_insufficient_funds":  rail.InsufficientFunds,
		"card_processor_error":     rail.ProcessorError,
		"card_decline_after_setup": rail.CardDeclined,
		"card_expired":             rail.ExpiredCard,
		"card_capture_refused":     rail.CardDeclined,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			instrument := connect(t, s.rail, name)
			require.Equal(t, "Visa", instrument.Brand)
			outcome, err := s.rail.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
			require.NoError(t, err)
			require.Equal(t, rail.Refused, outcome.Status)
			require.Equal(t, why, outcome.Reason)
			require.Zero(t, movedCents(t, s.processor))
			if name == "card_capture_refused" {
				return
			}
			outcome, err = s.rail.Authorize(t.Context(), charge("txn_2.fiatrail", instrument))
			require.NoError(t, err)
			require.Equal(t, rail.Refused, outcome.Status)
			require.Equal(t, why, outcome.Reason)
		})
	}
}

func TestDeclinedCardDoesNotConnect(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	_, err := s.rail.Connect(t.Context(), rail.Connection{Reference: "c1", Method: "card_declined"})
	var refused *rail.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, rail.CardDeclined, refused.Reason)
}

func TestVisaWorks(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	instrument := connect(t, s.rail, "card_visa")
	require.Equal(t, "Visa", instrument.Brand)
	require.Equal(t, "4242", instrument.LastFour)
	outcome, err := s.rail.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
	require.Equal(t, s.clock.Now().UTC(), outcome.SettledAt, "by the processor's clock")
	require.NotEmpty(t, outcome.ProcessorID)
	require.EqualValues(t, 100, movedCents(t, s.processor))
}

// gateways runs a test in process and over HTTP.
func gateways(t *testing.T, test func(t *testing.T, s *setup, gateway card.Gateway)) {
	t.Helper()
	t.Run("in process", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t)
		test(t, s, s.processor)
	})
	t.Run("over HTTP", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t)
		test(t, s, serve(t, s.processor.Handler(), ""))
	})
}

func TestSlowCardMovesTheMoneyAndAnswersTooLate(t *testing.T) {
	t.Parallel()
	gateways(t, func(t *testing.T, s *setup, gateway card.Gateway) {
		r, err := card.New(card.Config{Gateway: gateway, Timeout: 300 * time.Millisecond})
		require.NoError(t, err)
		instrument := connect(t, r, "card_slow")
		_, err = r.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 100, movedCents(t, s.processor), "the money has moved")
		outcome, err := r.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
		require.NoError(t, err, "a repeat is answered at once")
		require.Equal(t, rail.Succeeded, outcome.Status)
		require.EqualValues(t, 100, movedCents(t, s.processor))
	})
}

func TestSlowCardAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	patient := open(t, card.ProcessorConfig{Path: s.path, SlowAnswer: time.Millisecond})
	r := newRail(t, patient)
	outcome, err := r.Charge(t.Context(), charge("txn_1.fiatrail", connect(t, r, "card_slow")))
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
}

func TestLostAnswerIsFoundByAskingAgain(t *testing.T) {
	t.Parallel()
	gateways(t, func(t *testing.T, s *setup, gateway card.Gateway) {
		r := newRail(t, gateway)
		instrument := connect(t, r, "card_lost_answer")
		outcome, err := r.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
		require.ErrorIs(t, err, card.ErrUnavailable)
		require.Empty(t, outcome)
		require.EqualValues(t, 100, movedCents(t, s.processor), "the money has moved")
		outcome, err = r.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
		require.NoError(t, err)
		require.Equal(t, rail.Succeeded, outcome.Status)
		found, err := r.Lookup(t.Context(), "txn_1.fiatrail")
		require.NoError(t, err)
		require.Equal(t, outcome, found)
		require.EqualValues(t, 100, movedCents(t, s.processor))
	})
}

func TestMethodsOfferEveryCardByTheNameThatConnectsIt(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	offered := s.rail.Methods()
	require.Len(t, offered, len(card.TestCards()))
	for i, c := range card.TestCards() {
		require.Equal(t, c.Name, offered[i].Name)
		require.Equal(t, c.Number, strings.ReplaceAll(offered[i].Number, " ", ""))
		_, err := s.rail.Connect(t.Context(), rail.Connection{Reference: c.Name, Method: offered[i].Name})
		require.NotErrorIs(t, err, rail.ErrUnknownMethod)
	}
}
