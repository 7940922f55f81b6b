package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// setupForm is what the setup page shows: what was asked for, and what the
// person has entered so far.
type setupForm struct {
	faulty

	Action, Merchant, Website              string
	AskedPerTx, AskedMonthly, AskedExpires string
	AskedDay, Tomorrow                     string
	MaxPerTx, MaxMonthly, Expires, Email   string
	Worst                                  string // what it can cost at most, as asked for
	Anyone, AsksMail                       bool
	Mailed, EmailProof                     string // the address that a code was mailed to, and the proof that it was entered
	Proven                                 bool
	Notice                                 string // what comes next
	AsksRest, RoundUpRest                  bool   // what is left of small payments by card at the end
	Limits, MoreLimits                     []limitField
	MoreOpen                               bool // MoreLimits are shown
	Payees                                 []payeeChoice
	Methods                                methodChoices
	Wallet                                 *walletView // nil: no wallet of one's own
	Card                                   *cardPage   // nil: no card is entered elsewhere
}

type payeeChoice struct {
	ID, Name, Website string
	Checked           bool
}

const dateForm = "2006-01-02"

func (p *Pages) showSetup(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	if s.Status != ledger.SessionPending {
		p.showOutcome(w, r, s)
		return
	}
	p.showForm(w, r, s, http.StatusOK, entered{
		perTx: grouped(s.Terms.MaxPerTx), monthly: grouped(s.Terms.MaxMonthly),
		expires: s.Terms.ExpiresAt.Format(dateForm), payees: s.Terms.Payees, further: limitsAsked(s.Terms),
	}, problem{})
}

func (p *Pages) session(w http.ResponseWriter, r *http.Request) (payment.Session, bool) {
	s, err := p.Payments.Session(r.Context(), r.PathValue("sessionToken"))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		p.missing(w, r)
	case err != nil:
		p.failed(w, r, err)
	}
	return s, err == nil
}

func (p *Pages) showForm(w http.ResponseWriter, r *http.Request, s payment.Session, status int, in entered, wrong problem) {
	m, err := p.Merchants.Merchant(r.Context(), s.MerchantID)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	methods := p.Methods(s.Terms.Rails...)
	f := setupForm{
		faulty: faulty{Error: wrong.text, Wrong: wrong.field}, Action: "/setup/" + s.Token, Merchant: m.Name, Website: host(m.Website),
		AskedPerTx: dollars(s.Terms.MaxPerTx), AskedMonthly: dollars(s.Terms.MaxMonthly), AskedDay: day(s.Terms.ExpiresAt),
		AskedExpires: s.Terms.ExpiresAt.Format(dateForm), Tomorrow: p.Clock().UTC().AddDate(0, 0, 1).Format(dateForm),
		MaxPerTx: in.perTx, MaxMonthly: in.monthly, Expires: in.expires, Email: in.email,
		Anyone: slices.Contains(s.Terms.Payees, ledger.AnyPayee), AsksMail: p.Mails != nil, Methods: choices(methods, in.method),
	}
	if wrong.notice {
		f.faulty, f.Notice = faulty{}, wrong.text
	}
	if f.Proven = p.proven(s, in); f.Proven {
		f.EmailProof = in.proven
	} else if in.email != "" && in.mailed == in.email {
		f.Mailed = in.mailed
	}
	payees, err := p.payeeNames(r.Context(), s.Terms)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	f.Limits, f.MoreLimits = limitFields(f.faulty, s.Terms, in)
	f.MoreOpen = slices.ContainsFunc(f.MoreLimits, func(l limitField) bool { return l.Value != "" })
	f.AsksRest, f.RoundUpRest = slices.Contains(s.Terms.Rails, rail.Card), in.roundUpRest
	asked := s.Terms
	asked.RoundUpRest = f.AsksRest && f.RoundUpRest
	f.Worst = worst(asked, p.Clock(), payees)
	if f.Payees, err = p.payeeChoices(r.Context(), s.Terms.Payees, in.payees); err != nil {
		p.failed(w, r, err)
		return
	}
	f.Card = p.cardPage(s, in)
	if wallets, ok := p.Payments.Wallets(s.Terms.Rails); ok {
		checked := in.method == ownWallet || (in.method == "" && len(methods) == 0)
		f.Wallet = &walletView{
			network: networkOf(wallets), Checked: checked,
			Joins: slices.Contains(s.Terms.Rails, rail.Card), Also: in.also,
		}
	}
	p.render(w, r, status, p.setup, "Confirm limits for "+m.Name, f)
}

// host is the part of a website's address that people know it by.
func host(website string) string {
	if u, err := url.Parse(website); err == nil {
		return u.Host
	}
	return ""
}

