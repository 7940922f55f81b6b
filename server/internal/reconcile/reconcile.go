// Package reconcile compares the ledger with what the rails have moved: every charge and
// every refund that succeeded has one movement at the card processor or on the chain, and
// every movement has its charge or refund.
//
// It reads the movements first and then one snapshot of the ledger, while the service runs.
// Both sides become lines, which are sorted outside of memory, so the work needs constant
// memory for any number of charges.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/extsort"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Cause is the kind of a difference.
type Cause string

// The causes.
const (
	// MovementWithoutCharge: money moved for a charge or refund that the ledger does not have.
	MovementWithoutCharge Cause = "movement_without_charge"
	// ChargeWithoutMovement: a charge or refund succeeded, and no money moved.
	ChargeWithoutMovement Cause = "charge_without_movement"
	// WrongAmount: another amount moved.
	WrongAmount Cause = "wrong_amount"
	// MovedTwice: money moved more than once.
	MovedTwice Cause = "moved_twice"
	// TwoOutcomes: money moved for a charge or refund that failed, or a rail reported a second outcome.
	TwoOutcomes Cause = "two_outcomes"
)

// Difference is a charge or refund on which the ledger and a rail disagree.
type Difference struct {
	// Cause is the kind of difference.
	Cause Cause
	// Rail is the rail of the movement, or that which should have moved the money.
	Rail rail.Name
	// TransactionID is the charge, or the tab whose draws were captured; empty if the ledger
	// has none.
	TransactionID string
	// RefundID is the refund; empty if the difference is about a charge.
	RefundID string
	// Reference is the reference or key of a movement without charge.
	Reference string
	// Recorded is the amount in the ledger.
	Recorded ledger.Micros
	// Moved is the sum of the movements.
	Moved ledger.Micros
	// Movements are the transaction hashes, or the processor's ids, at most [maxMovements].
	Movements []string
	// Detail explains the difference.
	Detail string
}

// maxMovements limits the movements that a difference names.
const maxMovements = 10

// Config configures [Run]. Ledger, Rails and Clock are required.
type Config struct {
	Ledger ledger.Reader
	Rails  []rail.Rail
	Clock  func() time.Time
	// From compares the charges that succeeded from this time on. Default: all.
	From time.Time
	// Settling is the age from which the movement of a charge must be final on its rail.
	// Default: one hour.
	Settling time.Duration
	// Dir is the folder of temporary files. Default: the system's.
	Dir string
}

// Report counts what was compared.
type Report struct {
	// Charges and Refunds are those that succeeded, with the draws from tabs.
	Charges, Refunds int64
	// Movements are those of all rails.
	Movements int64
	// Differences is the number of differences.
	Differences int64
	// Unlisted are the rails that cannot list their movements, and those of charges that are
	// not configured; nothing of theirs was compared.
	Unlisted []rail.Name
	// Uncompared is the number of charges and refunds of unlisted rails. They are in Charges and
	// Refunds.
	Uncompared int64
}

const (
	defaultSettling = time.Hour
	// slack is how much earlier a movement may be than its charge's time of settlement.
	slack = 48 * time.Hour
)

// Run compares the ledger with the rails, and calls found with each difference. It returns
// the errors of the store, of a rail, and of found.
func Run(ctx context.Context, cfg Config, found func(Difference) error) (Report, error) {
	if cfg.Settling == 0 {
		cfg.Settling = defaultSettling
	}
	r := &run{Config: cfg, found: found, sorter: extsort.Sorter{Dir: cfg.Dir}, movers: map[rail.Name]rail.Mover{}, since: cfg.Clock()}
	err := r.all(ctx)
	if err = errors.Join(err, r.sorter.Close()); err != nil {
		return r.Report, fmt.Errorf("reconcile: %w", err)
	}
	return r.Report, nil
}

type run struct {
	Config
	Report

	found  func(Difference) error
	sorter extsort.Sorter
	movers map[rail.Name]rail.Mover
	since  time.Time // the movements were read from here on
	// purchases are the charges whose fundings are to be compared.
	purchases []string
}

