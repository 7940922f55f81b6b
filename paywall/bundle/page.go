package bundle

import (
	"bytes"
	_ "embed"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/paypage"
)

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

// pagePolicy lets the forms of the list lead to the checkout, which is on another origin.
var pagePolicy = paypage.Policy(pageScript, "form-action *")

var (
	tiersPage = parsePage("tiers")
	orderView = parsePage("order")
)

// parsePage returns the template of a page. The templates are part of the program, so a broken
// one panics.
func parsePage(content string) *template.Template {
	t := template.Must(template.New("").Funcs(template.FuncMap{"dollars": func(cents int64) string { return money.Cents(cents).Dollars() }}).Parse(pageText))
	return template.Must(t.New("content").Parse(`{{template "` + content + `" .}}`))
}

// orderPage is the page at the return address of an order.
type orderPage struct {
	Badge, Headline, Text string
	Token, Tier, Until    string
	Left, Requests        int64
	Checkout, Again       string
}

func (s *Shop) showOrder(w http.ResponseWriter, r *http.Request, status int, v orderPage) {
	s.show(w, r, status, orderView, v.Headline, v)
}

// page shows the tiers.
func (s *Shop) page(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, tiersPage, "Buy requests", map[string]any{"Tiers": s.cfg.Tiers, "Action": s.cfg.PurchaseURL, "BalanceURL": s.cfg.BalanceURL})
}

// show renders a page. It writes 500 if the page cannot be rendered.
func (s *Shop) show(w http.ResponseWriter, r *http.Request, status int, t *template.Template, title string, content any) {
	seller := s.cfg.Issuer
	if u, err := url.Parse(seller); err == nil {
		seller = u.Host
	}
	var page bytes.Buffer
	err := t.ExecuteTemplate(&page, "layout", map[string]any{
		"Title": title, "Seller": seller, "Content": content,
		"Style": template.CSS(paypage.Style), "Script": template.JS(pageScript), //nolint:gosec // embedded files
	})
	if err != nil {
		s.cfg.Logger.ErrorContext(r.Context(), "bundle: render page", slog.Any("error", err))
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may have gone
}
