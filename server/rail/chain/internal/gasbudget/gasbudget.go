// Package gasbudget limits what settlements may cost the relayer in an hour, for each
// payer, payee and caller and in total. The counters are in memory: a restart forgets
// them.
package gasbudget

import (
	"math/big"
	"sync"
	"time"
)

const (
	// revertFactor is how many times its cost a settlement that reverts counts against
	// its payer.
	revertFactor = 10
	// MaxParties bounds the memory. If there are more parties in an hour, the counters
	// of all but the relayer are reset.
	MaxParties = 200_000

	weiPerGwei = 1_000_000_000
	most       = 1 << 62 // of a cost, so that sums do not overflow
)

// Cost is what a transaction may cost at most.
type Cost struct {
	// Gas is the units of gas, Gwei their price in all.
	Gas, Gwei uint64
}

// CostOf returns the cost of an amount of gas at a price in wei.
func CostOf(gas uint64, feeCap *big.Int) Cost {
	gwei := new(big.Int).Mul(feeCap, new(big.Int).SetUint64(gas))
	gwei.Add(gwei, big.NewInt(weiPerGwei-1)).Quo(gwei, big.NewInt(weiPerGwei))
	if !gwei.IsUint64() {
		return Cost{gas, most}
	}
	return Cost{gas, min(gwei.Uint64(), most)}
}

func (c Cost) plus(d Cost) Cost { return Cost{c.Gas + d.Gas, c.Gwei + d.Gwei} }

// minus returns what is left of c, and zero for what d exceeds.
func (c Cost) minus(d Cost) Cost {
	return Cost{c.Gas - min(c.Gas, d.Gas), c.Gwei - min(c.Gwei, d.Gwei)}
}

func (c Cost) times(n uint64) Cost { return Cost{c.Gas * n, c.Gwei * n} }

func (c Cost) within(limit Cost) bool { return c.Gas <= limit.Gas && c.Gwei <= limit.Gwei }

// Role is the role in which a party makes the relayer spend.
type Role string

// Roles of parties.
const (
	Payer         Role = "payer"
	ContractPayer Role = "contract payer" // can revert at will
	Payee         Role = "payee"
	Caller        Role = "caller"
	Relayer       Role = "relayer" // all settlements together
)

// Party is the holder of a budget.
type Party struct {
	Role Role
	Name string
}

// Expense is what a settlement may cost, and the parties whose budgets it counts
// against.
type Expense struct {
	Cost    Cost
	Parties []Party

	hour time.Time // in which it counts
}

// Limits returns the budget of a role in an hour.
type Limits func(Role) Cost

// Budget counts expenses by hour. Its zero value is ready to use, and it is safe for
// concurrent use.
type Budget struct {
	mu    sync.Mutex
	hour  time.Time
	spent map[Party]Cost
	taken map[string]Expense // by task, until the task has ended
}

// Take counts a task's expense against the budgets of all its parties. If one of them
// does not allow it, Take counts nothing and returns that party's role and false.
func (b *Budget) Take(now time.Time, task string, e Expense, limits Limits) (short Role, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now, limits)
	for _, p := range e.Parties {
		if !b.spent[p].plus(e.Cost).within(limits(p.Role)) {
			return p.Role, false
		}
	}
	for _, p := range e.Parties {
		b.spent[p] = b.spent[p].plus(e.Cost)
	}
	e.hour = b.hour
	b.taken[task] = e
	return "", true
}

// roll begins a new hour if it is time. What a party spent beyond its budget counts in
// the new hour. If there are too many parties, roll resets their counters within the
// hour, except for the relayer's.
func (b *Budget) roll(now time.Time, limits Limits) {
	hour := now.Truncate(time.Hour)
	if b.spent != nil && hour.Equal(b.hour) && len(b.spent) <= MaxParties {
		return
	}
	owed := map[Party]Cost{}
	for p, c := range b.spent {
		if rest := c.minus(limits(p.Role)); rest != (Cost{}) && len(b.spent) <= MaxParties {
			owed[p] = rest
		}
	}
	if all := (Party{Role: Relayer}); hour.Equal(b.hour) && b.spent != nil {
		owed[all] = b.spent[all]
	} else if rest := b.spent[all].minus(limits(Relayer)); rest != (Cost{}) {
		owed[all] = rest
	}
	b.hour, b.spent = hour, owed
	if b.taken == nil || len(b.taken) > MaxParties {
		b.taken = map[string]Expense{}
	}
}

// GiveBack undoes Take for a task whose transaction was not sent.
func (b *Budget) GiveBack(task string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.taken[task]
	for _, p := range e.Parties {
		b.uncount(e, p)
	}
	delete(b.taken, task)
}

// uncount takes an expense off a party's counter. The counter of an earlier hour is
// gone, and the present one never had the expense.
func (b *Budget) uncount(e Expense, p Party) {
	if e.hour.Equal(b.hour) {
		b.spent[p] = b.spent[p].minus(e.Cost)
	}
}

// End forgets a task. If its transaction reverted, the payer's budget pays a multiple
// of the cost, and the payee's nothing, because any caller can name any payee. The
// caller requested the transaction and pays as before.
func (b *Budget) End(task string, reverted bool) {
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
	for _, p := range e.Parties {
		switch p.Role {
		case Payer, ContractPayer:
			b.spent[p] = b.spent[p].plus(e.Cost.times(revertFactor - 1))
		case Payee:
			b.uncount(e, p)
		case Caller, Relayer: // spent in any case
		}
	}
}
