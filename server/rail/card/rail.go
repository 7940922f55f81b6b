package card

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Config says how the rail reaches its processor.
type Config struct {
	// Gateway is the processor: a [Processor] or an [HTTP]. Required. The rail does
	// not close it.
	Gateway Gateway
	// Timeout bounds each call of the rail. Zero: ten seconds.
	Timeout time.Duration
	// Logger is told of outcomes that stay unknown. Nil: nobody.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Gateway == nil {
		return errors.New("config: Gateway is required")
	}
	if c.Timeout < 0 {
		return fmt.Errorf("config: Timeout of %s", c.Timeout)
	}
	return nil
}

// Rail moves money by card. It keeps nothing: the processor knows what became of
// each reference.
type Rail struct {
	gateway func(context.Context) (Gateway, error)
	close   func() error
	timeout time.Duration
	logger  *slog.Logger
}

var _ rail.Rail = (*Rail)(nil)

// New returns the rail of a processor; it calls nobody yet. An error where the
// config is incomplete.
func New(config Config) (*Rail, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	r := newRail(func(context.Context) (Gateway, error) { return config.Gateway, nil }, func() error { return nil })
	if config.Timeout > 0 {
		r.timeout = config.Timeout
	}
	if config.Logger != nil {
		r.logger = config.Logger
	}
	return r, nil
}

func newRail(gateway func(context.Context) (Gateway, error), closer func() error) *Rail {
	return &Rail{gateway: gateway, close: closer, timeout: 10 * time.Second, logger: slog.New(slog.DiscardHandler)}
}

// Name is [rail.Card].
func (r *Rail) Name() rail.Name { return rail.Card }

// Close closes what [Sandbox] opened; a gateway that was given stays open. It may
// be called twice.
func (r *Rail) Close() error { return r.close() }

// Connect makes a customer of the reference and connects a test card to it. A
// [rail.RefusedError] where the processor refuses the card, and it stays refused
// under the reference; [rail.ErrUnknownMethod] where there is no such card;
// [rail.ErrReferenceReused] where the reference connected another card or e-mail
// address. After any other error the same call may be made again.
func (r *Rail) Connect(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	method, err := r.connect(ctx, c)
	if err != nil {
		return rail.Instrument{}, r.unknown(ctx, "connect", c.Reference, err)
	}
	if method.State == MethodRefused {
		return rail.Instrument{}, &rail.RefusedError{Reason: reason(method.Reason)}
	}
	return rail.Instrument{
		Rail: rail.Card, Customer: method.Customer, Method: method.ID,
		Brand: method.Brand, LastFour: method.LastFour,
	}, nil
}

func (r *Rail) connect(ctx context.Context, c rail.Connection) (Method, error) {
	gateway, err := r.gateway(ctx)
	if err != nil {
		return Method{}, err
	}
	customer, err := gateway.CreateCustomer(ctx, CustomerParams{Reference: c.Reference, Email: c.Email})
	if err != nil {
		return Method{}, err
	}
	method, err := gateway.CreateMethod(ctx, MethodParams{Reference: c.Reference, Customer: customer.ID, Card: c.Method})
	if err != nil {
		return Method{}, err
	}
	known := method.State == MethodConnected || method.State == MethodRefused
	if !known || method.Reference != c.Reference || method.ID == "" {
		return Method{}, fmt.Errorf("the processor answered about %q in state %q", method.Reference, method.State)
	}
	return method, nil
}

// Charge authorizes and captures by card, at most once for the reference; a
// repeat finishes what was left half done.
//
// Some charges no card can pay: an amount that is not whole cents or not above
// nothing, a payee that is no merchant, an instrument of another rail. They are
// refused as [rail.Unavailable] by their arguments alone: the processor is not
// asked, and Lookup has not seen them. A reference that was given up
// ([Rail.Void]) is refused as [rail.Unavailable] too.
//
// [rail.ErrReferenceReused] where payer, payee, mandate or amount differ from the
// first call's. Any other error leaves the outcome unknown: ctx's, a timeout, a
// broken connection, an answer that is not the processor's.
func (r *Rail) Charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	cents, whole := c.Amount.WholeCents()
	if !whole || cents <= 0 || c.MerchantID == "" || c.Instrument.Rail != rail.Card {
		return refused(rail.Unavailable), nil
	}
	return r.ask(ctx, "charge", c.Reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		payment, err := gateway.Pay(ctx, PaymentParams{
			Reference: c.Reference, Customer: c.Instrument.Customer, Method: c.Instrument.Method,
			Payee: c.MerchantID, Mandate: c.MandateID, AmountCents: cents, Description: statement(c.Description),
		})
		if err != nil {
			return Payment{}, err
		}
		return payment, answers(payment, cents)
	})
}

