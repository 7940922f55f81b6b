package dashboard

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// pageSize is the number of lines of a list.
const pageSize = 25

// transactions is the list of payments.
type transactions struct {
	site.Faulty
	site.Pager

	Query, From, To string
	States, Rails   []option
	Rows            []chargeRow
	Filtered        bool
	Searched        bool // nothing was found among those that were read, and there are more
	CSV             string
}

// option is a choice of a filter.
type option struct {
	Value, Text string
	Selected    bool
}

// chargeRow is a payment in a list.
type chargeRow struct {
	ID, URL, Description, Rail, Amount string
	At                                 time.Time
	State                              site.Badge
	Note                               string
}

func (d *Dashboard) chargeRows(charges []ledger.Charge) []chargeRow {
	rows := make([]chargeRow, len(charges))
	for i, c := range charges {
		rows[i] = chargeRow{
			ID: c.ID, URL: Root + "/transactions/" + c.ID, Description: c.Description, Rail: railName(c.Rail), Amount: site.Dollars(c.Amount),
			At: c.CreatedAt, State: chargeBadge(c),
		}
		switch {
		case c.Status == ledger.ChargeFailed:
			rows[i].Note = reason(c.FailureReason)
		case c.Refunded > 0:
			rows[i].Note = site.Dollars(c.Refunded) + " refunded"
		}
	}
	return rows
}

var (
	states = []option{
		{Value: "", Text: "All states"},
		{Value: string(ledger.ChargeSucceeded), Text: "Succeeded"},
		{Value: string(ledger.ChargeFailed), Text: "Failed"},
		{Value: string(ledger.ChargePending), Text: "Pending"},
		{Value: string(ledger.ChargeAuthorized), Text: "Authorized"},
		{Value: string(ledger.ChargeVoided), Text: "Voided"},
		{Value: string(ledger.ChargeWrittenOff), Text: "Advanced"},
	}
	rails = []option{{Value: "", Text: "All rails"}, {Value: string(rail.Card), Text: "Card"}, {Value: string(rail.Chain), Text: "Chain"}}
)

// chosen returns options with the chosen one selected, and false if none has the value.
func chosen(options []option, value string) ([]option, bool) {
	options = slices.Clone(options)
	i := slices.IndexFunc(options, func(o option) bool { return o.Value == value })
	if i >= 0 {
		options[i].Selected = true
	}
	return options, i >= 0
}

const (
	dateForm = "2006-01-02"
	// maxReference limits what is searched for.
	maxReference = 200
)

// filter reads the filter of a query. The problem says what to change.
func (d *Dashboard) filter(v visit, q url.Values) (store.ChargeFilter, site.Faulty) {
	f := store.ChargeFilter{MerchantID: v.merchant.ID, Status: ledger.ChargeStatus(q.Get("state")), Rail: rail.Name(q.Get("rail"))}
	if _, ok := chosen(states, q.Get("state")); !ok {
		return f, site.Faulty{Error: "There is no such state.", Wrong: "state"}
	}
	if _, ok := chosen(rails, q.Get("rail")); !ok {
		return f, site.Faulty{Error: "There is no such rail.", Wrong: "rail"}
	}
	for _, day := range []struct {
		field string
		to    *time.Time
		add   int
	}{{"from", &f.From, 0}, {"to", &f.To, 1}} {
		if value := q.Get(day.field); value != "" {
			t, err := time.Parse(dateForm, value)
			if err != nil || t.Year() < 2000 || t.Year() > 9000 {
				return f, site.Faulty{Error: "The day must be a date such as 2027-01-31.", Wrong: day.field}
			}
			*day.to = t.AddDate(0, 0, day.add)
		}
	}
	if before := q.Get("before"); id.Valid(id.Charge, before) {
		f.Before = before
	}
	switch wanted := strings.TrimSpace(q.Get("q")); {
	case len(wanted) > maxReference || !text.Clean(wanted):
		return f, site.Faulty{Error: "Search for the id of a transaction, a mandate or a tab, for the card processor's id, or for a hash of the chain.", Wrong: "q"}
	case id.Valid(id.Mandate, wanted):
		f.MandateID = wanted
	default:
		f.Reference = wanted
	}
	return f, site.Faulty{}
}

