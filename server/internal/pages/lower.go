package pages

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// lowerForm is the page on which a person lowers the limits of a mandate, or adds some.
type lowerForm struct {
	faulty

	Action, Back, Payees string
	OnChain              bool
	Limits, MoreLimits   []limitField
	MoreOpen             bool // MoreLimits are shown
}

func (p *Pages) askForLimits(w http.ResponseWriter, r *http.Request) {
	if m, ok := p.privateMandate(w, r); ok {
		p.showLower(w, r, m, http.StatusOK, limitsOf(m), problem{})
	}
}

// limitsOf returns a mandate's limits as they are entered.
func limitsOf(m ledger.Mandate) entered {
	return entered{
		perTx: grouped(m.Terms.MaxPerTx), monthly: grouped(m.Terms.MaxMonthly),
		expires: m.Terms.ExpiresAt.Format(dateForm), payees: m.Terms.Payees, further: limitsAsked(m.Terms),
	}
}

func (p *Pages) showLower(w http.ResponseWriter, r *http.Request, m ledger.Mandate, status int, in entered, wrong problem) {
	if m.Status == ledger.MandateRevoked || !p.Clock().Before(m.Terms.ExpiresAt) {
		http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
		return
	}
	payees, err := p.payeeNames(r.Context(), m.Terms)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	f := lowerForm{
		faulty: faulty{Error: wrong.text, Wrong: wrong.field}, Action: p.pathOf(m, "limits"), Back: p.Payments.MandateURL(m.ID), Payees: payees,
		OnChain: slices.Contains(m.Terms.Rails, rail.Chain),
	}
	field := func(id, name, label, value, now string) limitField {
		return limitField{
			ID: id, Name: name, Label: label, Value: value, Hint: "Now: " + now + ".",
			Money: id != "count", Required: true, Describe: f.Describe(id, id+"-hint"), Message: f.Message(id),
		}
	}
	_, further := limitFields(f.faulty, m.Terms, in)
	f.Limits = []limitField{
		field(fieldPer, "maxPerTx", "At most for one payment", in.perTx, dollars(m.Terms.MaxPerTx)),
		field(fieldMonth, "maxMonthly", "At most in a month", in.monthly, dollars(m.Terms.MaxMonthly)),
	}
	for _, l := range limitInputs {
		if limit := m.Terms.Cap(l.kind); limit > 0 {
			f.Limits = append(f.Limits, field(l.id, l.name, l.label, in.further[l.kind], l.shown(limit)))
		}
	}
	f.MoreLimits = further
	f.MoreOpen = slices.ContainsFunc(further, func(l limitField) bool { return l.Value != "" })
	p.render(w, r, status, p.lower, "Lower the limits", f)
}

// lowerLimits takes the form. A limit that it has no field for stays, and one that is left empty
// is not added.
func (p *Pages) lowerLimits(w http.ResponseWriter, r *http.Request) {
	m, ok := p.privateMandate(w, r)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	in := limitsOf(m)
	in.perTx, in.monthly = r.PostForm.Get("maxPerTx"), r.PostForm.Get("maxMonthly")
	for _, l := range limitInputs {
		if r.PostForm.Has(l.name) {
			in.further[l.kind] = r.PostForm.Get(l.name)
		}
	}
	terms, wrong := p.terms(m.Terms, in)
	terms.ExpiresAt, terms.Payees = m.Terms.ExpiresAt, m.Terms.Payees
	if wrong.text == "" {
		var err error
		if wrong, err = p.lowerTo(r, m, terms); err != nil {
			p.failed(w, r, err)
			return
		}
	}
	if wrong.text != "" {
		p.showLower(w, r, m, http.StatusUnprocessableEntity, in, wrong)
		return
	}
	http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
}

func (p *Pages) lowerTo(r *http.Request, m ledger.Mandate, terms ledger.Terms) (problem, error) {
	_, err := p.Payments.Ledger.LowerLimits(r.Context(), m.ID, terms)
	var (
		used  *ledger.UsedError
		ended *ledger.Refusal
	)
	switch {
	case err == nil:
		p.Audit.Did(r.Context(), audit.Person(m.ID), "mandate.lower", m.ID)
		p.Audit.Record(r.Context(), audit.LimitsLowered, slog.String("mandateId", m.ID))
		return problem{}, nil
	case errors.As(err, &ended):
		return problem{}, nil // its page says so
	case errors.As(err, &used):
		return tooLow(used), nil
	case errors.Is(err, ledger.ErrWidened): // it was lowered meanwhile
		return problem{text: "You can lower the limits, not raise them. They may have been lowered since you opened this page."}, nil
	}
	return problem{}, err
}

// tooLow says what a limit can be lowered to.
func tooLow(used *ledger.UsedError) problem {
	const rest = " To allow nothing more, stop all payments."
	if used.Kind == ledger.MonthlyLimit {
		return problem{field: fieldMonth, text: "This month " + dollars(ledger.Micros(used.Used)) + " is used already: the limit for a month cannot be lower." + rest}
	}
	for _, l := range limitInputs {
		if l.kind == used.Kind {
			return problem{field: l.id, text: l.subject + " cannot be lower than the " + l.shown(used.Used) + " that are used of it already." + rest}
		}
	}
	return problem{text: used.Error()}
}
