package card

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
)

// Prefixes of the processor's own ids.
const (
	methodPrefix  = "pm_"
	paymentPrefix = "pay_"
)

// ProcessorConfig says where a processor keeps its books and how it behaves.
type ProcessorConfig struct {
	// Path of the SQLite file. It is made where it is missing, its folder is not.
	// Required.
	Path string
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Faults at the start; [Processor.SetFaults] changes them. Zero: none.
	Faults Faults
	// Random draws the faults; a source of a known seed draws the same ones again.
	// It is used by one goroutine at a time. Nil: another seed each time.
	Random rand.Source
	// SlowAnswer is how late card_slow answers. Zero: one minute.
	SlowAnswer time.Duration
	// Key is what callers of [Processor.Handler] must show as their bearer token.
	// Empty: none.
	Key Key
}

func (c ProcessorConfig) validate() error {
	if c.Path == "" {
		return errors.New("config: Path is required")
	}
	if c.SlowAnswer < 0 {
		return fmt.Errorf("config: SlowAnswer of %s", c.SlowAnswer)
	}
	if err := c.Faults.validate(); err != nil {
		return fmt.Errorf("config: Faults: %w", err)
	}
	return nil
}

// Processor is a sandbox card processor. Everything that it answers is on disk
// first. Several may share one file, in one process or in many. All methods may
// be called from many goroutines.
type Processor struct {
	db         *database
	writer     *writer
	clock      func() time.Time
	trouble    *trouble
	slowAnswer time.Duration
	key        Key
	connected  connected
}

// OpenProcessor opens a processor over its file, with all that an earlier one
// left there. ctx bounds the opening only. An error where the config is
// incomplete or the file cannot be opened.
func OpenProcessor(ctx context.Context, config ProcessorConfig) (*Processor, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, config.Path)
	if err != nil {
		return nil, err
	}
	w, err := startWriter(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	p := &Processor{db: db, writer: w, clock: config.Clock, slowAnswer: config.SlowAnswer, key: config.Key}
	if p.clock == nil {
		p.clock = time.Now
	}
	if p.slowAnswer == 0 {
		p.slowAnswer = time.Minute
	}
	source := config.Random
	if source == nil {
		source = rand.NewPCG(rand.Uint64(), rand.Uint64()) //nolint:gosec // draws faults, no secrets
	}
	p.trouble = &trouble{faults: config.Faults, random: rand.New(source)} //nolint:gosec // draws faults, no secrets
	return p, nil
}

// Close ends the work at hand and closes the file. Calls that wait, and later
// ones, answer [ErrClosed]. It may be called twice.
func (p *Processor) Close() error {
	return errors.Join(p.writer.close(), p.db.Close())
}

// Faults returns the faults in force.
func (p *Processor) Faults() Faults { return p.trouble.get() }

// SetFaults changes the faults for the calls that begin from now on. [ErrInvalid]
// where a figure is out of range.
func (p *Processor) SetFaults(f Faults) error {
	if err := f.validate(); err != nil {
		return err
	}
	p.trouble.set(f)
	return nil
}

// Totals sums all the money that has moved; for reconciliation in drills. It is
// without faults. An error of ctx or the database.
func (p *Processor) Totals(ctx context.Context) (Totals, error) {
	return p.db.totals(ctx)
}

// CreateCustomer makes a payer, once for the reference. [ErrInvalid],
// [ErrReferenceReused]; any other error leaves it unknown.
func (p *Processor) CreateCustomer(ctx context.Context, params CustomerParams) (Customer, error) {
	return served(ctx, p, params, func(ctx context.Context, tx *transaction) (Customer, error) {
		c, found, err := tx.findCustomer(ctx, params.Reference)
		switch {
		case err != nil:
			return Customer{}, err
		case found && c.CustomerParams != params:
			return Customer{}, fmt.Errorf("customer %s: %w", params.Reference, ErrReferenceReused)
		case found:
			return c, nil
		}
		now := p.clock()
		c = Customer{CustomerParams: params, ID: id.New(id.Customer, now), CreatedAtMillis: now.UnixMilli()}
		return c, tx.addCustomer(ctx, c)
	})
}

// CreateMethod connects a card to a customer, once for the reference. A refused
// card is an answer ([MethodRefused]), and stays refused under the reference.
// [ErrInvalid], [ErrUnknownCard], [ErrUnknownCustomer], [ErrReferenceReused]; any
// other error leaves it unknown.
func (p *Processor) CreateMethod(ctx context.Context, params MethodParams) (Method, error) {
	return served(ctx, p, params, func(ctx context.Context, tx *transaction) (Method, error) {
		m, found, err := tx.findMethod(ctx, params.Reference)
		switch {
		case err != nil:
			return Method{}, err
		case found && m.MethodParams != params:
			return Method{}, fmt.Errorf("payment method %s: %w", params.Reference, ErrReferenceReused)
		case found:
			return m, nil
		}
		card, known := cardNamed(params.Card)
		if !known {
			return Method{}, fmt.Errorf("%q: %w", params.Card, ErrUnknownCard)
		}
		exists, err := tx.hasCustomer(ctx, params.Customer)
		if err != nil {
			return Method{}, err
		}
		if !exists {
			return Method{}, fmt.Errorf("%q: %w", params.Customer, ErrUnknownCustomer)
		}
		now := p.clock()
		m = connect(params, card, id.New(methodPrefix, now), now)
		return m, tx.addMethod(ctx, m)
	})
}

// params is what a call asks for.
type params interface{ validate() error }

// served is the frame of a call that writes in one transaction: its faults
// around the work.
func served[T any](ctx context.Context, p *Processor, asked params, run func(context.Context, *transaction) (T, error)) (T, error) {
	var none T
	if err := asked.validate(); err != nil {
		return none, err
	}
	if err := p.before(ctx); err != nil {
		return none, err
	}
	result, err := write(ctx, p.writer, run)
	if err != nil {
		return none, err
	}
	if err := p.after(); err != nil {
		return none, err
	}
	return result, nil
}
