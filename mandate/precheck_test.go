package mandate_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

func TestPrecheck(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m, err := f.verifier().Verify(t.Context(), f.issue(t).Reveal())
	require.NoError(t, err)
	m.NotBefore = m.IssuedAt
	good := mandate.Payment{AmountMicros: 5_000_000, Payee: "mer_0001", Rail: mandate.ChainRail}
	for name, c := range map[string]struct {
		reason mandate.Reason
		class  error
		at     time.Time
		change func(p *mandate.Payment)
	}{
		"the whole limit":      {"", nil, f.now, func(*mandate.Payment) {}},
		"least amount":         {"", nil, f.now, func(p *mandate.Payment) { p.AmountMicros = 1 }},
		"any rail":             {"", nil, f.now, func(p *mandate.Payment) { p.Rail = "" }},
		"last moment":          {"", nil, m.ExpiresAt.Add(-1), func(*mandate.Payment) {}},
		"first moment":         {"", nil, m.NotBefore, func(*mandate.Payment) {}},
		"a micro above":        {mandate.PerTx, mandate.ErrPerTxLimit, f.now, func(p *mandate.Payment) { p.AmountMicros++ }},
		"largest amount":       {mandate.PerTx, mandate.ErrPerTxLimit, f.now, func(p *mandate.Payment) { p.AmountMicros = math.MaxInt64 }},
		"nothing":              {mandate.BadAmount, mandate.ErrBadPayment, f.now, func(p *mandate.Payment) { p.AmountMicros = 0 }},
		"negative":             {mandate.BadAmount, mandate.ErrBadPayment, f.now, func(p *mandate.Payment) { p.AmountMicros = math.MinInt64 }},
		"other payee":          {mandate.PayeeNotAllowed, mandate.ErrPayeeNotAllowed, f.now, func(p *mandate.Payment) { p.Payee = "mer_0003" }},
		"payee in other case":  {mandate.PayeeNotAllowed, mandate.ErrPayeeNotAllowed, f.now, func(p *mandate.Payment) { p.Payee = "MER_0001" }},
		"no payee":             {mandate.PayeeNotAllowed, mandate.ErrPayeeNotAllowed, f.now, func(p *mandate.Payment) { p.Payee = "" }},
		"the wildcard's id":    {mandate.PayeeNotAllowed, mandate.ErrPayeeNotAllowed, f.now, func(p *mandate.Payment) { p.Payee = "*" }},
		"other rail":           {mandate.RailNotAllowed, mandate.ErrRailNotAllowed, f.now, func(p *mandate.Payment) { p.Rail = "goldrail" }},
		"over":                 {mandate.Expired, mandate.ErrExpired, m.ExpiresAt, func(*mandate.Payment) {}},
		"too early":            {mandate.NotYetValid, mandate.ErrInvalid, m.NotBefore.Add(-1), func(*mandate.Payment) {}},
		"payee before limit":   {mandate.PayeeNotAllowed, mandate.ErrPayeeNotAllowed, f.now, func(p *mandate.Payment) { p.Payee, p.AmountMicros = "x", 1<<50 }},
		"expiry before payee":  {mandate.Expired, mandate.ErrExpired, m.ExpiresAt, func(p *mandate.Payment) { p.Payee = "x" }},
		"amount before expiry": {mandate.BadAmount, mandate.ErrBadPayment, m.ExpiresAt, func(p *mandate.Payment) { p.AmountMicros = 0 }},
	} {
		p := good
		c.change(&p)
		err := m.Precheck(p, c.at)
		require.Equal(t, c.reason, reasonOf(t, err), name)
		if c.class != nil {
			require.ErrorIs(t, err, c.class, name)
		}
	}
}

func TestPrecheckDoesNotOverflow(t *testing.T) {
	t.Parallel()
	m := mandate.Mandate{
		Limits: mandate.Limits{MaxPerTxCents: 1<<53 - 1, MaxMonthlyCents: 1<<53 - 1}, Payees: []mandate.Payee{mandate.AnyPayee()},
		Rails: []mandate.Rail{mandate.CardRail}, ExpiresAt: time.Unix(2, 0),
	}
	require.NoError(t, m.Precheck(mandate.Payment{AmountMicros: math.MaxInt64, Payee: "x"}, time.Unix(1, 0)))
}
