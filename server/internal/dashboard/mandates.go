package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// mandates is the list of a merchant's mandates.
type mandates struct {
	site.Pager

	Rows []mandateRow
}

// mandateRow is a mandate in a list.
type mandateRow struct {
	ID, URL, Spent, Limit string
	State                 site.Badge
	CreatedAt, ExpiresAt  time.Time
}

func (d *Dashboard) mandateBadge(m ledger.Mandate) site.Badge {
	switch {
	case m.Status == ledger.MandateRevoked:
		return site.Badge{Tone: site.Bad, Text: "Revoked"}
	case !d.Clock().Before(m.Terms.ExpiresAt):
		return site.Badge{Tone: site.Neutral, Text: "Expired"}
	case !m.PausedAt.IsZero():
		return site.Badge{Tone: site.Wait, Text: "Paused"}
	}
	return site.Badge{Tone: site.Good, Text: "Active"}
}

func (d *Dashboard) showMandates(w http.ResponseWriter, v visit) {
	before := v.URL.Query().Get("before")
	if !id.Valid(id.Mandate, before) {
		before = ""
	}
	list, err := d.Store.MandatesOf(v.Context(), v.merchant.ID, before, pageSize+1)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	var page mandates
	if before != "" {
		page.First = Root + "/mandates"
	}
	if len(list) > pageSize {
		list = list[:pageSize]
		page.Next = Root + "/mandates?before=" + list[pageSize-1].ID
	}
	for _, m := range list {
		page.Rows = append(page.Rows, mandateRow{
			ID: m.ID, URL: Root + "/mandates/" + m.ID, State: d.mandateBadge(m), Spent: site.Dollars(m.SpentInMonth(d.Clock())),
			Limit: site.Dollars(m.Terms.MaxMonthly), CreatedAt: m.CreatedAt, ExpiresAt: m.Terms.ExpiresAt,
		})
	}
	d.show(w, v, "/mandates", site.Page{Title: "Mandates", Content: page}, "mandates")
}

// mandatePage is the page of one mandate.
type mandatePage struct {
	ID, Month         string
	State             site.Badge
	Spent, Limit      string
	SpentCents, Cents int64
	Facts             []fact
	Latest            []chargeRow
	All               string // the path of all payments
	Revoke            string // the path of the question; empty if the merchant cannot revoke it
}

// mandateOf returns the mandate of a path, if the merchant may see it.
func (d *Dashboard) mandateOf(v visit) (ledger.Mandate, error) {
	mandateID := v.PathValue("mandateId")
	if !id.Valid(id.Mandate, mandateID) {
		return ledger.Mandate{}, ledger.ErrNotFound
	}
	return d.Payments.Mandate(v.Context(), v.merchant.ID, mandateID)
}

// limitFacts are the names of a mandate's optional limits.
var limitFacts = []struct {
	kind ledger.WindowKind
	name string
}{
	{ledger.DailyLimit, "At most in a day"},
	{ledger.TotalLimit, "At most in all"},
	{ledger.VelocityLimit, "Payments a day"},
	{ledger.PayeeLimit, "Per payee in a month"},
}

func (d *Dashboard) showMandate(w http.ResponseWriter, v visit) {
	m, err := d.mandateOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	latest, err := d.latestOf(v, m)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	spent := m.SpentInMonth(d.Clock())
	page := mandatePage{
		ID: m.ID, Month: d.Clock().UTC().Format("January 2006"), State: d.mandateBadge(m), Spent: site.Dollars(spent),
		Limit: site.Dollars(m.Terms.MaxMonthly), SpentCents: int64(spent.CentsUp()), Cents: int64(m.Terms.MaxMonthly.CentsDown()),
		Facts: d.mandateFacts(v, m), Latest: latest, All: Root + "/transactions?q=" + m.ID,
	}
	if m.Status == ledger.MandateActive && m.MerchantID == v.merchant.ID && d.Clock().Before(m.Terms.ExpiresAt) {
		page.Revoke = Root + "/mandates/" + m.ID + "/revoke"
	}
	d.show(w, v, "/mandates", site.Page{Title: "Mandate " + m.ID, Content: page}, "mandate")
}

// latestOf returns the latest payments of a mandate to the merchant.
func (d *Dashboard) latestOf(v visit, m ledger.Mandate) ([]chargeRow, error) {
	latest, _, err := d.Store.SearchCharges(v.Context(), store.ChargeFilter{MerchantID: v.merchant.ID, MandateID: m.ID, Limit: 10})
	return d.chargeRows(latest), err
}

func (d *Dashboard) mandateFacts(v visit, m ledger.Mandate) []fact {
	facts := []fact{
		{"Mandate", m.ID},
		{"Confirmed", m.CreatedAt},
		{"Expires", m.Terms.ExpiresAt},
		{"One payment", "up to " + site.Dollars(m.Terms.MaxPerTx)},
		{"A month", "up to " + site.Dollars(m.Terms.MaxMonthly)},
	}
	for _, l := range limitFacts {
		switch limit := m.Terms.Cap(l.kind); {
		case limit == 0:
		case l.kind == ledger.VelocityLimit:
			facts = append(facts, fact{l.name, strconv.FormatInt(limit, 10)})
		default:
			facts = append(facts, fact{l.name, site.Dollars(ledger.Micros(limit))})
		}
	}
	for _, name := range m.Terms.Rails {
		facts = append(facts, fact{"Rail", railName(name)})
	}
	switch {
	case slices.Contains(m.Terms.Payees, ledger.AnyPayee):
		facts = append(facts, fact{"Who can be paid", "Anyone"})
	case len(m.Terms.Payees) > 1:
		facts = append(facts, fact{"Who can be paid", "You and " + strconv.Itoa(len(m.Terms.Payees)-1) + " more"})
	}
	if m.MerchantID != v.merchant.ID {
		facts = append(facts, fact{"Asked for by", "Another merchant; it allows payments to you"})
	}
	if m.Status == ledger.MandateRevoked {
		facts = append(facts, fact{"Revoked", m.RevokedAt}, fact{"Revoked by", map[ledger.Revoker]string{
			ledger.RevokedByUser: "The person", ledger.RevokedByMerchant: "You", ledger.RevokedByContract: "The person's wallet",
		}[m.RevokedBy]})
	}
	return facts
}

// askToRevoke shows the question before a mandate is revoked.
func (d *Dashboard) askToRevoke(w http.ResponseWriter, v visit) {
	m, err := d.mandateOf(v)
	if err == nil && m.MerchantID != v.merchant.ID {
		err = ledger.ErrNotFound
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	d.show(w, v, "/mandates", site.Page{Title: "Revoke a mandate", Content: m.ID}, "revoke")
}

// revoke takes the form. Sending it again changes nothing.
func (d *Dashboard) revoke(w http.ResponseWriter, v visit) {
	m, err := d.mandateOf(v)
	if err == nil && m.Status == ledger.MandateActive {
		if m, err = d.Payments.Revoke(v.Context(), v.merchant.ID, m.ID); err == nil {
			d.did(v, "mandate.revoke", m.ID)
			d.record(v, audit.MandateRevoked, "mandateId", m.ID)
		}
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	back(w, v, "/mandates/"+m.ID)
}
