package site

import (
	"errors"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// functions are what all templates can call.
var functions = template.FuncMap{
	"dollars": Dollars, "count": Count, "time": Time, "day": Day, "icon": icon, "show": show,
	"badge":  func(tone Tone, text string) Badge { return Badge{tone, text} },
	"secret": func(name, value string) Secret { return Secret{name, value} },
}

// Secret is a secret that a page shows once.
type Secret struct{ Name, Value string }

// Link is a text that leads to a page.
type Link struct{ Text, URL string }

var linkTemplate = template.Must(template.New("link").Parse(`<a href="{{.URL}}">{{.Text}}</a>`))

// show writes a value of a list of facts: a time, an amount, a [Link], or text.
func show(value any) (any, error) {
	switch v := value.(type) {
	case time.Time:
		return Time(v), nil
	case ledger.Micros:
		return Dollars(v), nil
	case Link:
		var b strings.Builder
		err := linkTemplate.Execute(&b, v)
		return template.HTML(b.String()), err //nolint:gosec // from a template
	}
	return value, nil
}

// Dollars writes an amount with thousands separators: "$1,250.00", "-$3.00".
func Dollars(m ledger.Micros) string {
	if m < 0 {
		return "-$" + Decimal(-m)
	}
	return "$" + Decimal(m)
}

// Decimal writes an amount that is not negative as Dollars does, without the sign of the
// currency.
func Decimal(m ledger.Micros) string {
	whole, cents, _ := strings.Cut(m.Decimal(), ".")
	return thousands(whole) + "." + cents
}

// Count writes a number that is not negative with thousands separators.
func Count(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// ParseDollars reads an amount as a person writes it: "25", "$12.50", "1,250.00".
// A comma anywhere but between thousands is an error.
func ParseDollars(text string) (ledger.Micros, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$")
	plain := strings.ReplaceAll(text, ",", "")
	m, err := money.ParseDecimal(plain)
	if err != nil || plain == text {
		return m, err
	}
	whole, _, _ := strings.Cut(text, ".")
	if want, _, _ := strings.Cut(Decimal(m), "."); want != whole {
		return 0, errors.New("comma that separates no thousands")
	}
	return m, nil
}

// Day writes a UTC day: "2 January 2026".
func Day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// Moment writes a time for text without markup: "2 January 2026, 15:04 UTC".
func Moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// Time writes a time as [Moment] does, in an element that the script of the pages shows in
// the viewer's time zone. It writes nothing for the zero time.
func Time(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + Moment(t) + `</time>`) //nolint:gosec // digits and names of months
}
