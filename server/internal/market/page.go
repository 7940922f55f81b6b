package market

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

//go:embed templates/market.html
var templates embed.FS

// pageEntries is how many entries the page shows.
const pageEntries = 10

// RegisterPage adds the page "/market" to mux.
func (m *Market) RegisterPage(mux *http.ServeMux, look *site.Site) {
	page := look.Parse(templates, "templates/market.html")
	look.View(mux, "/market", func(w http.ResponseWriter, r *http.Request) { m.show(w, r, look, page) })
}

// shown is the content of the page.
type shown struct {
	Query, Category, Method, Protocol, Most string
	Methods                                 []string
	Problem                                 string
	Entries                                 []shownEntry
	First, Next                             string
	Filtered                                bool
}

type shownEntry struct {
	client.MarketEntry

	ID     string // of elements
	Price  string
	Source string
	Curl   string
	Go     string
	Tool   string
}

func (m *Market) show(w http.ResponseWriter, r *http.Request, look *site.Site, page *template.Template) {
	q := r.URL.Query()
	s := shown{
		Query: q.Get("q"), Category: category(q.Get("category")), Method: q.Get("method"), Protocol: q.Get("protocol"), Most: q.Get("most"),
		Methods: methods, Filtered: len(q) > 0,
	}
	status := http.StatusOK
	p, after, problem := s.params(q.Get("cursor"))
	if problem != "" {
		s.Problem, status = problem, http.StatusBadRequest
	} else {
		found, err := m.Search(r.Context(), p, after)
		if err != nil {
			look.Failed(w, r, err)
			return
		}
		for i, e := range found.Data {
			s.Entries = append(s.Entries, showEntry(e, i))
		}
		if found.NextCursor != "" {
			s.Next = s.address(found.NextCursor)
		}
		if p.Cursor != "" {
			s.First = s.address("")
		}
	}
	look.Render(w, r, site.Page{Template: page, Title: "Market", Content: s, Status: status})
}

// params returns the search of the form, or what is wrong with it.
func (s shown) params(cursor string) (p client.MarketParams, after store.ListingCursor, problem string) {
	p = client.MarketParams{Query: s.Query, Category: s.Category, Method: s.Method, Protocol: s.Protocol, Cursor: cursor, Limit: pageEntries}
	after, ok := store.ParseListingCursor(cursor)
	switch {
	case text.Check(s.Query, maxTitle) != nil:
		return p, after, "Search for at most 100 characters of plain text."
	case !ok || (s.Method != "" && !slices.Contains(methods, s.Method)) || (s.Protocol != "" && s.Protocol != protocolX402 && s.Protocol != protocolMPP):
		return p, after, "The address of this page is not complete. Search again."
	}
	if s.Most != "" {
		most, err := money.ParseDecimal(s.Most)
		if err != nil || most <= 0 || most > 1_000_000*money.MicrosPerDollar {
			return p, after, "The highest price must be an amount in US dollars, such as 0.05."
		}
		p.MaxPriceMicros = int64(most)
	}
	return p, after, ""
}

// address returns the address of a page of the same search.
func (s shown) address(cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": s.Query, "category": s.Category, "method": s.Method, "protocol": s.Protocol, "most": s.Most, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return "/market"
	}
	return "/market?" + q.Encode()
}

func showEntry(e client.MarketEntry, i int) shownEntry {
	s := shownEntry{MarketEntry: e, ID: "entry-" + strconv.Itoa(i+1), Price: "Price on request", Source: strings.Join(e.Sources, ", ")}
	most := int64(1_000_000)
	if e.MaxPriceMicros != nil && e.MinPriceMicros != nil {
		most = *e.MaxPriceMicros
		s.Price = site.Dollars(ledger.Micros(*e.MinPriceMicros))
		if *e.MinPriceMicros != most {
			s.Price += " to " + site.Dollars(ledger.Micros(most))
		}
	}
	if s.Title == "" {
		s.Title = strings.TrimPrefix(strings.TrimPrefix(e.Owner, "https://"), "http://")
	}
	s.Curl = "curl -i " + quote(e.URL)
	if e.Method != http.MethodGet {
		s.Curl = "curl -i -X " + e.Method + " -H 'Content-Type: application/json' -d '{}' " + quote(e.URL)
	}
	s.Go = fmt.Sprintf("paid, err := payer.Fetch(ctx, agent.FetchParams{\n\tMethod: %q,\n\tURL:    %s,\n\tMaxPriceMicros: %d,\n})", e.Method, strconv.Quote(e.URL), most)
	in, err := json.Marshal(struct {
		URL    string `json:"url"`
		Method string `json:"method"`
		Most   int64  `json:"maxPriceCents"`
	}{e.URL, e.Method, (most + 9999) / 10_000})
	if err == nil {
		s.Tool = "delegare_fetch " + string(in)
	}
	return s
}

// quote returns a text as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