func (p *Pages) payeeChoices(ctx context.Context, asked, checked []string) ([]payeeChoice, error) {
	var choices []payeeChoice
	for _, id := range asked {
		if id == ledger.AnyPayee {
			return nil, nil
		}
		m, err := p.Merchants.Merchant(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read merchant %s: %w", id, err)
		}
		choices = append(choices, payeeChoice{ID: id, Name: m.Name, Website: host(m.Website), Checked: slices.Contains(checked, id)})
	}
	return choices, nil
}

// decide takes the form: confirmed or declined.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok {
		return
	}
	if !p.Site.ParseForm(w, r) {
		return
	}
	switch r.PostForm.Get("action") {
	case "card":
		p.leave(w, r, s)
		return
	case "code":
		p.askForCode(w, r, s)
		return
	}
	var err error
	var wrong problem
	var confirmed ledger.Mandate
	if r.PostForm.Get("action") == "decline" {
		err = p.Payments.Decline(r.Context(), s.Token)
	} else {
		in := enteredIn(r.PostForm)
		if confirmed, wrong, err = p.confirm(r.Context(), s, &in); wrong.text != "" {
			p.showForm(w, r, s, http.StatusUnprocessableEntity, in, wrong)
			return
		}
	}
	if err != nil && !errors.Is(err, ledger.ErrSessionFinished) {
		p.failed(w, r, err)
		return
	}
	p.decided(w, r, s, confirmed)
}

// askForCode mails a code and shows the form again.
func (p *Pages) askForCode(w http.ResponseWriter, r *http.Request, s payment.Session) {
	if s.Status != ledger.SessionPending {
		p.decided(w, r, s, ledger.Mandate{})
		return
	}
	in := enteredIn(r.PostForm)
	wrong, err := problem{field: fieldEmail, text: "The email address is not complete."}, error(nil)
	if in.email != "" && p.Mails != nil {
		wrong, err = p.mailCode(r.Context(), s, &in)
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	status := http.StatusUnprocessableEntity
	if wrong.field == fieldCode {
		status = http.StatusOK
	}
	p.showForm(w, r, s, status, in, wrong)
}

// decided redirects to the page that says how a session ended. The one who confirmed
// gets an address with the mandate's proof, whose page names the private page; the
// merchant, who knows the session's token too, has no such address.
func (p *Pages) decided(w http.ResponseWriter, r *http.Request, s payment.Session, confirmed ledger.Mandate) {
	to := "/setup/" + s.Token
	if confirmed.ID != "" {
		to += "/" + p.Payments.MandateProof(confirmed.ID)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// confirm tries to complete the session. The problem is what the person can put right.
func (p *Pages) confirm(ctx context.Context, s payment.Session, in *entered) (m ledger.Mandate, wrong problem, err error) {
	if s.Status != ledger.SessionPending {
		return m, problem{}, ledger.ErrSessionFinished
	}
	terms, wrong := p.terms(s.Terms, *in)
	if wrong.text != "" {
		return m, wrong, nil
	}
	terms.RoundUpRest = in.roundUpRest // by card only: see Confirm
	if p.Mails == nil {
		in.email = "" // it was not asked for
	}
	if wrong, err = p.proveEmail(ctx, s, in); wrong.text != "" || err != nil {
		return m, wrong, err
	}
	methods, text, err := p.methods(ctx, s, terms, *in)
	if text != "" || err != nil {
		return m, problem{field: fieldMethod, text: text}, err
	}
	m, err = p.Payments.Confirm(ctx, s.Token, payment.Confirmation{
		Terms: terms, Methods: methods, Email: in.email, Prepare: p.prepare(s.Terms.Rails, *in),
	})
	var refused *payment.MethodError
	switch {
	case err == nil:
		p.Audit.Did(ctx, audit.Person(m.ID), "mandate.confirm", m.ID, slog.String("merchantId", m.MerchantID))
		p.Audit.Record(ctx, audit.MandateConfirmed, slog.String("mandateId", m.ID), slog.String("merchantId", m.MerchantID))
		p.hasten(ctx, m)
		return m, problem{}, nil
	case errors.As(err, &refused) && refused.AttemptsLeft > 0:
		return m, problem{field: fieldMethod, text: fmt.Sprintf("This payment method was refused (%s). Choose another one; attempts left: %d.",
			strings.ReplaceAll(string(refused.Reason), "_", " "), refused.AttemptsLeft)}, nil
	case errors.As(err, &refused):
		return m, problem{}, nil // the session has failed, and its page says so
	case errors.Is(err, rail.ErrUnknownMethod):
		return m, problem{field: fieldMethod, text: chooseMethod}, nil
	case errors.Is(err, payment.ErrNoEmail):
		return m, problem{field: fieldEmail, text: "The email address is not complete."}, nil
	case errors.Is(err, ledger.ErrWidened):
		return m, problem{text: "You can lower what was asked for, not raise it."}, nil
	}
	return m, problem{}, err
}
