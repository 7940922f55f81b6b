package api

import (
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// limitsBody are the optional limits of a request.
type limitsBody struct {
	MaxDailySpendCents      *int64 `json:"maxDailySpendCents"`
	MaxTotalSpendCents      *int64 `json:"maxTotalSpendCents"`
	MaxPaymentsPerDay       *int64 `json:"maxPaymentsPerDay"`
	MaxMonthlyPerPayeeCents *int64 `json:"maxMonthlyPerPayeeCents"`
}

// apply validates the limits that the request has, and sets them.
func (in limitsBody) apply(t *ledger.Limits) error {
	for _, l := range []struct {
		param string
		cents *int64
		most  int64
		to    *ledger.Micros
	}{
		{"maxDailySpendCents", in.MaxDailySpendCents, payment.MaxLimitCents, &t.MaxDaily},
		{"maxTotalSpendCents", in.MaxTotalSpendCents, payment.MaxTotalCents, &t.MaxTotal},
		{"maxMonthlyPerPayeeCents", in.MaxMonthlyPerPayeeCents, payment.MaxLimitCents, &t.MaxMonthlyPerPayee},
	} {
		if l.cents == nil {
			continue
		}
		if *l.cents < 1 || *l.cents > l.most {
			return invalid(l.param, fmt.Sprintf("must be an integer of US cents, 1 to %d", l.most))
		}
		var err error
		if *l.to, err = money.Cents(*l.cents).Micros(); err != nil {
			return err
		}
	}
	if n := in.MaxPaymentsPerDay; n != nil {
		if *n < 1 || *n > payment.MaxPaymentsPerDay {
			return invalid("maxPaymentsPerDay", fmt.Sprintf("must be an integer, 1 to %d", payment.MaxPaymentsPerDay))
		}
		t.MaxPaymentsPerDay = *n
	}
	return nil
}

func furtherLimits(t ledger.Limits) client.FurtherLimits {
	return client.FurtherLimits{
		MaxDailySpendCents: int64(t.MaxDaily.CentsDown()), MaxTotalSpendCents: int64(t.MaxTotal.CentsDown()),
		MaxPaymentsPerDay: t.MaxPaymentsPerDay, MaxMonthlyPerPayeeCents: int64(t.MaxMonthlyPerPayee.CentsDown()),
	}
}

// limitsOf returns the limits of a mandate's periods with what is used of them.
func limitsOf(m ledger.Mandate, now time.Time) []client.Limit {
	day := m.CountingDay(now)
	var list []client.Limit
	for _, w := range m.Windows {
		list = append(list, limitView(w.At(day)))
	}
	if most := m.Terms.MaxMonthlyPerPayee; most > 0 {
		month := ledger.Window{Kind: ledger.PayeeLimit, Cap: int64(most)}.At(day)
		list = append(list, client.Limit{
			Kind: client.Code(month.Kind), LimitCents: new(int64(most.CentsDown())), RenewsAt: month.RenewsAt(),
		})
	}
	return list
}

func limitView(w ledger.Window) client.Limit {
	l := client.Limit{Kind: client.Code(w.Kind), RenewsAt: w.RenewsAt()}
	if w.Counts() {
		l.LimitPayments, l.UsedPayments, l.RemainingPayments = new(w.Cap), new(w.Used), new(w.Left())
		return l
	}
	l.LimitCents = new(int64(ledger.Micros(w.Cap).CentsDown()))
	l.UsedCents = new(int64(ledger.Micros(w.Used).CentsUp()))
	l.RemainingCents = new(int64(ledger.Micros(w.Left()).CentsDown()))
	return l
}
