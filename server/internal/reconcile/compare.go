package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// side is where a line comes from.
type side string

const (
	recorded side = "ledger"
	moved    side = "rail"
)

// state is what the ledger expects of a rail.
type state string

const (
	settled   state = "settled"   // one movement of the amount
	settling  state = "settling"  // a movement, which may not be listed
	open      state = "open"      // perhaps a movement: the outcome is not known
	elsewhere state = "elsewhere" // none: another rail moved the money
	failed    state = "failed"    // none
)

// line is a charge, a refund or a movement. Its text begins with the key.
type line struct {
	Rail      rail.Name
	Key       string
	Side      side
	Amount    ledger.Micros
	ID        string // of the charge, or of the movement
	Refund    string
	State     state
	Reference string // of a movement
}

// separator is in no id, reference or name.
const separator = "\x1f"

func (l line) text() string {
	clean := strings.NewReplacer(separator, "", "\n", "")
	all := []string{string(l.Rail), l.Key, string(l.Side), strconv.FormatInt(int64(l.Amount), 10), l.ID, l.Refund, string(l.State), l.Reference}
	for i, one := range all {
		if strings.ContainsAny(one, separator+"\n") {
			all[i] = clean.Replace(one)
		}
	}
	return strings.Join(all, separator)
}

func parse(text string) (line, error) {
	f := strings.Split(text, separator)
	if len(f) != 8 {
		return line{}, fmt.Errorf("line of %d fields", len(f))
	}
	amount, err := strconv.ParseInt(f[3], 10, 64)
	return line{
		Rail: rail.Name(f[0]), Key: f[1], Side: side(f[2]), Amount: ledger.Micros(amount), ID: f[4], Refund: f[5], State: state(f[6]), Reference: f[7],
	}, err
}

// group is the lines of one key.
type group struct {
	line // the ledger's, or the first movement's

	recorded bool
	count    int // of movements
	sum      ledger.Micros
	ids      []string
}

// compare sorts the lines and compares the groups of equal keys.
func (r *run) compare(ctx context.Context) error {
	var g group
	err := r.sorter.Each(func(text string) error {
		l, err := parse(text)
		if err != nil {
			return err
		}
		if l.Rail != g.Rail || l.Key != g.Key {
			if err := r.judge(ctx, g); err != nil {
				return err
			}
			g = group{line: l}
		}
		g.add(l)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return r.judge(ctx, g)
}

// add adds a line. The ledger's sort before those of the rail.
func (g *group) add(l line) {
	if l.Side == recorded {
		g.line, g.recorded = l, true
		return
	}
	g.Reference = l.Reference
	g.sum += l.Amount
	if g.count++; len(g.ids) < maxMovements {
		g.ids = append(g.ids, l.ID)
	}
}

// judge reports the difference of a group, if it has one.
func (r *run) judge(ctx context.Context, g group) error {
	if g.Key == "" {
		return nil
	}
	if !g.recorded {
		known, err := r.lookUp(ctx, &g)
		if err != nil {
			return err
		}
		if !known {
			d := g.difference(MovementWithoutCharge, "the ledger does not have it")
			d.Recorded, d.TransactionID = 0, ""
			if g.count > 1 {
				d.Detail += fmt.Sprintf("; money moved %d times", g.count)
			}
			return r.report(d)
		}
	}
	cause, detail := g.judged()
	if cause == "" {
		return nil
	}
	return r.report(g.difference(cause, detail))
}

// judged compares the movements of a group with what the ledger expects.
func (g *group) judged() (Cause, string) {
	switch {
	case g.State == failed && g.count > 0:
		return TwoOutcomes, "it has failed, and money moved"
	case g.State == elsewhere && g.count > 0:
		return MovedTwice, "another rail has moved the money too"
	case g.State == settled && g.count == 0:
		return ChargeWithoutMovement, "it has succeeded, and no money moved"
	case g.count > 1:
		return MovedTwice, fmt.Sprintf("money moved %d times", g.count)
	case g.count == 1 && g.sum != g.Amount && g.State != open:
		return WrongAmount, "another amount moved"
	}
	return "", ""
}

func (g *group) difference(cause Cause, detail string) Difference {
	return Difference{
		Cause: cause, Rail: g.Rail, TransactionID: g.ID, RefundID: g.Refund, Reference: g.Reference, Recorded: g.Amount, Moved: g.sum,
		Movements: g.ids, Detail: detail,
	}
}

// lookUp reads the charge of a movement that the selection did not have: it is older than
// From, or began after the snapshot. A movement without a known reference stays unknown.
func (r *run) lookUp(ctx context.Context, g *group) (bool, error) {
	g.ID = ""
	if strings.HasPrefix(g.Key, string(rail.PurchaseMovement)+"/") || rail.PurchaseOf(g.Reference) != g.Reference {
		return r.lookUpSeller(ctx, g)
	}
	if !strings.HasPrefix(g.Key, string(rail.ChargeMovement)+"/") && !strings.HasPrefix(g.Key, string(rail.TransferMovement)+"/") {
		return false, nil // all refunds are compared
	}
	c, err := r.Ledger.Charge(ctx, strings.TrimSuffix(g.Reference, rail.Reference("", g.Rail)))
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	g.ID, g.Amount, g.State, g.recorded = c.ID, c.Amount, r.stateOf(c, g.Rail), true
	return true, nil
}
