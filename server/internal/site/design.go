package site

import (
	"net/http"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// designPage is the page of all components, for maintainers.
type designPage struct {
	Faulty

	Badges  []Badge
	Amounts []ledger.Micros
	At      time.Time
	Icons   []string
	Days    Chart
	Reasons Chart
	Pager   Pager
}

// Pager has the addresses of other pages of a list. Empty: there is no such page.
type Pager struct{ First, Next string }

func (s *Site) showDesign(w http.ResponseWriter, r *http.Request) {
	d := designPage{
		Faulty:  Faulty{Error: "The amount can be at most $25.00.", Wrong: "amount"},
		Badges:  []Badge{{Good, "Succeeded"}, {Wait, "Pending"}, {Bad, "Failed"}, {Neutral, "Voided"}},
		Amounts: []ledger.Micros{money.MicrosPerDollar * 1_234_567, money.MicrosPerDollar / 2, -3 * money.MicrosPerDollar},
		At:      s.Clock(), Pager: Pager{First: "/design", Next: "/design"},
		Icons: []string{
			"overview", "transactions", "mandates", "keys", "apps", "webhooks", "settings", "sandbox", "person", "card", "wallet",
			"search", "pause", "stop", "mail", "empty",
		},
		Days: Chart{ID: "days", Title: "Volume by day", Summary: "A number for each of ten days.", Of: "Day", Value: "Volume"},
		Reasons: Chart{ID: "reasons", Title: "Failures by reason", Summary: "Two reasons.", Of: "Reason", Value: "Payments", Bars: []Bar{
			{Label: "Card declined", Value: 12, Text: "12", Note: "80%"}, {Label: "Insufficient funds", Value: 3, Text: "3", Note: "20%"},
		}},
	}
	for i := range int64(10) {
		amount := ledger.Micros((i*i*7919)%97) * money.MicrosPerDollar
		d.Days.Bars = append(d.Days.Bars, Bar{Label: "Day " + strconv.FormatInt(i+1, 10), Short: strconv.FormatInt(i+1, 10), Value: int64(amount), Text: Dollars(amount)})
	}
	s.Render(w, r, Page{Template: s.design, Title: "Components", Content: d, Menu: &Menu{
		Label: "Components", Account: "Maintainer", SignOut: "/design", Items: []MenuItem{
			{Name: "Components", URL: "/design", Icon: "overview", Current: true}, {Name: "Start page", URL: "/", Icon: "sandbox"},
		},
	}})
}
