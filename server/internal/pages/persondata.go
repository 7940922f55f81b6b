package pages

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// exported is the largest number of payments of one mandate, or draws of one tab, in an export.
	exported = 100_000
	// eraseWithin is the time after a sign-in in which a person may erase data.
	eraseWithin = 10 * time.Minute
)

// dataPage is the page about a person's data.
type dataPage struct {
	Account string
	Fresh   bool // the person may erase now
	Active  int  // mandates on the first page that can still be charged
}

func (p *Pages) showData(w http.ResponseWriter, r *http.Request, a signin.Account) {
	mandates, _, err := p.mandatesOf(r.Context(), a, "")
	if err != nil {
		p.failed(w, r, err)
		return
	}
	d := dataPage{Account: a.ID, Fresh: p.People.Fresh(r.Context(), eraseWithin)}
	for _, m := range mandates {
		if m.Status != ledger.MandateRevoked && p.Clock().Before(m.Terms.ExpiresAt) {
			d.Active++
		}
	}
	p.Site.Render(w, r, site.Page{Template: p.data, Title: "Your data", Content: d, Menu: p.menu(a, "/me/data")})
}

// exportedPayment is one payment in an export.
type exportedPayment struct {
	Transaction string    `json:"transactionId"`
	Mandate     string    `json:"mandateId"`
	CreatedAt   time.Time `json:"createdAt"`
	Payee       string    `json:"payee"`
	Description string    `json:"description"`
	AmountUSD   string    `json:"amountUsd"`
	RefundedUSD string    `json:"refundedUsd"`
	Status      string    `json:"status"`
	Rail        string    `json:"rail,omitempty"`
	Receipt     string    `json:"receiptUrl"`
}

// exportedMandate is one mandate in an export.
type exportedMandate struct {
	Mandate       string            `json:"mandateId"`
	Status        string            `json:"status"`
	Payees        string            `json:"payees"`
	MaxPerTxUSD   string            `json:"maxPerTxUsd"`
	MaxMonthlyUSD string            `json:"maxMonthlyUsd"`
	CreatedAt     time.Time         `json:"createdAt"`
	ExpiresAt     time.Time         `json:"expiresAt"`
	Payments      []exportedPayment `json:"payments"`
}

// eachMandate calls do for every mandate of an account, newest first.
func (p *Pages) eachMandate(ctx context.Context, a signin.Account, do func(ledger.Mandate) error) error {
	for before := ""; ; {
		mandates, next, err := p.mandatesOf(ctx, a, before)
		if err != nil {
			return err
		}
		for _, m := range mandates {
			if err := do(m); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		before = next
	}
}

// exportOf returns all mandates of an account with their payments.
func (p *Pages) exportOf(ctx context.Context, a signin.Account) ([]exportedMandate, error) {
	all := []exportedMandate{}
	err := p.eachMandate(ctx, a, func(m ledger.Mandate) error {
		payees, err := p.payeeNames(ctx, m.Terms)
		if err != nil {
			return err
		}
		charges, err := p.allCharges(ctx, m.ID)
		if err != nil {
			return err
		}
		rows, err := p.paymentRows(ctx, charges)
		if err != nil {
			return err
		}
		one := exportedMandate{
			Mandate: m.ID, Status: string(m.Status), Payees: payees, MaxPerTxUSD: m.Terms.MaxPerTx.Decimal(), MaxMonthlyUSD: m.Terms.MaxMonthly.Decimal(),
			CreatedAt: m.CreatedAt, ExpiresAt: m.Terms.ExpiresAt, Payments: []exportedPayment{},
		}
		for i, c := range charges {
			one.Payments = append(one.Payments, exportedPayment{
				Transaction: c.ID, Mandate: m.ID, CreatedAt: c.CreatedAt, Payee: rows[i].Payee, Description: c.Description, AmountUSD: c.Amount.Decimal(),
				RefundedUSD: c.Refunded.Decimal(), Status: string(c.Status), Rail: string(c.Rail), Receipt: rows[i].Receipt,
			})
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

// allCharges returns the payments of a mandate, and those from its tabs.
func (p *Pages) allCharges(ctx context.Context, mandateID string) ([]ledger.Charge, error) {
	charges, err := p.Payments.Ledger.MandateCharges(ctx, mandateID, exported)
	if err != nil {
		return nil, fmt.Errorf("list payments of %s: %w", mandateID, err)
	}
	tabs, err := p.Payments.Ledger.MandateTabs(ctx, mandateID, exported)
	if err != nil {
		return nil, fmt.Errorf("list tabs of %s: %w", mandateID, err)
	}
	for _, t := range tabs {
		draws, err := p.Payments.Ledger.Draws(ctx, t.ID, "", exported)
		if err != nil {
			return nil, fmt.Errorf("list draws of %s: %w", t.ID, err)
		}
		charges = append(charges, draws...)
	}
	return charges, nil
}

func (p *Pages) exportJSON(w http.ResponseWriter, r *http.Request, a signin.Account) {
	all, err := p.exportOf(r.Context(), a)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	download(w, "application/json", "payments.json")
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	_ = e.Encode(struct {
		Account  signin.Account    `json:"account"`
		Mandates []exportedMandate `json:"mandates"`
	}{a, all}) // the client may have gone
}

func (p *Pages) exportCSV(w http.ResponseWriter, r *http.Request, a signin.Account) {
	all, err := p.exportOf(r.Context(), a)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	download(w, "text/csv; charset=utf-8", "payments.csv")
	lines := csv.NewWriter(w)
	_ = lines.Write([]string{"transactionId", "mandateId", "createdAt", "payee", "description", "amountUsd", "refundedUsd", "status", "rail", "receiptUrl"})
	for _, m := range all {
		for _, c := range m.Payments {
			_ = lines.Write([]string{
				c.Transaction, c.Mandate, c.CreatedAt.UTC().Format(time.RFC3339), cell(c.Payee), cell(c.Description), c.AmountUSD, c.RefundedUSD, c.Status, c.Rail, c.Receipt,
			})
		}
	}
	lines.Flush() // the client may have gone
}

// cell returns text that a spreadsheet does not take for a formula.
func cell(text string) string {
	if strings.ContainsAny(text[:min(len(text), 1)], "=+-@\t\r") {
		return "'" + text
	}
	return text
}

func download(w http.ResponseWriter, mediaType, name string) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", `attachment; filename=`+strconv.Quote(name))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// erase deletes what identifies the person, and signs out everywhere. The books keep the
// payments, which name no person; private links stay valid.
func (p *Pages) erase(w http.ResponseWriter, r *http.Request, a signin.Account) {
	if !p.People.Fresh(r.Context(), eraseWithin) {
		http.Redirect(w, r, "/me/data", http.StatusSeeOther)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	n := 0
	err := p.eachMandate(ctx, a, func(m ledger.Mandate) error {
		n++
		if _, err := p.Payments.Ledger.ForgetEmail(ctx, m.ID); err != nil {
			return err
		}
		return p.Notices.DeleteNotices(ctx, m.ID)
	})
	if err == nil {
		err = p.Owners.DeleteMandateOwner(ctx, string(a.Kind), a.ID)
	}
	if err == nil {
		err = p.Codes.Forget(ctx, a)
	}
	if err == nil {
		err = p.People.EndAll(ctx)
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.Audit.Record(ctx, audit.PersonErased, slog.Int("mandates", n))
	p.message(w, r, http.StatusOK, result{
		Tone: "good", Badge: "Erased", Headline: "Your address is erased",
		Text: "You are signed out everywhere. Mandates stay as they are: their private links still show the payments and stop them.",
	})
}