func (d *Dashboard) showTransactions(w http.ResponseWriter, v visit) {
	q := v.URL.Query()
	if wanted := strings.TrimSpace(q.Get("q")); id.Valid(id.Charge, wanted) {
		back(w, v, "/transactions/"+wanted)
		return
	}
	f, wrong := d.filter(v, q)
	page := transactions{Faulty: wrong, Query: q.Get("q"), From: q.Get("from"), To: q.Get("to")}
	page.States, _ = chosen(states, q.Get("state"))
	page.Rails, _ = chosen(rails, q.Get("rail"))
	status := http.StatusUnprocessableEntity
	if wrong.Error == "" {
		status = http.StatusOK
		f.Limit = pageSize + 1
		found, more, err := d.Store.SearchCharges(v.Context(), f)
		if err != nil {
			d.failed(w, v, err)
			return
		}
		if len(found) > pageSize {
			found, more = found[:pageSize], found[pageSize-1].ID
		}
		page.Rows, page.Searched = d.chargeRows(found), len(found) == 0 && more != ""
		page.links(q, f, more)
	}
	d.show(w, v, "/transactions", site.Page{Title: "Transactions", Status: status, Content: page}, "transactions")
}

// links sets the addresses of the other pages of the list, and of the list as a file.
func (t *transactions) links(q url.Values, f store.ChargeFilter, more string) {
	kept := url.Values{}
	for _, name := range []string{"q", "state", "rail", "from", "to"} {
		if value := q.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	at := func(path string) string {
		if len(kept) == 0 {
			return Root + path
		}
		return Root + path + "?" + kept.Encode()
	}
	t.Filtered = len(kept) > 0
	t.CSV = at("/transactions.csv")
	if f.Before != "" {
		t.First = at("/transactions")
	}
	if more != "" {
		kept.Set("before", more)
		t.Next = at("/transactions")
	}
}

// csvPage is the number of charges that a file reads at a time.
const csvPage = 1000

var csvHead = []string{
	"transaction", "created", "status", "amount", "refunded", "fee", "currency", "rail", "failure_reason", "description", "mandate", "source",
	"processor_id", "tx_hash", "tab", "settled",
}

// writeTransactions writes the list as a file. It has read the first page before it answers.
func (d *Dashboard) writeTransactions(w http.ResponseWriter, v visit) {
	f, wrong := d.filter(v, v.URL.Query())
	if wrong.Error != "" {
		back(w, v, "/transactions?"+v.URL.RawQuery)
		return
	}
	f.Limit = csvPage
	page, more, err := d.Store.SearchCharges(v.Context(), f)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	site.Private(w.Header())
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "transactions-"+d.Clock().UTC().Format(dateForm)+".csv"))
	file := csv.NewWriter(w)
	_ = file.Write(csvHead) // the client may have gone; Error reports it below
	for {
		for _, c := range page {
			_ = file.Write(csvLine(c)) // as above
		}
		if more == "" {
			file.Flush()
			return
		}
		f.Before = more
		if page, more, err = d.Store.SearchCharges(v.Context(), f); err != nil || file.Error() != nil {
			panic(http.ErrAbortHandler) // an incomplete file must not look complete
		}
	}
}

func csvLine(c ledger.Charge) []string {
	settled := ""
	if !c.SettledAt.IsZero() {
		settled = c.SettledAt.UTC().Format(time.RFC3339)
	}
	return []string{
		c.ID, c.CreatedAt.UTC().Format(time.RFC3339), string(c.Status), c.Amount.Decimal(), c.Refunded.Decimal(), c.Fee.Decimal(), c.Currency,
		string(c.Rail), string(c.FailureReason), text.Cell(c.Description), c.MandateID, string(c.Source), text.Cell(c.ProcessorID), c.TxHash, c.TabID, settled,
	}
}
