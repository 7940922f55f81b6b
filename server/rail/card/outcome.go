package card

import (
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// answers checks that a response is about the requested amount.
func answers(payment Payment, cents money.Cents) error {
	if payment.AmountCents != cents && payment.State != Voided {
		return fmt.Errorf("the processor answered about %d cents, asked for %d", payment.AmountCents, cents)
	}
	return nil
}

// outcomeOf returns the outcome of a payment. An unknown state is an error.
func outcomeOf(payment Payment) (rail.Outcome, error) {
	switch payment.State {
	case Captured:
		return rail.Outcome{
			Status: rail.Succeeded, ProcessorID: payment.ID, SettledAt: time.UnixMilli(payment.CapturedAtMillis).UTC(),
		}, nil
	case Declined:
		outcome := refused(reason(payment.Reason))
		outcome.ProcessorID = payment.ID
		return outcome, nil
	case Voided:
		outcome := refused(rail.Unavailable)
		outcome.ProcessorID = payment.ID
		return outcome, nil
	case RequiresCapture:
		if payment.Capture == CaptureManual {
			return rail.Outcome{Status: rail.Held, ProcessorID: payment.ID}, nil
		}
		return rail.Outcome{Status: rail.Pending, ProcessorID: payment.ID}, nil
	default:
		return rail.Outcome{}, fmt.Errorf("the processor answered state %q", payment.State)
	}
}

// outcomeOfRefund returns the outcome of a refund. An unknown state is an error.
func outcomeOfRefund(refund Refund) (rail.Outcome, error) {
	switch refund.State {
	case RefundSucceeded:
		return rail.Outcome{
			Status: rail.Succeeded, ProcessorID: refund.ID, SettledAt: time.UnixMilli(refund.RefundedAtMillis).UTC(),
		}, nil
	case RefundRefused:
		outcome := refused(reason(refund.Reason))
		outcome.ProcessorID = refund.ID
		return outcome, nil
	case RefundPending:
		return rail.Outcome{Status: rail.Pending, ProcessorID: refund.ID}, nil
	default:
		return rail.Outcome{}, fmt.Errorf("the processor answered refund state %q", refund.State)
	}
}

func refused(why rail.Reason) rail.Outcome {
	return rail.Outcome{Status: rail.Refused, Reason: why}
}

// reason converts a processor's reason to one of package rail.
func reason(processors string) rail.Reason {
	switch processors {
	case reasonDeclined:
		return rail.CardDeclined
	case reasonFunds:
		return rail.InsufficientFunds
	case reasonExpired:
		return rail.ExpiredCard
	case reasonNotCaptured, reasonRefunded:
		return rail.Unavailable
	default:
		return rail.ProcessorError
	}
}

// statement shortens a description to what the processor accepts, because a long text must
// not leave a charge without an answer.
func statement(description string) string {
	description = strings.ToValidUTF8(description, "\uFFFD")
	if len(description) <= maxDescription {
		return description
	}
	return strings.ToValidUTF8(description[:maxDescription], "")
}
