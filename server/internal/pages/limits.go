package pages

import (
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// limitInput is one of the optional limits on the setup page.
type limitInput struct {
	kind                                 ledger.WindowKind
	id, name, label, subject, hint, fact string
}

var limitInputs = []limitInput{
	{ledger.DailyLimit, "day", "maxDaily", "At most in a day", "The limit for a day", "Days are UTC days.", "A day"},
	{ledger.TotalLimit, "total", "maxTotal", "At most in all", "The limit for all payments", "All payments until the end count.", "In all"},
	{ledger.VelocityLimit, "count", "maxPaymentsPerDay", "Payments a day", "The number of payments a day", "Days are UTC days.", "Payments a day"},
	{ledger.PayeeLimit, "payee", "maxPerPayee", "Per payee in a month", "The limit for one payee", "Months are calendar months, UTC.", "A month to one payee"},
}

func (l limitInput) counts() bool { return l.kind == ledger.VelocityLimit }

// text formats a limit as it is entered.
func (l limitInput) text(limit int64) string {
	if l.counts() {
		return groupedCount(limit)
	}
	return grouped(ledger.Micros(limit))
}

// shown formats a limit for reading.
func (l limitInput) shown(limit int64) string {
	if l.counts() {
		return groupedCount(limit)
	}
	return dollars(ledger.Micros(limit))
}

// most returns the largest limit that a person may enter.
func (l limitInput) most(asked ledger.Terms) int64 {
	if limit := asked.Cap(l.kind); limit > 0 {
		return limit
	}
	if l.counts() {
		return payment.MaxPaymentsPerDay
	}
	return payment.MaxTotalCents * money.MicrosPerCent
}

// read returns the limit that a person entered, zero for none, or a problem.
func (l limitInput) read(text string, asked ledger.Terms) (int64, problem) {
	if strings.TrimSpace(text) == "" && asked.Cap(l.kind) == 0 {
		return 0, problem{}
	}
	limit, err := l.parse(text)
	switch {
	case err != nil && l.counts():
		return 0, problem{field: l.id, text: l.subject + " must be a number such as 10."}
	case err != nil:
		return 0, problem{field: l.id, text: l.subject + " must be an amount such as 25 or 12.50."}
	case limit > l.most(asked):
		return 0, problem{field: l.id, text: fmt.Sprintf("%s can be at most %s.", l.subject, l.shown(l.most(asked)))}
	}
	return limit, problem{}
}

var errNoLimit = errors.New("no positive amount of whole cents, or number")

func (l limitInput) parse(text string) (int64, error) {
	m, err := site.ParseDollars(text)
	if err != nil {
		return 0, err
	}
	_, whole := m.WholeCents()
	if l.counts() {
		whole = !strings.ContainsAny(text, "$.")
		m /= money.MicrosPerDollar
	}
	if m <= 0 || !whole {
		return 0, errNoLimit
	}
	return int64(m), nil
}

func groupedCount(n int64) string {
	s, _, _ := strings.Cut(grouped(ledger.Micros(n)*money.MicrosPerDollar), ".")
	return s
}

func setLimit(t *ledger.Terms, kind ledger.WindowKind, limit int64) {
	switch kind { //nolint:exhaustive // the others are no optional limits
	case ledger.DailyLimit:
		t.MaxDaily = ledger.Micros(limit)
	case ledger.TotalLimit:
		t.MaxTotal = ledger.Micros(limit)
	case ledger.VelocityLimit:
		t.MaxPaymentsPerDay = limit
	case ledger.PayeeLimit:
		t.MaxMonthlyPerPayee = ledger.Micros(limit)
	}
}

// limitsIn returns what a form has in the fields of the optional limits.
func limitsIn(form url.Values) map[ledger.WindowKind]string {
	texts := map[ledger.WindowKind]string{}
	for _, l := range limitInputs {
		texts[l.kind] = form.Get(l.name)
	}
	return texts
}

// limitsAsked returns the texts of the optional limits that a session asks for.
func limitsAsked(t ledger.Terms) map[ledger.WindowKind]string {
	texts := map[ledger.WindowKind]string{}
	for _, l := range limitInputs {
		if limit := t.Cap(l.kind); limit > 0 {
			texts[l.kind] = l.text(limit)
		}
	}
	return texts
}

// limitField is a field of the setup page for an optional limit.
type limitField struct {
	ID, Name, Label, Hint, Value string
	Message                      string // what is wrong with Value

	Money    bool
	Required bool
	Describe template.HTMLAttr
}

// limitFields returns the fields of the limits that a session asks for, and of those that
// the person may add. A limit for one payee is not offered if there is only one.
func limitFields(f faulty, asked ledger.Terms, in entered) (required, optional []limitField) {
	one := len(asked.Payees) == 1 && !slices.Contains(asked.Payees, ledger.AnyPayee)
	for _, l := range limitInputs {
		limit := asked.Cap(l.kind)
		field := limitField{
			ID: l.id, Name: l.name, Label: l.label, Value: in.further[l.kind], Money: !l.counts(),
			Required: limit > 0, Describe: f.Describe(l.id, l.id+"-hint"), Message: f.Message(l.id),
		}
		switch {
		case limit > 0:
			field.Hint = "Asked for: " + l.shown(limit) + ". " + l.hint
			required = append(required, field)
		case l.kind != ledger.PayeeLimit || !one:
			field.Hint = "Empty: no such limit. " + l.hint
			optional = append(optional, field)
		}
	}
	return required, optional
}

// limitFacts returns the optional limits of a mandate in words.
func limitFacts(t ledger.Terms) []fact {
	var facts []fact
	for _, l := range limitInputs {
		if limit := t.Cap(l.kind); limit > 0 {
			facts = append(facts, fact{l.fact, "up to " + l.shown(limit)})
		}
	}
	if t.RoundUpRest {
		facts = append(facts, fact{"At the end", "a remainder of small payments below $0.50 is charged as $0.50"})
	}
	return facts
}

// use is what is used of a limit of a mandate.
type use struct {
	ID, Text    string
	Used, Limit int64
}

// uses returns what is used of a mandate's optional limits, in the current periods.
func uses(m ledger.Mandate, now time.Time) []use {
	var list []use
	day := m.CountingDay(now)
	for _, l := range limitInputs {
		w, ok := m.Window(l.kind, day)
		if !ok {
			continue
		}
		period := "in all"
		if l.kind != ledger.TotalLimit {
			period = "on " + time.Date(int(w.Start/10000), time.Month(w.Start/100%100), int(w.Start%100), 0, 0, 0, 0, time.UTC).Format("2 January 2006")
		}
		what := "spent "
		if w.Counts() {
			what = "payments "
		}
		list = append(list, use{ID: "used-" + strconv.Itoa(len(list)), Used: w.Used, Limit: w.Cap, Text: l.shown(w.Used) + " of " + l.shown(w.Cap) + " " + what + period})
	}
	return list
}