func (r *run) all(ctx context.Context) error {
	for _, one := range r.Rails {
		if err := r.movements(ctx, one); err != nil {
			return err
		}
	}
	err := r.Ledger.Audit(ctx, func(a ledger.Audit) error {
		if err := a.Selected(ctx, r.selection(), r.charge); err != nil {
			return err
		}
		if err := r.fundings(ctx, a); err != nil {
			return err
		}
		if err := a.Sweeps(ctx, r.sweep); err != nil {
			return err
		}
		if err := a.Tabs(ctx, r.tab); err != nil {
			return err
		}
		return a.Refunds(ctx, r.refund)
	})
	if err != nil {
		return err
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	return r.conflicts(ctx)
}

// selection selects the charges that can have succeeded since From. An authorization is
// captured within [ledger.MaxHold]; older charges are looked up one by one.
func (r *run) selection() ledger.Selection {
	if r.From.IsZero() {
		return ledger.Selection{}
	}
	return ledger.Selection{From: r.From.Add(-ledger.MaxHold - slack)}
}

// movements adds a line for each movement of a rail.
func (r *run) movements(ctx context.Context, one rail.Rail) error {
	m, ok := one.(rail.Mover)
	if !ok {
		r.unlisted(one.Name())
		return nil
	}
	since := r.From
	if !since.IsZero() {
		since = since.Add(-slack)
	}
	err := m.Movements(ctx, since, func(m rail.Movement) error {
		r.Movements++
		return r.sorter.Add(line{Rail: one.Name(), Key: m.Key, Side: moved, Amount: m.Amount, ID: m.ID, Reference: m.Reference}.text())
	})
	if errors.Is(err, rail.ErrNotListed) {
		r.unlisted(one.Name())
		return nil
	}
	r.movers[one.Name()] = m
	return err
}

// unlisted records a rail whose movements are not known.
func (r *run) unlisted(name rail.Name) {
	if !slices.Contains(r.Unlisted, name) {
		r.Unlisted = append(r.Unlisted, name)
	}
}

// uncompared counts a charge or refund of a rail whose movements are not known.
func (r *run) uncompared(name rail.Name) {
	r.unlisted(name)
	r.Uncompared++
}

// charge adds a line for each rail that may have moved the money of a charge.
func (r *run) charge(c ledger.Charge) error {
	names := c.Rails
	if c.Rail != "" && (len(names) == 0 || names[0] != c.Rail) {
		names = append([]rail.Name{c.Rail}, names...)
	}
	if c.Status == ledger.ChargeSucceeded && !c.SettledAt.Before(r.From) {
		r.Charges++
		if _, known := r.movers[c.Rail]; !known {
			r.uncompared(c.Rail)
		}
	}
	switch {
	case c.TabID != "":
		return nil // its tab moves the money
	case c.Source == ledger.SourceSeller:
		return r.purchase(c)
	}
	for i, name := range names {
		m, known := r.movers[name]
		if !known || i > 0 && name == names[0] {
			continue
		}
		l := line{Rail: name, Side: recorded, Amount: c.Amount, ID: c.ID, State: r.stateOf(c, name)}
		l.Key = m.MovementKey(rail.ChargeMovement, rail.Reference(c.ID, name))
		if c.Direct() {
			l.Key = m.MovementKey(rail.TransferMovement, c.ID)
		}
		if err := r.sorter.Add(l.text()); err != nil {
			return err
		}
	}
	return nil
}

// stateOf returns what a charge expects of a rail.
func (r *run) stateOf(c ledger.Charge, name rail.Name) state {
	switch {
	case c.Status == ledger.ChargePending, c.Status == ledger.ChargeAuthorized:
		return open
	case c.Status == ledger.ChargeSucceeded && c.Rail == name:
		return r.due(c.SettledAt)
	case c.Status == ledger.ChargeSucceeded:
		return elsewhere
	}
	return failed
}

// due returns settled, or settling if a movement of this time may not be listed.
func (r *run) due(at time.Time) state {
	if at.After(r.since.Add(-r.Settling)) || at.Before(r.From) {
		return settling
	}
	return settled
}

// tab adds a line for what a tab captures.
func (r *run) tab(t ledger.Tab) error {
	m, known := r.movers[rail.Card]
	if !known {
		return nil
	}
	l := line{Rail: rail.Card, Side: recorded, Amount: t.Capture, ID: t.ID, State: open}
	l.Key = m.MovementKey(rail.ChargeMovement, rail.Reference(t.ID, rail.Card))
	switch {
	case t.State == ledger.TabClosed && t.Outcome == ledger.TabCaptured:
		l.State = r.due(t.ClosedAt)
	case t.State == ledger.TabClosed:
		l.State = failed
	}
	return r.sorter.Add(l.text())
}

// refund adds a line for a refund.
func (r *run) refund(f ledger.Refund) error {
	l := line{Rail: f.Rail, Side: recorded, Amount: f.Amount, ID: f.ChargeID, Refund: f.ID, State: failed}
	m, known := r.movers[f.Rail]
	switch f.Status {
	case ledger.RefundSucceeded:
		if !f.SettledAt.Before(r.From) {
			r.Refunds++
			if !known && f.Rail != "" { // one without a rail went to the operator, in the ledger alone
				r.uncompared(f.Rail)
			}
		}
		l.State = r.due(f.SettledAt)
	case ledger.RefundPending:
		l.State = open
	case ledger.RefundFailed:
	}
	if !known {
		return nil
	}
	l.Key = m.MovementKey(rail.RefundMovement, rail.Reference(f.ID, f.Rail))
	return r.sorter.Add(l.text())
}

// report counts and reports a difference.
func (r *run) report(d Difference) error {
	r.Differences++
	return r.found(d)
}

// conflicts reports the second outcomes that the ledger has recorded.
func (r *run) conflicts(ctx context.Context) error {
	const page = 1000
	for after := (ledger.OutcomeConflict{}); ; {
		list, err := r.Ledger.OutcomeConflicts(ctx, after, page)
		if err != nil {
			return err
		}
		for _, x := range list {
			if after = x; x.At.Before(r.From) {
				continue
			}
			err := r.report(Difference{
				Cause: TwoOutcomes, Rail: x.Rail, TransactionID: x.ChargeID, Movements: some(x.TxHash + x.ProcessorID),
				Detail: strings.TrimSpace(fmt.Sprintf("the rail reported %s %s at %s", x.Status, x.Reason, x.At.UTC().Format(time.RFC3339))),
			})
			if err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// some returns the strings that are not empty.
func some(ids ...string) (all []string) {
	for _, id := range ids {
		if id != "" {
			all = append(all, id)
		}
	}
	return all
}

// LogValue implements [slog.LogValuer].
func (d Difference) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("cause", string(d.Cause)), slog.String("rail", string(d.Rail)), slog.String("transactionId", d.TransactionID),
		slog.String("refundId", d.RefundID), slog.String("reference", d.Reference), slog.Int64("recordedMicros", int64(d.Recorded)),
		slog.Int64("movedMicros", int64(d.Moved)), slog.Any("movements", d.Movements), slog.String("detail", d.Detail),
	)
}
