package chain

import (
	"context"
	"log/slog"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// recently is how long settlements took.
type recently struct {
	mu  sync.Mutex
	avg time.Duration
}

func (l *recently) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.avg += (d - l.avg) / 8
}

func (l *recently) usual() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.avg
}

// revertFactor is how many times its cost a settlement that reverts is charged to
// the payer's budget.
const revertFactor = 10

// gasBudget counts what settlements may cost the relayer in this hour, for each
// payer, payee and caller and in all. It is in memory: a restart forgets it.
type gasBudget struct {
	mu    sync.Mutex
	hour  time.Time
	spent map[party]cost
	taken map[string]expense // by task, until it has ended
}

// cost is what a transaction may cost at most.
type cost struct{ gas, gwei uint64 }

func costOf(gas uint64, feeCap *big.Int) cost {
	gwei := new(big.Int).Mul(feeCap, new(big.Int).SetUint64(gas))
	gwei.Add(gwei, big.NewInt(weiPerGwei-1)).Quo(gwei, big.NewInt(weiPerGwei))
	if !gwei.IsUint64() {
		return cost{gas, 1 << 62}
	}
	return cost{gas, min(gwei.Uint64(), 1<<62)}
}

const weiPerGwei = 1_000_000_000

func (c cost) plus(d cost) cost { return cost{c.gas + d.gas, c.gwei + d.gwei} }

// less returns what is left of c; nothing is below zero.
func (c cost) less(d cost) cost { return cost{c.gas - min(c.gas, d.gas), c.gwei - min(c.gwei, d.gwei)} }

func (c cost) times(n uint64) cost { return cost{c.gas * n, c.gwei * n} }

func (c cost) within(limit cost) bool { return c.gas <= limit.gas && c.gwei <= limit.gwei }

// role is in what capacity somebody makes the relayer spend.
type role string

const (
	asPayer  role = "payer"
	asWallet role = "contract payer"
	asPayee  role = "payee"
	asCaller role = "caller"
	asAll    role = "relayer"
)

// party is somebody in a role.
type party struct {
	role role
	name string
}

// expense is what a settlement may cost, and whose budgets it counts against. The
// payer is the first of them.
type expense struct {
	cost    cost
	parties []party
	hour    time.Time // that it counts in; set when it is taken
}

// expenseOf returns a settlement's expense; a payer that is a contract can revert as it likes.
func expenseOf(c cost, payer, payee common.Address, contract bool, caller string) expense {
	e := expense{cost: c, parties: []party{{asPayer, payer.Hex()}, {asPayee, payee.Hex()}, {role: asAll}}}
	if contract {
		e.parties[0].role = asWallet
	}
	if caller != "" {
		e.parties = append(e.parties, party{asCaller, caller})
	}
	return e
}

// maxParties bounds the memory; if there are more, all but the relayer start anew.
const maxParties = 200_000

// take counts an expense against all budgets. It returns the role whose budget does
// not allow it, and counts nothing then.
func (b *gasBudget) take(now time.Time, task string, e expense, limits Authorizations) (short role, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now, limits)
	for _, p := range e.parties {
		if !b.spent[p].plus(e.cost).within(limits.limitOf(p.role)) {
			return p.role, false
		}
	}
	for _, p := range e.parties {
		b.spent[p] = b.spent[p].plus(e.cost)
	}
	e.hour = b.hour
	b.taken[task] = e
	return "", true
}

// roll begins a new hour. What somebody spent beyond its budget counts in that too. If
// there are too many parties, they are forgotten within the hour, except for what the
// relayer has spent.
func (b *gasBudget) roll(now time.Time, limits Authorizations) {
	hour := now.Truncate(time.Hour)
	if b.spent != nil && hour.Equal(b.hour) && len(b.spent) <= maxParties {
		return
	}
	owed := map[party]cost{}
	for p, c := range b.spent {
		if rest := c.less(limits.limitOf(p.role)); rest != (cost{}) && len(b.spent) <= maxParties {
			owed[p] = rest
		}
	}
	if all := (party{role: asAll}); hour.Equal(b.hour) && b.spent != nil {
		owed[all] = b.spent[all]
	} else if rest := b.spent[all].less(limits.limitOf(asAll)); rest != (cost{}) {
		owed[all] = rest
	}
	b.hour, b.spent = hour, owed
	if b.taken == nil || len(b.taken) > maxParties {
		b.taken = map[string]expense{}
	}
}

// giveBack undoes take: nothing was sent.
func (b *gasBudget) giveBack(task string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.taken[task]
	for _, p := range e.parties {
		b.uncount(e, p)
	}
	delete(b.taken, task)
}

// uncount takes an expense off a party's counter. The counters of an hour that is
// over are gone, and those of the present hour never had the expense.
func (b *gasBudget) uncount(e expense, p party) {
	if e.hour.Equal(b.hour) {
		b.spent[p] = b.spent[p].less(e.cost)
	}
}

// ended forgets a transaction. One that reverted costs its payer a multiple and its
// payee, which anybody can name, nothing. The caller asked for it and pays as before.
func (b *gasBudget) ended(task string, reverted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.taken[task]
	if !known {
		return
	}
	delete(b.taken, task)
	if !reverted {
		return
	}
	for _, p := range e.parties {
		switch p.role {
		case asPayer, asWallet:
			b.spent[p] = b.spent[p].plus(e.cost.times(revertFactor - 1))
		case asPayee:
			b.uncount(e, p)
		case asCaller, asAll: // it was spent
		}
	}
}

// spend takes an expense, and raises the alarm if the budget does not allow it. An
// error is the refusal.
func (r *Rail) spend(ctx context.Context, task string, e expense) error {
	short, ok := r.budget.take(r.config.Clock(), task, e, r.config.Authorizations)
	if ok {
		return nil
	}
	r.figures.overBudget.Add(1)
	if r.alarms.due("budget of "+string(short), r.config.Clock()) {
		r.config.Logger.ErrorContext(ctx, "relayer's budget of this hour is used up", slog.String("of", string(short)),
			slog.String("payer", e.parties[0].name), slog.String("payee", e.parties[1].name))
	}
	return refuseAuthorization(ReasonGasBudget, "settlements have used up the budget of the %s in this hour", short)
}

// alarms limits how often each alarm is logged.
type alarms struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// alarmEvery is the least time between two logs of one alarm.
const alarmEvery = time.Minute

// due reports whether an alarm is to be logged now.
func (a *alarms) due(name string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, raised := a.last[name]; raised && now.Sub(at) < alarmEvery {
		return false
	}
	if a.last == nil {
		a.last = map[string]time.Time{}
	}
	a.last[name] = now
	return true
}
