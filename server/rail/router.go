package rail

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// ErrNotConfigured reports that a charge names a rail that the router does not have. It is
// an error and not a refusal: an earlier run of the same charge may have moved money over
// that rail, so no other rail may be asked instead.
var ErrNotConfigured = errors.New("rail: not configured")

// maxAttempts is the preferred rail and one fallback.
const maxAttempts = 2

// Router moves money over the preferred of several rails, and over a second one if the
// first refuses. It is stateless: calling [Router.Charge] again with the same arguments,
// in any process, leads to the same result. That is how a charge is recovered after a crash.
type Router struct {
	// OnAttempt is called when an attempt on a rail begins, and the function that it
	// returns when the attempt ends. The attempt uses the returned context. Default: none.
	OnAttempt func(context.Context, Name) (context.Context, func(Outcome, error))

	rails map[Name]Rail
	names []Name
}

// May reports whether a charge may ask the n-th of its rails.
type May func(ctx context.Context, n int, name Name) (bool, error)

// NewRouter returns a Router over the rails. It returns an error if a rail is nil or if
// two have the same name. Without rails, every charge is refused.
func NewRouter(rails []Rail) (*Router, error) {
	r := &Router{rails: make(map[Name]Rail, len(rails))}
	for i, one := range rails {
		if one == nil {
			return nil, fmt.Errorf("rail: rail %d is nil", i)
		}
		name := one.Name()
		if _, twice := r.rails[name]; twice {
			return nil, fmt.Errorf("rail: %s is configured twice", name)
		}
		r.rails[name] = one
		r.names = append(r.names, name)
	}
	return r, nil
}

// Preferred returns the rails of a currency ("usd", "usdc", "usdt"), the preferred one
// first, or nil for an unknown currency.
func Preferred(currency string) []Name {
	switch currency {
	case "usd":
		return []Name{Card, Chain}
	case "usdc", "usdt":
		return []Name{Chain, Card}
	default:
		return nil
	}
}

// Reference returns the reference for charging a transaction on a rail: the same for every
// attempt, a different one for every rail.
func Reference(transactionID string, name Name) string {
	return transactionID + "." + string(name)
}

// Names returns the names of the rails in their original order.
func (r *Router) Names() []Name { return slices.Clone(r.names) }

// Rail returns the rail with that name, and false if there is none.
func (r *Router) Rail(name Name) (Rail, bool) {
	one, ok := r.rails[name]
	return one, ok
}

// Plan returns the rails that a charge will ask: those of order that the router has and
// the payer has connected, at most two.
//
// The result depends on the current configuration. Store it with the reservation and pass
// it to [Router.Charge] on every run, so that a restart with other rails cannot move the
// money of a charge a second time.
func (r *Router) Plan(order []Name, instruments []Instrument) []Name {
	var plan []Name
	for _, name := range connected(order, instruments) {
		if _, ok := r.rails[name]; ok && len(plan) < maxAttempts {
			plan = append(plan, name)
		}
	}
	return plan
}

// Charge asks the rails of order that the payer has an instrument of to move the money.
// It asks the second one at most once, and only after a definite refusal by the first.
// The charge's Reference is the transaction id; each rail receives its own [Reference] of
// it and the payer's instrument.
//
// Used is the rail that the outcome comes from. If both refuse, it is the first one, whose
// reason the payer can act on, unless the first was only unavailable and the second had
// another reason. If the payer has no instrument of any rail of order, the outcome is
// Refused with [Unavailable], and used is empty. A refusal without a reason gets the
// reason [ProcessorError].
//
// Charge calls may before it asks the n-th rail, counted from 1. If it returns false, the
// first refusal is the outcome; if that was the first rail, the outcome is as if the payer
// had no instrument. A nil may allows everything.
//
// An error means that the outcome is unknown and that the same call must be repeated. It
// is [ErrNotConfigured] if a rail that may have been asked before is missing, ctx's error,
// may's, or the rail's. Charge asks no other rail after an error, nor after [Pending].
func (r *Router) Charge(ctx context.Context, order []Name, instruments []Instrument, charge Charge, may May) (used Name, outcome Outcome, err error) {
	return r.attempts(ctx, order, instruments, charge, may, call{Rail.Charge, Succeeded})
}

// Authorize asks the rails in the same way to hold the money. The amount for a rail that is
// not an [Authorizer] is held by the caller alone: the outcome is [Held] at once, or Refused on
// a chain if the payee has no wallet.
func (r *Router) Authorize(ctx context.Context, order []Name, instruments []Instrument, charge Charge, may May) (used Name, outcome Outcome, err error) {
	hold := func(one Rail, ctx context.Context, c Charge) (Outcome, error) {
		if a, ok := one.(Authorizer); ok {
			return a.Authorize(ctx, c)
		}
		if _, chain := one.(Networked); chain && c.PayTo == "" {
			return Outcome{Status: Refused, Reason: Unavailable}, nil // its capture could never succeed
		}
		return Outcome{Status: Held}, nil
	}
	return r.attempts(ctx, order, instruments, charge, may, call{hold, Held})
}

