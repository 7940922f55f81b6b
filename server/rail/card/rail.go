package card

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Config configures [New].
type Config struct {
	// Gateway is the processor: a [Processor] or an [HTTP]. The rail does not close it.
	// Required.
	Gateway Gateway
	// Timeout limits each call of the rail. Default: 10 s.
	Timeout time.Duration
	// Logger records outcomes that remain unknown. Default: none.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Gateway == nil {
		return errors.New("card: Gateway: is required")
	}
	if c.Timeout < 0 {
		return errors.New("card: Timeout: must not be negative")
	}
	return nil
}

// Rail is the card rail. It is stateless: the processor knows the outcome of each
// reference. It is safe for concurrent use.
type Rail struct {
	gateway func(context.Context) (Gateway, error)
	close   func() error
	timeout time.Duration
	logger  *slog.Logger

	useClock func(now func() time.Time) // nil: the processor has a clock of its own
}

var (
	_ rail.Timed      = (*Rail)(nil)
	_ rail.Rail       = (*Rail)(nil)
	_ rail.Authorizer = (*Rail)(nil)
	_ rail.Refunder   = (*Rail)(nil)
)

// New returns the rail of a processor. It performs no I/O. The returned error names the
// invalid field.
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

// Name returns [rail.Card].
func (r *Rail) Name() rail.Name { return rail.Card }

// Close closes the processor that [Sandbox] opened. It does not close Config.Gateway. It may
// be called twice.
func (r *Rail) Close() error { return r.close() }

// Connect creates a customer for the reference and connects a test card to it. It returns a
// [rail.RefusedError] if the processor refuses the card, which stays refused under the
// reference; [rail.ErrUnknownMethod] if there is no such card; and
// [rail.ErrReferenceReused] if the reference connected another card or email address. After
// any other error the call can be repeated.
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

// Charge authorizes and captures by card, at most once per reference. A repeated call
// finishes a charge that was interrupted.
//
// Some charges cannot be paid by card: an amount that is not a positive number of whole
// cents, a payee that is not a merchant, an instrument of another rail. They are refused as
// [rail.Unavailable] from their arguments alone. The processor never sees them, so Lookup
// returns [rail.Unseen]. A voided reference ([Rail.Void]) is refused as [rail.Unavailable]
// as well.
//
// It returns [rail.ErrReferenceReused] if payer, payee, mandate or amount differ from the
// first call's. After any other error the outcome is unknown: ctx's, a timeout, a broken
// connection, a response that is not the processor's.
func (r *Rail) Charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	cents, payable := payable(c)
	if !payable {
		return refused(rail.Unavailable), nil
	}
	return r.ask(ctx, "charge", c.Reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		payment, err := gateway.Pay(ctx, paymentParams(c, cents))
		if err != nil {
			return Payment{}, err
		}
		return payment, answers(payment, cents)
	})
}

// payable returns the amount of a charge in cents, and reports whether a card can pay it.
func payable(c rail.Charge) (money.Cents, bool) {
	cents, whole := c.Amount.WholeCents()
	return cents, whole && cents > 0 && c.MerchantID != "" && c.Instrument.Rail == rail.Card
}

func paymentParams(c rail.Charge, cents money.Cents) PaymentParams {
	return PaymentParams{
		Reference: c.Reference, Customer: c.Instrument.Customer, Method: c.Instrument.Method,
		Payee: c.MerchantID, Mandate: c.MandateID, AmountCents: cents, Description: statement(c.Description),
	}
}

// Lookup returns the outcome of a reference, or [rail.Unseen]. It captures a charge that was
// only authorized, because its caller requested the money and would otherwise wait forever.
// It captures nothing of a reference that [Rail.Authorize] holds. After an error the outcome
// is unknown.
func (r *Rail) Lookup(ctx context.Context, reference string) (rail.Outcome, error) {
	return r.ask(ctx, "look up", reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		payment, err := gateway.Payment(ctx, reference)
		if err == nil && payment.State == RequiresCapture && payment.Capture != CaptureManual {
			return gateway.Capture(ctx, reference)
		}
		return payment, err
	})
}

// ask makes one call about a payment, within the time limit.
func (r *Rail) ask(ctx context.Context, what, reference string, call func(context.Context, Gateway) (Payment, error)) (rail.Outcome, error) {
	return r.outcome(ctx, what, reference, func(ctx context.Context, gateway Gateway) (rail.Outcome, error) {
		payment, err := call(ctx, gateway)
		if err != nil {
			return rail.Outcome{}, err
		}
		if payment.Reference != reference {
			return rail.Outcome{}, fmt.Errorf("the processor answered about %q", payment.Reference)
		}
		return outcomeOf(payment)
	})
}

// outcome makes one call within the time limit. An unknown reference is [rail.Unseen].
func (r *Rail) outcome(ctx context.Context, what, reference string, call func(context.Context, Gateway) (rail.Outcome, error)) (rail.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	gateway, err := r.gateway(ctx)
	if err != nil {
		return rail.Outcome{}, r.unknown(ctx, what, reference, err)
	}
	outcome, err := call(ctx, gateway)
	if errors.Is(err, ErrUnknownPayment) || errors.Is(err, ErrUnknownRefund) {
		return rail.Outcome{Status: rail.Unseen}, nil
	}
	if err != nil {
		return rail.Outcome{}, r.unknown(ctx, what, reference, err)
	}
	return outcome, nil
}

// unknown wraps an error and converts it to one of package rail if possible. It logs other
// errors, because their outcome must be looked up again.
func (r *Rail) unknown(ctx context.Context, what, reference string, err error) error {
	switch {
	case errors.Is(err, ErrReferenceReused):
		err = rail.ErrReferenceReused
	case errors.Is(err, ErrUnknownCard):
		err = rail.ErrUnknownMethod
	case errors.Is(err, ErrAmountTooLarge):
		err = fmt.Errorf("%w: %w", rail.ErrInvalidAmount, err)
	default:
		r.logger.WarnContext(ctx, "card processor: outcome unknown",
			slog.String("call", what), slog.String("reference", reference), slog.Any("error", err))
	}
	return fmt.Errorf("%s %s by card: %w", what, reference, err)
}
