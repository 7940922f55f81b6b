package mandate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// AP2's constraint types.
const (
	typeRange       = "payment.amount_range"
	typeBudget      = "payment.budget"
	typeRecurrence  = "payment.agent_recurrence"
	typePayees      = "payment.allowed_payees"
	typeInstruments = "payment.allowed_payment_instruments"
)

// stated holds the limits that the constraints state.
type stated struct {
	maxPerTx, maxMonthly               int64 // cents
	rangeCurrency, budgetCurrency      string
	hasRange, hasBudget, hasRecurrence bool
}

// readConstraints checks rules 28 and 29.
func (v *verified) readConstraints(list *ijson.Value) error {
	if list.Kind() != ijson.Array {
		return refuse(BadConstraints)
	}
	var t stated
	for c := range list.Children() {
		if !v.readConstraint(c, &t) {
			return refuse(BadConstraints)
		}
	}
	if !t.hasRange || !t.hasBudget || !t.hasRecurrence || len(v.Payees) == 0 || len(v.Rails) == 0 {
		return refuse(BadConstraints)
	}
	if t.rangeCurrency != "USD" || t.budgetCurrency != "USD" ||
		t.maxPerTx != v.Limits.MaxPerTxCents || t.maxMonthly != v.Limits.MaxMonthlyCents {
		return refuse(ConstraintsMismatch)
	}
	return nil
}

// readConstraint reads one constraint. Its type must not repeat, and all members must be known.
func (v *verified) readConstraint(c *ijson.Value, t *stated) (ok bool) {
	kind, _ := c.Get("type").Str()
	members := c.Len()
	switch kind {
	case typeRange:
		return members == 4 && first(&t.hasRange) && t.readRange(c)
	case typeBudget:
		return members == 3 && first(&t.hasBudget) && t.readBudget(c)
	case typeRecurrence:
		return members == 2 && first(&t.hasRecurrence) && c.Get("frequency").Is("ON_DEMAND")
	case typePayees:
		return members == 2 && v.Payees == nil && v.readPayees(c.Get("allowed"))
	case typeInstruments:
		return members == 2 && v.Rails == nil && v.readRails(c.Get("allowed"))
	default:
		return false
	}
}

// first sets a mark and reports whether it was unset before.
func first(mark *bool) bool {
	was := *mark
	*mark = true
	return !was
}

func (t *stated) readRange(c *ijson.Value) bool {
	var okCurrency, okMax bool
	t.rangeCurrency, okCurrency = c.Get("currency").Str()
	t.maxPerTx, okMax = c.Get("max").Int(1, maxSafe)
	_, okMin := c.Get("min").Int(1, 1)
	return okCurrency && okMax && okMin
}

func (t *stated) readBudget(c *ijson.Value) bool {
	var okCurrency, okMax bool
	t.budgetCurrency, okCurrency = c.Get("currency").Str()
	literal, _ := c.Get("max").Literal()
	t.maxMonthly, okMax = centsOf(literal)
	return okCurrency && okMax
}

// centsOf parses dollars written as a plain decimal with at most two decimals. It does not
// round: AP2's own floating-point arithmetic loses cents.
func centsOf(literal string) (int64, bool) {
	whole, frac, dot := strings.Cut(literal, ".")
	if whole == "" || len(frac) > 2 || (dot && frac == "") {
		return 0, false
	}
	for len(frac) < 2 {
		frac += "0"
	}
	n, err := strconv.ParseUint(whole+frac, 10, 63) // takes no sign and no exponent
	return int64(n), err == nil && n > 0
}

func (v *verified) readPayees(allowed *ijson.Value) bool {
	if allowed.Kind() != ijson.Array {
		return false
	}
	v.Payees = make([]Payee, 0, allowed.Len())
	for e := range allowed.Children() {
		id, _ := e.Get("id").Str()
		name, _ := e.Get("name").Str()
		website, ok := e.Get("website").Str()
		if id == "" || name == "" || (!ok && e.Get("website") != nil) {
			return false
		}
		v.Payees = append(v.Payees, Payee{strings.Clone(id), strings.Clone(name), strings.Clone(website)})
	}
	return true
}

func (v *verified) readRails(allowed *ijson.Value) bool {
	if allowed.Kind() != ijson.Array {
		return false
	}
	v.Rails = make([]Rail, 0, 2)
	for e := range allowed.Children() {
		id, _ := e.Get("id").Str()
		r := known(id)
		if r == "" {
			return false
		}
		if !slices.Contains(v.Rails, r) {
			v.Rails = append(v.Rails, r)
		}
	}
	return true
}

// known returns the rail with that name, or "" if there is none.
func known(id string) Rail {
	switch r := Rail(id); r {
	case CardRail:
		return CardRail
	case ChainRail:
		return ChainRail
	default:
		return ""
	}
}
