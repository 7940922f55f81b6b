package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// noticesForm is the part of a private page about what is mailed.
type noticesForm struct {
	faulty

	Action, To, Above string
	Limits            bool
	Most              int
}

const fieldAbove = "above"

// noticesForm returns the form of a mandate; nil if nothing can be mailed.
func (p *Pages) noticesForm(ctx context.Context, m ledger.Mandate) (*noticesForm, error) {
	if p.Mails == nil || m.Email == "" {
		return nil, nil
	}
	n, err := p.Notices.Notices(ctx, m.ID)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return nil, err
	}
	f := &noticesForm{Action: p.pathOf(m, "notices"), To: hint(m.Email), Limits: n.Limits, Most: p.MostNotices}
	if n.Above > 0 {
		f.Above = grouped(n.Above)
	}
	return f, nil
}

// hint returns an address of which only the owner knows the rest: the private page may be
// opened by others to whom its link was given.
func hint(email string) string {
	name, domain, _ := strings.Cut(email, "@")
	first, _ := utf8.DecodeRuneInString(name)
	return string(first) + "…@" + domain
}

func (p *Pages) askForNotices(w http.ResponseWriter, r *http.Request) {
	if m, ok := p.privateMandate(w, r); ok {
		p.showNotices(w, r, m, http.StatusOK, nil)
	}
}

// showNotices shows the form: as stored, or as it was sent.
func (p *Pages) showNotices(w http.ResponseWriter, r *http.Request, m ledger.Mandate, status int, sent *noticesForm) {
	f, err := p.noticesForm(r.Context(), m)
	switch {
	case err != nil:
		p.failed(w, r, err)
		return
	case f == nil:
		http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
		return
	case sent != nil:
		f.faulty, f.Above, f.Limits = sent.faulty, sent.Above, sent.Limits
	}
	p.render(w, r, status, p.notify, "What is mailed to you", struct {
		*noticesForm
		Back string
	}{f, p.Payments.MandateURL(m.ID)})
}

func (p *Pages) setNotices(w http.ResponseWriter, r *http.Request) {
	m, ok := p.privateMandate(w, r)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	sent := &noticesForm{Above: strings.TrimSpace(r.PostForm.Get("above")), Limits: r.PostForm.Get("limits") == "yes"}
	n := store.Notices{MandateID: m.ID, Limits: sent.Limits}
	if sent.Above != "" {
		above, err := site.ParseDollars(sent.Above)
		if _, whole := above.WholeCents(); err != nil || !whole || above < money.MicrosPerDollar {
			sent.faulty = faulty{Error: "The amount must be at least $1, such as 25 or 12.50. Leave it empty to get no mail about payments.", Wrong: fieldAbove}
			p.showNotices(w, r, m, http.StatusUnprocessableEntity, sent)
			return
		}
		n.Above = above
	}
	if m.Email != "" {
		if err := p.Notices.PutNotices(r.Context(), n); err != nil {
			p.failed(w, r, err)
			return
		}
		p.Audit.Did(r.Context(), audit.Person(m.ID), "mandate.notices", m.ID, slog.Bool("limits", n.Limits), slog.Int64("aboveMicros", int64(n.Above)))
	}
	http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
}

// LimitUsed writes the letter about a limit of which 50, 80 or 100 percent is used. It has no
// recipient if that is so no more.
func (p *Pages) LimitUsed(ctx context.Context, mandateID string, kind ledger.WindowKind, level int) (letter.Letter, error) {
	m, err := p.Payments.Ledger.Mandate(ctx, mandateID)
	if err != nil {
		return letter.Letter{}, err
	}
	now := p.Clock()
	w, ok := m.Window(kind, m.CountingDay(now))
	if !ok || w.UsedPercent() < level || m.Status == ledger.MandateRevoked || !now.Before(m.Terms.ExpiresAt) {
		return letter.Letter{}, nil
	}
	payees, err := p.payeeNames(ctx, m.Terms)
	if err != nil {
		return letter.Letter{}, err
	}
	limit := "the limit for " + now.UTC().Format("January 2006")
	if kind == ledger.TotalLimit {
		limit = "the limit in all"
	}
	subjectLine := map[int]string{50: "Half of %s is used", 80: "80 %% of %s is used"}[level]
	after := fmt.Sprintf("%s more can be paid.", dollars(ledger.Micros(w.Left())))
	if level == 100 {
		subjectLine, after = "All of %s is used", "Nothing more can be paid until it renews."
		if kind == ledger.TotalLimit {
			after = "Nothing more can be paid with this mandate."
		}
	}
	return p.aboutMandate(m, letter.Letter{
		Subject: fmt.Sprintf(subjectLine, limit),
		Intro:   fmt.Sprintf("An agent pays %s for you. Of %s, %s of %s is used.", payees, limit, dollars(ledger.Micros(w.Used)), dollars(ledger.Micros(w.Cap))),
		Lines:   []string{after},
	}), nil
}

// PaymentMade writes the letter about a payment.
func (p *Pages) PaymentMade(ctx context.Context, chargeID string) (letter.Letter, error) {
	c, err := p.Payments.Ledger.Charge(ctx, chargeID)
	if err != nil {
		return letter.Letter{}, err
	}
	m, err := p.Payments.Ledger.Mandate(ctx, c.MandateID)
	if err != nil {
		return letter.Letter{}, err
	}
	rows, err := p.paymentRows(ctx, []ledger.Charge{c})
	if err != nil {
		return letter.Letter{}, err
	}
	return p.aboutMandate(m, letter.Letter{
		Subject: "An agent paid " + dollars(c.Amount) + " for you",
		Intro:   fmt.Sprintf("An agent paid %s to %s for you.", dollars(c.Amount), rows[0].Payee),
		Lines:   []string{"For: “" + c.Description + "”", "When: " + c.CreatedAt.UTC().Format(time.RFC1123), "Receipt: " + rows[0].Receipt},
	}), nil
}

// aboutMandate completes a letter about a mandate.
func (p *Pages) aboutMandate(m ledger.Mandate, l letter.Letter) letter.Letter {
	l.To, l.Footer = m.Email, "Mandate "+m.ID
	l.Action, l.Link = "See every payment, lower the limits, or stop them", p.Payments.MandateURL(m.ID)
	l.Notes = []string{"On the same page you choose what is mailed to you.", "Keep this link to yourself: anyone who has it can do the same."}
	return l
}
