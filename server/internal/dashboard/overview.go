package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// latestCharges is the number of payments on the overview.
const latestCharges = 5

// overview is the first page.
type overview struct {
	Suspended bool
	Partial   bool // older days are still being summed
	Figures   []figure
	Volume    site.Chart
	Rails     *site.Chart // nil: nothing was paid
	Reasons   *site.Chart // nil: nothing failed
	Latest    []chargeRow
	Steps     []step // to the first payment; none once there is one
}

type figure struct{ Name, Value, Note string }

// step is a step to the first payment.
type step struct {
	Name, Text, URL string
	Done            bool
}

func (d *Dashboard) showOverview(w http.ResponseWriter, v visit) {
	ctx := v.Context()
	stats, err := d.Payments.Stats(ctx, v.merchant.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	latest, err := d.Payments.Charges(ctx, v.merchant.ID, "", latestCharges)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	sums, complete := d.days.of(ctx, v.merchant.ID)
	o := overview{Suspended: !v.merchant.Active, Partial: !complete, Latest: d.chargeRows(latest)}
	s := d.summed(sums[:])
	o.Volume, o.Rails, o.Reasons = s.volume(), s.rails(), s.failures()
	o.Figures = []figure{
		{"Volume", site.Dollars(s.amount), fmt.Sprintf("Last %d days, before refunds", shownDays)},
		{"Payments", site.Count(s.paid), s.rate()},
		{"Refunded", site.Dollars(s.refunded), fmt.Sprintf("Of the payments of the last %d days", shownDays)},
		{"Fees due", site.Dollars(s.fees), "For the payments since " + site.Day(s.monthBegan)},
		{"Active mandates", site.Count(stats.ActiveMandates), "People who allow payments to you"},
	}
	if len(latest) == 0 {
		if o.Steps, err = d.steps(v); err != nil {
			d.failed(w, v, err)
			return
		}
	}
	d.show(w, v, "", site.Page{Title: "Overview", Content: o}, "overview")
}

// steps returns the steps to the first payment.
func (d *Dashboard) steps(v visit) ([]step, error) {
	keys, err := d.Store.APIKeys(v.Context(), v.merchant.ID)
	if err != nil {
		return nil, err
	}
	mandates, err := d.Store.MandatesOf(v.Context(), v.merchant.ID, "", 1)
	if err != nil {
		return nil, err
	}
	return []step{
		{"Create an API key", "Your server sends it with every request.", Root + "/keys", slices.ContainsFunc(keys, func(k store.APIKey) bool { return k.RevokedAt.IsZero() })},
		{"Ask for a mandate", "POST /v1/mandates returns a setup URL. The person who opens it confirms the limits.", Root + "/mandates", len(mandates) > 0},
		{"Charge it", "POST /v1/payments/charge moves money within the limits.", Root + "/transactions", false},
	}, nil
}

// summary sums the totals of the shown days.
type summary struct {
	byDay                  []ledger.Micros // oldest first
	first                  int64
	paid, ended            int64
	amount, refunded, fees ledger.Micros
	monthBegan             time.Time
	byRail                 map[rail.Name]site.Bar
	byReason               map[rail.Reason]int64
}

func (d *Dashboard) summed(days [][]store.ChargeTotal) summary {
	now := d.Clock().UTC()
	s := summary{
		byDay: make([]ledger.Micros, len(days)), first: dayOf(now) - int64(len(days)) + 1, monthBegan: now.AddDate(0, 0, 1-now.Day()),
		byRail: map[rail.Name]site.Bar{}, byReason: map[rail.Reason]int64{},
	}
	for i, totals := range days {
		for _, t := range totals {
			s.add(len(days)-1-i, t)
		}
	}
	return s
}

func (s *summary) add(day int, t store.ChargeTotal) {
	switch t.Status {
	case ledger.ChargeSucceeded, ledger.ChargeWrittenOff:
		s.paid, s.ended = s.paid+t.Count, s.ended+t.Count
		s.byDay[day] += t.Amount
		s.amount, s.refunded = s.amount+t.Amount, s.refunded+t.Refunded
		if dayOf(t.Day) >= dayOf(s.monthBegan) {
			s.fees += t.Fees
		}
		b := s.byRail[t.Rail]
		b.Value += int64(t.Amount)
		s.byRail[t.Rail] = b
	case ledger.ChargeFailed:
		s.ended += t.Count
		s.byReason[t.Reason] += t.Count
	case ledger.ChargePending, ledger.ChargeAuthorized, ledger.ChargeVoided:
	}
}

// rate says how many of the payments that ended succeeded.
func (s *summary) rate() string {
	if s.ended == 0 {
		return "None yet"
	}
	return share(s.paid, s.ended) + " of " + site.Count(s.ended) + " succeeded"
}

// share writes a part in percent.
func share(part, of int64) string {
	if of == 0 {
		return "0%"
	}
	return strconv.FormatFloat(float64(part)/float64(of)*100, 'f', 0, 64) + "%"
}

func (s *summary) volume() site.Chart {
	c := site.Chart{ID: "volume", Title: "Volume by day", Of: "Day (UTC)", Value: "Volume"}
	best := 0
	for i, amount := range s.byDay {
		day := startOf(s.first + int64(i))
		b := site.Bar{Label: site.Day(day), Value: int64(amount), Text: site.Dollars(amount)}
		if (len(s.byDay)-1-i)%7 == 0 {
			b.Short = day.Format("2 Jan")
		}
		if amount > s.byDay[best] {
			best = i
		}
		c.Bars = append(c.Bars, b)
	}
	c.Summary = fmt.Sprintf("%s in the last %d days.", site.Dollars(s.amount), shownDays)
	if s.amount > 0 {
		c.Summary = fmt.Sprintf("%s in the last %d days, most on %s: %s.", site.Dollars(s.amount), shownDays, c.Bars[best].Label, c.Bars[best].Text)
	}
	return c
}

func (s *summary) rails() *site.Chart {
	if s.amount == 0 {
		return nil
	}
	c := site.Chart{ID: "rails", Title: "Volume by rail", Of: "Rail", Value: "Volume"}
	for name, b := range s.byRail {
		b.Label, b.Text, b.Note = railName(name), site.Dollars(ledger.Micros(b.Value)), share(b.Value, int64(s.amount))
		c.Bars = append(c.Bars, b)
	}
	sortBars(c.Bars)
	return &c
}

func (s *summary) failures() *site.Chart {
	if len(s.byReason) == 0 {
		return nil
	}
	c := site.Chart{ID: "reasons", Title: "Failures by reason", Of: "Reason", Value: "Payments"}
	var all int64
	for why, n := range s.byReason {
		all += n
		c.Bars = append(c.Bars, site.Bar{Label: reason(why), Value: n, Text: site.Count(n)})
	}
	for i := range c.Bars {
		c.Bars[i].Note = share(c.Bars[i].Value, all)
	}
	c.Summary = site.Count(all) + " failed."
	sortBars(c.Bars)
	return &c
}

// sortBars puts the longest bar first.
func sortBars(bars []site.Bar) {
	slices.SortFunc(bars, func(a, b site.Bar) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Label, b.Label)) })
}