// Capture asks the one rail of order, which holds the money of the charge or whose money the
// caller holds, to move it.
func (r *Router) Capture(ctx context.Context, order []Name, instruments []Instrument, charge Charge, may May) (used Name, outcome Outcome, err error) {
	move := func(one Rail, ctx context.Context, c Charge) (Outcome, error) {
		if a, ok := one.(Authorizer); ok {
			return a.Capture(ctx, c)
		}
		return one.Charge(ctx, c)
	}
	return r.attempts(ctx, order, instruments, charge, may, call{move, Succeeded})
}

// call is a call of a rail, and the status with which it does what was asked.
type call struct {
	rail func(one Rail, ctx context.Context, c Charge) (Outcome, error)
	done Status
}

// attempts makes a call of one rail after the other; see [Router.Charge].
func (r *Router) attempts(ctx context.Context, order []Name, instruments []Instrument, charge Charge, may May, do call) (used Name, outcome Outcome, err error) {
	var first Name
	refusal := Outcome{Status: Refused, Reason: Unavailable}
	names := connected(order, instruments)
	for i, name := range names[:min(len(names), maxAttempts)] {
		attempt := charge
		attempt.Reference = Reference(charge.Reference, name)
		attempt.Instrument = instrument(instruments, name)
		if may != nil {
			allowed, err := may(ctx, i+1, name)
			if err != nil {
				return name, Outcome{}, fmt.Errorf("charge %s: %w", charge.Reference, err)
			}
			if !allowed {
				break
			}
		}
		outcome, err = r.ask(ctx, name, attempt, do)
		if err != nil {
			return name, Outcome{}, fmt.Errorf("charge %s: %w", charge.Reference, err)
		}
		if outcome.Status != Refused {
			return name, outcome, nil
		}
		if i == 0 || (refusal.Reason == Unavailable && outcome.Reason != Unavailable) {
			first, refusal = name, outcome
		}
	}
	return first, refusal, nil
}

// ask makes one attempt. A status that Charge must not return is an error: treating it as
// a refusal could move the money twice.
func (r *Router) ask(ctx context.Context, name Name, attempt Charge, do call) (Outcome, error) {
	one, ok := r.rails[name]
	if !ok {
		return Outcome{}, fmt.Errorf("%s: %w", name, ErrNotConfigured)
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, fmt.Errorf("ask %s: %w", name, err)
	}
	failpoint.Hit(failpoint.RailChosen)
	ended := func(Outcome, error) {}
	if r.OnAttempt != nil {
		ctx, ended = r.OnAttempt(ctx, name)
	}
	outcome, err := do.rail(one, ctx, attempt)
	if errors.Is(err, ErrReferenceReused) {
		outcome, err = reused(ctx, one, attempt, err)
	}
	if err == nil && outcome.Status == Refused && outcome.Reason == "" {
		outcome.Reason = ProcessorError
	}
	ended(outcome, err)
	failpoint.Hit(failpoint.RailAnswered)
	if err != nil {
		return Outcome{}, fmt.Errorf("ask %s: %w", name, err)
	}
	switch outcome.Status {
	case do.done, Pending, Refused:
		return outcome, nil
	default:
		return Outcome{}, fmt.Errorf("ask %s: status %q is not a result of a charge", name, outcome.Status)
	}
}

// reused returns the outcome of an attempt whose reference the rail knows with other
// parameters, which never move money. It remains an error if the reference did move money
// or still may: then a person must decide.
func reused(ctx context.Context, one Rail, attempt Charge, err error) (Outcome, error) {
	known, lookup := one.Lookup(ctx, attempt.Reference)
	if lookup != nil {
		return Outcome{}, errors.Join(err, lookup)
	}
	if known.Status != Refused && known.Status != Unseen {
		return Outcome{}, fmt.Errorf("%w: its outcome is %s", err, known.Status)
	}
	return Outcome{Status: Refused, Reason: ProcessorError}, nil
}

// connected returns the rails of order, without duplicates, that the payer has an
// instrument of. The result is stable, because the instruments do not change while a
// charge is pending.
func connected(order []Name, instruments []Instrument) []Name {
	var names []Name
	for _, name := range order {
		has := slices.ContainsFunc(instruments, func(in Instrument) bool { return in.Rail == name })
		if has && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// instrument returns the payer's first instrument of a rail that connected returned.
func instrument(instruments []Instrument, name Name) Instrument {
	i := slices.IndexFunc(instruments, func(in Instrument) bool { return in.Rail == name })
	return instruments[i]
}
