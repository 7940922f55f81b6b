package rail

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// ErrNotConfigured reports that a charge names a rail that the router does not
// have. It is an error and not a refusal: an earlier run of the same charge may have
// moved money over that rail, so no other rail may be asked instead.
var ErrNotConfigured = errors.New("rail: not configured")

// maxAttempts is the preferred rail and one fallback.
const maxAttempts = 2

// Router moves money over the preferred rail of several, and over a second one
// where the first refuses. It has no memory: [Router.Charge] run again with the
// same arguments, in whatever process, comes to the same end, and that is how a
// charge is recovered after a crash.
type Router struct {
	// Asking is told of each attempt: of its beginning, and by the function that it
	// returns of its end. It may change the attempt's context. Nil: nobody is told.
	OnAttempt func(context.Context, Name) (context.Context, func(Outcome, error))

	rails map[Name]Rail
	names []Name
}

// May reports whether a charge may ask the n-th of its rails.
type May func(ctx context.Context, n int, name Name) (bool, error)

// NewRouter returns a router over the rails. An error where one is nil or two
// have one name; none at all is allowed, and then every charge is refused.
func NewRouter(rails []Rail) (*Router, error) {
	r := &Router{rails: make(map[Name]Rail, len(rails))}
	for i, one := range rails {
		if one == nil {
			return nil, fmt.Errorf("rail %d is nil", i)
		}
		name := one.Name()
		if _, twice := r.rails[name]; twice {
			return nil, fmt.Errorf("rail %s is given twice", name)
		}
		r.rails[name] = one
		r.names = append(r.names, name)
	}
	return r, nil
}

// Preferred returns the rails of a currency ("usd", "usdc", "usdt"), the
// preferred one first; none for an unknown currency.
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

// Reference is the reference under which a rail is asked to move the money of a
// transaction: the same for every attempt, another for every rail.
func Reference(transactionID string, name Name) string {
	return transactionID + "." + string(name)
}

// Names returns the rails there are, in the order they were given.
func (r *Router) Names() []Name { return slices.Clone(r.names) }

// Rail returns the rail of a name, and whether there is one.
func (r *Router) Rail(name Name) (Rail, bool) {
	one, ok := r.rails[name]
	return one, ok
}

// Plan returns which rails a charge will ask, in this order: those of order that
// the router has and the payer has connected, at most two. A rail that is not
// configured is left out, so the next one takes its place.
//
// The answer depends on the configuration of the moment. Store it with the
// reservation and hand it to [Router.Charge] on every run, and a restart with
// other rails cannot lead a charge that moved money on one of them to another.
func (r *Router) Plan(order []Name, instruments []Instrument) []Name {
	var plan []Name
	for _, name := range connected(order, instruments) {
		if _, ok := r.rails[name]; ok && len(plan) < maxAttempts {
			plan = append(plan, name)
		}
	}
	return plan
}

// Charge asks the rails of order that the payer has an instrument of, the first
// one first, to move the money; the second one is asked at most once and only
// after a definite refusal by the first. The charge's Reference is the
// transaction id; each rail is asked under [Reference] of it, with the payer's
// instrument for it.
//
// It tells which rail the outcome is of. Where both refuse, that is the first
// one with its reason, which is what the payer can put right, unless it was only
// unavailable and the second had a reason of its own. Where the payer has no
// instrument of any rail of order, the outcome is Refused with [Unavailable] and
// used is empty.
//
// A refusal without a reason has the reason [ProcessorError].
//
// May decides whether the n-th rail, counted from 1, may be asked; Charge calls it
// before it asks a rail. If it answers no, the first refusal is the outcome; if that
// was the first rail, the outcome is as if the payer had no instrument. A nil May
// allows everything.
//
// An error means that the outcome is unknown and that the same call must be made
// again: [ErrNotConfigured] if a rail that may have been asked before is missing,
// ctx's error, May's, or the rail's. No other rail is asked then, nor after
// [Pending].
func (r *Router) Charge(ctx context.Context, order []Name, instruments []Instrument, charge Charge, may May) (used Name, outcome Outcome, err error) {
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
		outcome, err = r.ask(ctx, name, attempt)
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

// ask makes one attempt. A status that Charge may not answer is an error: to
// take it for a refusal could move the money twice.
func (r *Router) ask(ctx context.Context, name Name, attempt Charge) (Outcome, error) {
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
	outcome, err := one.Charge(ctx, attempt)
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
	case Succeeded, Pending, Refused:
		return outcome, nil
	case Unseen:
		fallthrough
	default:
		return Outcome{}, fmt.Errorf("ask %s: status %q is no answer to a charge", name, outcome.Status)
	}
}

// reused is the outcome of an attempt whose reference the rail knows with other
// parameters: these parameters never move money. It stays an error if the
// reference did move money, or still may: then it is a person's to decide.
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

// connected returns the rails of order, each once, that the payer has an
// instrument of. The payer's instruments do not change while a charge is
// pending, so neither does this.
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

// instrument returns the payer's first instrument of a rail that connected found.
func instrument(instruments []Instrument, name Name) Instrument {
	i := slices.IndexFunc(instruments, func(in Instrument) bool { return in.Rail == name })
	return instruments[i]
}