// Lookup tells what became of a reference; [rail.Unseen] where nothing did. It
// captures a payment that was left authorized: its caller asked for the money to
// move, and would otherwise wait for ever. An error leaves the outcome unknown.
func (r *Rail) Lookup(ctx context.Context, reference string) (rail.Outcome, error) {
	return r.ask(ctx, "look up", reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		payment, err := gateway.Payment(ctx, reference)
		if err == nil && payment.State == RequiresCapture {
			return gateway.Capture(ctx, reference)
		}
		return payment, err
	})
}

// Void gives a reference up: where the money has not moved it never will, even if
// a charge is still on its way, and the outcome is [rail.Refused]. Where it has
// moved the outcome is [rail.Succeeded], unchanged. An error leaves it unknown.
func (r *Rail) Void(ctx context.Context, reference string) (rail.Outcome, error) {
	return r.ask(ctx, "void", reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		return gateway.Void(ctx, reference)
	})
}

// ask makes one call about a payment, within the time limit.
func (r *Rail) ask(ctx context.Context, what, reference string, call func(context.Context, Gateway) (Payment, error)) (rail.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	gateway, err := r.gateway(ctx)
	if err != nil {
		return rail.Outcome{}, r.unknown(ctx, what, reference, err)
	}
	payment, err := call(ctx, gateway)
	if errors.Is(err, ErrUnknownPayment) {
		return rail.Outcome{Status: rail.Unseen}, nil
	}
	if err == nil && payment.Reference != reference {
		err = fmt.Errorf("the processor answered about %q", payment.Reference)
	}
	if err != nil {
		return rail.Outcome{}, r.unknown(ctx, what, reference, err)
	}
	outcome, err := outcomeOf(payment)
	if err != nil {
		return rail.Outcome{}, r.unknown(ctx, what, reference, err)
	}
	return outcome, nil
}

// unknown wraps an error, in the seam's terms where it has one, and logs the
// others: they are what somebody will have to ask about again.
func (r *Rail) unknown(ctx context.Context, what, reference string, err error) error {
	switch {
	case errors.Is(err, ErrReferenceReused):
		err = rail.ErrReferenceReused
	case errors.Is(err, ErrUnknownCard):
		err = rail.ErrUnknownMethod
	default:
		r.logger.WarnContext(ctx, "card processor: outcome unknown",
			slog.String("call", what), slog.String("reference", reference), slog.Any("error", err))
	}
	return fmt.Errorf("%s %s by card: %w", what, reference, err)
}

// answers makes sure that an answer is about the money that was asked for.
func answers(payment Payment, cents money.Cents) error {
	if payment.AmountCents != cents && payment.State != Voided {
		return fmt.Errorf("the processor answered about %d cents, asked for %d", payment.AmountCents, cents)
	}
	return nil
}

// outcomeOf reads a payment. A state that the rail does not know is an error.
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
		return rail.Outcome{Status: rail.Pending, ProcessorID: payment.ID}, nil
	default:
		return rail.Outcome{}, fmt.Errorf("the processor answered state %q", payment.State)
	}
}

func refused(why rail.Reason) rail.Outcome {
	return rail.Outcome{Status: rail.Refused, Reason: why}
}

// reason puts a processor's reason in the seam's terms.
func reason(processors string) rail.Reason {
	switch processors {
	case reasonDeclined:
		return rail.CardDeclined
	case reasonFunds:
		return rail.InsufficientFunds
	case reasonExpired:
		return rail.ExpiredCard
	default:
		return rail.ProcessorError
	}
}

// statement cuts a description to what the processor takes: a text that is too
// long must not leave a charge without an answer.
func statement(description string) string {
	description = strings.ToValidUTF8(description, "\uFFFD")
	if len(description) <= maxDescription {
		return description
	}
	return strings.ToValidUTF8(description[:maxDescription], "")
}
