package site_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

func setup(t *testing.T) (*site.Site, *http.ServeMux) {
	t.Helper()
	s := site.New(site.Config{BaseURL: "https://pay.example", Sandbox: true, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	s.Register(mux)
	return s, mux
}

func get(mux *http.ServeMux, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "https://pay.example"+path, nil)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func TestPageOfAllComponentsLoadsItsAssets(t *testing.T) {
	t.Parallel()
	_, mux := setup(t)
	page := get(mux, "/design")
	require.Equal(t, http.StatusOK, page.Code)
	for _, attribute := range []string{`href="/assets/`, `src="/assets/`} {
		_, rest, found := strings.Cut(page.Body.String(), attribute)
		require.True(t, found, attribute)
		name, _, _ := strings.Cut(rest, `"`)
		asset := get(mux, "/assets/"+name)
		require.Equal(t, http.StatusOK, asset.Code, name)
		require.Contains(t, asset.Header().Get("Cache-Control"), "immutable")
	}
}

func TestLiveServiceHasNoPageOfComponents(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	site.New(site.Config{BaseURL: "https://pay.example", Clock: time.Now, Logger: slog.New(slog.DiscardHandler)}).Register(mux)
	require.Equal(t, http.StatusNotFound, get(mux, "/design").Code)
}

// TestPolicyAllowsOnlyWhatAPageNeeds: a page without a script may run none, one with the
// script of times sends no request, and none allows inline code or another origin.
func TestPolicyAllowsOnlyWhatAPageNeeds(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	script := site.NewAsset("wallet", ".js", []byte("1"))
	for name, c := range map[string]struct {
		body            string
		scripts         []*site.Asset
		runs, mayCallUs bool
	}{
		"plain": {body: "<p>text</p>"},
		"times": {body: "{{time .Content}}", runs: true},
		"copy":  {body: `<button data-copy="x"></button>`, runs: true},
		"own":   {body: "<p></p>", scripts: []*site.Asset{script}, runs: true, mayCallUs: true},
	} {
		page := s.Parse(fstest.MapFS{"p.html": {Data: []byte(`{{define "content"}}` + c.body + `{{end}}`)}}, "p.html")
		w := httptest.NewRecorder()
		s.Render(w, httptest.NewRequest(http.MethodGet, "/", nil), site.Page{Template: page, Title: "T", Content: time.Now(), Scripts: c.scripts})
		policy := w.Header().Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'", name)
		require.NotContains(t, policy, "unsafe", name)
		require.Equal(t, c.runs, strings.Contains(policy, "script-src 'self'"), name)
		require.Equal(t, c.mayCallUs, strings.Contains(policy, "connect-src"), name)
		require.Equal(t, c.runs, strings.Contains(w.Body.String(), "<script src="), name)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
	}
}

func TestPageIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	page := s.Parse(fstest.MapFS{"p.html": {Data: []byte(`{{define "content"}}half {{.Content.Nope}}{{end}}`)}}, "p.html")
	w := httptest.NewRecorder()
	s.Render(w, httptest.NewRequest(http.MethodGet, "/", nil), site.Page{Template: page, Content: struct{}{}})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.NotContains(t, w.Body.String(), "half")
}

func TestCauseOfAFailureIsNotShown(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	w := httptest.NewRecorder()
	s.Failed(w, httptest.NewRequest(http.MethodGet, "/", nil), errors.New("password of the store"))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.NotContains(t, w.Body.String(), "password")
}

func TestFormOfAnotherOriginOrHostIsRefused(t *testing.T) {
	t.Parallel()
	s, mux := setup(t)
	taken := 0
	s.Form(mux, "/form", func(http.ResponseWriter, *http.Request) { taken++ })
	post := func(base, origin string) int {
		r := httptest.NewRequest(http.MethodPost, base+"/form", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusOK, post("https://pay.example", "https://pay.example"))
	require.Equal(t, http.StatusForbidden, post("https://pay.example", "https://evil.example"))
	require.Equal(t, http.StatusMisdirectedRequest, post("https://evil.example", "https://evil.example"))
	require.Equal(t, 1, taken)
}

func TestFormThatIsTooLongOrHasControlCharactersIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for name, value := range map[string]string{"long": strings.Repeat("x", 17<<10), "control": "a\x00b", "encoding": "\xff"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(url.Values{"q": {value}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		require.False(t, s.ParseForm(w, r), name)
		require.Equal(t, http.StatusBadRequest, w.Code, name)
	}
}

func TestAmountsAreReadAndWrittenAlike(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ledger.Micros{
		"$1,234,567.00": 1_234_567 * money.MicrosPerDollar, "$0.50": money.MicrosPerDollar / 2, "$999.99": 999_990_000,
	} {
		require.Equal(t, text, site.Dollars(want))
		got, err := site.ParseDollars(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, "-$3.00", site.Dollars(-3*money.MicrosPerDollar))
	for _, wrong := range []string{"", "1,50", "1,2345", "12,34.00", "x", "-1", "$$1"} {
		_, err := site.ParseDollars(wrong)
		require.Error(t, err, wrong)
	}
}

// TestChartOfNothingDividesByNothing: a chart of zeros has bars without a height.
func TestChartOfNothingDividesByNothing(t *testing.T) {
	t.Parallel()
	c := site.Chart{Bars: []site.Bar{{}, {Value: 0}}}
	for _, b := range append(c.Columns(), c.Shares()...) {
		require.NotContains(t, b.Height+b.Width+b.X+b.Y, "NaN")
	}
	c.Bars = append(c.Bars, site.Bar{Value: 1}, site.Bar{Value: 1_000_000})
	columns := c.Columns()
	require.Equal(t, "160.0", columns[3].Height)
	require.Equal(t, "2.0", columns[2].Height, "a small value can be seen")
	require.Equal(t, "0.0", columns[1].Height)
	require.Empty(t, site.Chart{}.Columns())
}
