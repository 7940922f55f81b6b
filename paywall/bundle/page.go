package bundle

import (
	"bytes"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
)

// pageText is the page that lists the tiers. It works without JavaScript and loads nothing.
const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Buy requests</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.5rem;border-bottom:1px solid #ccc}
button{font:inherit;padding:.4rem 1rem}code{overflow-wrap:anywhere}</style></head>
<body><h1>Buy requests in advance</h1>
<p>One credit pays for one request. Send the token that you get in the header <code>X-Bundle-Token</code>.</p>
<table><thead><tr><th scope="col">Bundle</th><th scope="col">Requests</th><th scope="col">Price</th><th scope="col">Buy</th></tr></thead><tbody>
{{range .Tiers}}<tr><td>{{.Name}}</td><td>{{.Requests}}</td><td>{{dollars .USDCents}}</td><td>
<form method="post" action="{{$.Action}}"><input type="hidden" name="tier" value="{{.Name}}"><button>Buy {{.Name}}</button></form></td></tr>
{{end}}</tbody></table>
<p>Agents: <code>POST</code> here <code>{"tier":"…"}</code>, with <code>"mandate":"…"</code> to pay by spending mandate, and an <code>Idempotency-Key</code>.
The balance of a bundle: <code>GET {{.BalanceURL}}</code> with its token.</p>
</body></html>
`

// orderText is the page at the return address of an order.
const orderText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Headline}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
code{display:block;overflow-wrap:anywhere;padding:1rem;background:#f2f2f2}</style></head>
<body><h1>{{.Headline}}</h1>
<p>{{.Text}}</p>
{{if .Token}}<code>{{.Token}}</code>{{end}}
{{if .Checkout}}<p><a href="{{.Checkout}}">Pay now</a></p>{{end}}
{{if .Again}}<p><a href="{{.Again}}">Choose again</a></p>{{end}}
</body></html>
`

// orderPage is the content of orderText.
type orderPage struct{ Headline, Text, Token, Checkout, Again string }

func (s *Shop) showOrder(w http.ResponseWriter, r *http.Request, status int, v orderPage) {
	s.show(w, r, status, orderText, v)
}

func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }

// page shows the tiers.
func (s *Shop) page(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, pageText, map[string]any{"Tiers": s.cfg.Tiers, "Action": s.cfg.PurchaseURL, "BalanceURL": s.cfg.BalanceURL})
}

// show renders a page. It writes 500 if the page cannot be rendered.
func (s *Shop) show(w http.ResponseWriter, r *http.Request, status int, text string, content any) {
	t, err := template.New("").Funcs(template.FuncMap{"dollars": dollars}).Parse(text)
	var page bytes.Buffer
	if err == nil {
		err = t.Execute(&page, content)
	}
	if err != nil {
		s.cfg.Logger.ErrorContext(r.Context(), "bundle: render page", slog.Any("error", err))
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may have gone
}
