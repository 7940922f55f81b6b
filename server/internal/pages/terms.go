package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// entered is what a person has filled in, as text.
type entered struct {
	perTx, monthly, expires, email, method string
	also                                   bool // the wallet joins the card
	payees                                 []string
	roundUpRest                            bool
	further                                map[ledger.WindowKind]string // the optional limits
	proposal                               string                       // that a wallet has signed
	signatures                             []string
	connected                              string // the proof of a method that was entered elsewhere
	mailed, code, proven                   string // the address that a code was mailed to, the code, and the proof of the address
}

func enteredIn(form url.Values) entered {
	return entered{
		perTx: form.Get("maxPerTx"), monthly: form.Get("maxMonthly"), expires: form.Get("expires"),
		email: strings.TrimSpace(form.Get("email")), method: form.Get("method"), payees: form["payee"],
		proposal: form.Get("proposal"), signatures: form["signature"], further: limitsIn(form),
		roundUpRest: form.Get("roundUpRest") == "yes", also: form.Get("also") == ownWallet,
		connected: form.Get("connected"), mailed: form.Get("mailed"), code: strings.TrimSpace(form.Get("code")), proven: form.Get("proven"),
	}
}

// terms reads what the person entered; a problem says what to change.
func (p *Pages) terms(asked ledger.Terms, in entered) (ledger.Terms, problem) {
	t := asked
	for _, f := range []struct {
		field, name, text string
		max               ledger.Micros
		to                *ledger.Micros
	}{
		{fieldPer, "The limit for one payment", in.perTx, asked.MaxPerTx, &t.MaxPerTx},
		{fieldMonth, "The limit for a month", in.monthly, asked.MaxMonthly, &t.MaxMonthly},
	} {
		m, err := site.ParseDollars(f.text)
		if _, whole := m.WholeCents(); err != nil || !whole || m <= 0 {
			return t, problem{field: f.field, text: f.name + " must be an amount such as 25 or 12.50."}
		}
		if m > f.max {
			return t, problem{field: f.field, text: fmt.Sprintf("%s can be at most %s.", f.name, dollars(f.max))}
		}
		*f.to = m
	}
	for _, l := range limitInputs {
		limit, wrong := l.read(in.further[l.kind], asked)
		if wrong.text != "" {
			return t, wrong
		}
		setLimit(&t, l.kind, limit)
	}
	if t.MaxPerTx > t.MaxMonthly {
		return t, problem{field: fieldPer, text: "The limit for one payment cannot be higher than the limit for a month."}
	}
	until, err := time.Parse(dateForm, in.expires)
	switch {
	case err != nil:
		return t, problem{field: fieldUntil, text: "The end date must be a date such as 2027-01-31."}
	case until.Format(dateForm) == asked.ExpiresAt.Format(dateForm): // the last day ends when it was asked to
	case !until.After(p.Clock()):
		return t, problem{field: fieldUntil, text: "The end date must be in the future."}
	case until.After(asked.ExpiresAt):
		return t, problem{field: fieldUntil, text: "The end date can be at most " + day(asked.ExpiresAt) + "."}
	default:
		t.ExpiresAt = until
	}
	if len(asked.Payees) > 1 {
		t.Payees = in.payees
		if len(t.Payees) == 0 || !subset(t.Payees, asked.Payees) {
			return t, problem{field: fieldPayees, text: "Choose at least one of those who may be paid."}
		}
	}
	return t, problem{}
}

// subset reports whether every one is among all.
func subset(every, all []string) bool {
	return !slices.ContainsFunc(every, func(one string) bool { return !slices.Contains(all, one) })
}
