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
	refundPrefix  = "re_"
)

// ProcessorConfig configures [OpenProcessor].
type ProcessorConfig struct {
	// Path is the SQLite file. It is created if it does not exist; its folder must exist.
	// Required.
	Path string
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Faults are the initial faults. [Processor.SetFaults] changes them. Default: none.
	Faults Faults
	// Random decides which faults occur. A source with a fixed seed makes them
	// repeatable. One goroutine uses it at a time. Default: a random seed.
	Random rand.Source
	// SlowAnswer is the delay of card_slow. Default: one minute.
	SlowAnswer time.Duration
	// Key is the bearer token that callers of [Processor.Handler] must present. Default:
	// none is required.
	Key Key
}

func (c ProcessorConfig) validate() error {
	if c.Path == "" {
		return errors.New("card: Path: is required")
	}
	if c.SlowAnswer < 0 {
		return errors.New("card: SlowAnswer: must not be negative")
	}
	if err := c.Faults.validate(); err != nil {
		return fmt.Errorf("card: Faults: %w", err)
	}
	return nil
}

// Processor is a sandbox card processor. It returns only what is on disk. Several
// processors may share one file, in one process or in several. It is safe for concurrent
// use.
type Processor struct {
	db         *database
	writer     *writer
	clock      func() time.Time
	trouble    *trouble
	slowAnswer time.Duration
	key        Key
	connected  connected
}

// OpenProcessor opens a processor with the content of its file. It uses ctx only while it
// opens the file. It returns an error if the config is invalid or the file cannot be opened.
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

// Close finishes the waiting work and closes the file. Delayed and later calls return
// [ErrClosed]. It may be called twice.
func (p *Processor) Close() error {
	return errors.Join(p.writer.close(), p.db.Close())
}

// Faults returns the current faults.
func (p *Processor) Faults() Faults { return p.trouble.get() }

// SetFaults changes the faults of calls that begin later. It returns [ErrInvalid] if a
// value is out of range.
func (p *Processor) SetFaults(f Faults) error {
	if err := f.validate(); err != nil {
		return err
	}
	p.trouble.set(f)
	return nil
}

// Totals returns the sums over all payments and refunds, for reconciliation in drills.
// Faults do not affect it. It returns errors of ctx and of the database.
func (p *Processor) Totals(ctx context.Context) (Totals, error) {
	return p.db.totals(ctx)
}

// CreateCustomer creates a payer, once per reference. It returns [ErrInvalid] or
// [ErrReferenceReused]; after any other error the outcome is unknown.
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

// CreateMethod connects a card to a customer, once per reference. A refused card is not an
// error but has the state [MethodRefused], and stays refused under the reference. It
// returns [ErrInvalid], [ErrUnknownCard], [ErrUnknownCustomer] or [ErrReferenceReused];
// after any other error the outcome is unknown.
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

// params are the parameters of a call.
type params interface{ validate() error }

// served runs a call that writes in one transaction, with the faults before and after the
// work.
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

// read runs a call that only reads, with the faults before and after the work.
func read[T any](ctx context.Context, p *Processor, reference string, find func(context.Context, string) (T, error)) (T, error) {
	var none T
	if err := validReference(reference); err != nil {
		return none, err
	}
	if err := p.before(ctx); err != nil {
		return none, err
	}
	found, err := find(ctx, reference)
	if err != nil {
		return none, fmt.Errorf("find %s: %w", reference, err)
	}
	if err := p.after(); err != nil {
		return none, err
	}
	return found, nil
}
