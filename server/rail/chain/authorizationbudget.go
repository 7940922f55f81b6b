package chain

import (
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

// gasBudget counts what the relayer may have spent for each payer and payee in
// this hour, in memory: a restart forgets it.
type gasBudget struct {
	mu    sync.Mutex
	hour  time.Time
	spent map[budgetOf]uint64
}

type budgetOf struct {
	party common.Address
	payee bool
}

// maxParties bounds the memory; the hour starts anew where there are more.
const maxParties = 200_000

func (b *gasBudget) take(now time.Time, gas uint64, limits Authorizations, payer, payee common.Address) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if hour := now.Truncate(time.Hour); b.spent == nil || !hour.Equal(b.hour) || len(b.spent) > maxParties {
		b.hour, b.spent = hour, map[budgetOf]uint64{}
	}
	from, to := budgetOf{payer, false}, budgetOf{payee, true}
	if b.spent[from]+gas > limits.PayerGas || b.spent[to]+gas > limits.PayeeGas {
		return false
	}
	b.spent[from] += gas
	b.spent[to] += gas
	return true
}
