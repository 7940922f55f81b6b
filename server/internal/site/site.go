// Package site is what all pages of the service share: the layout and the style sheet, how
// money, times and states are shown, charts, and the guard of pages and forms.
//
//	s := site.New(site.Config{BaseURL: "https://pay.example", Clock: time.Now, Logger: logger})
//	page := s.Parse(templates, "templates/keys.html") // defines "content"
//	s.View(mux, "/keys", func(w http.ResponseWriter, r *http.Request) {
//		s.Render(w, r, site.Page{Template: page, Title: "API keys", Content: keys})
//	})
//
// Pages are plain HTML. They load nothing from another origin, run no script that is not a
// file of the service, and work without scripts; one small script shows times in the
// viewer's time zone and copies text.
package site

import (
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets/style.css
var style []byte

//go:embed assets/site.js
var script []byte

//go:embed assets/sign.js
var sign []byte

// Config configures a [Site]. Every field is required, except PerAddress.
type Config struct {
	// BaseURL is the origin that the pages are served under.
	BaseURL string
	// Sandbox marks every page: no real money moves.
	Sandbox bool
	Clock   func() time.Time
	Logger  *slog.Logger
	// PerAddress is how many pages one client address may open each second, and how many
	// forms it may send, with bursts of twice that. Default: 100.
	PerAddress int
}

// Site renders and guards pages. It is safe for concurrent use.
type Site struct {
	Config

	// Sign is the script of pages on which a wallet in the browser signs a text.
	Sign *Asset

	views, forms    *ratelimit.Limits
	ownForms        *http.CrossOriginProtection
	message, design *template.Template
	style, script   *Asset
}

// New parses the templates; they are part of the program, so a broken one panics.
func New(cfg Config) *Site {
	if cfg.PerAddress == 0 {
		cfg.PerAddress = 100
	}
	limits := func() *ratelimit.Limits {
		return ratelimit.New(ratelimit.Config{PerSecond: cfg.PerAddress, Clock: cfg.Clock})
	}
	s := &Site{
		Config: cfg, views: limits(), forms: limits(), ownForms: http.NewCrossOriginProtection(),
		style: NewAsset("style", ".css", style), script: NewAsset("site", ".js", script),
		Sign: NewAsset("sign", ".js", sign),
	}
	s.message = s.Parse(templates, "templates/message.html")
	s.design = s.Parse(templates, "templates/design.html")
	s.ownForms.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Message(w, r, http.StatusForbidden, Message{
			Badge: Badge{Bad, "Refused"}, Headline: "This form came from another site",
			Text: "Open the link that you were given once more, and confirm there.",
		})
	}))
	return s
}

// Register adds the assets to mux and, in a sandbox, the page "/design" of all components.
func (s *Site) Register(mux *http.ServeMux) {
	s.style.Register(mux)
	s.script.Register(mux)
	s.Sign.Register(mux)
	if s.Sandbox {
		s.View(mux, "/design", s.showDesign)
	}
}

// shared are the templates that every page can use.
var shared = []string{"templates/layout.html", "templates/parts.html", "templates/chart.html"}

// Parse returns the template of a page: the files of own, which define "content", with the
// templates and functions that all pages have.
func (s *Site) Parse(own fs.FS, files ...string) *template.Template {
	t := template.Must(template.New("layout").Funcs(functions).ParseFS(templates, shared...))
	return template.Must(t.ParseFS(own, files...))
}
