package dashboard

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// returning stands for the page that a browser returns to.
	returning = "return"
	// returnFor is how long the page is remembered.
	returnFor = 15 * time.Minute
	// maxReturn limits its path and query, in bytes. Browsers refuse longer cookies.
	maxReturn = 2800
)

// Decision is a page outside of the dashboard on which the merchant decides. The browser
// identifies the session.
type Decision = func(w http.ResponseWriter, r *http.Request, m ledger.Merchant, browser string)

// Deciding serves h to the merchant that is signed in and has entered a code within FreshFor.
// It sends others to sign in or to enter a code, and then back to the same address.
func (d *Dashboard) Deciding(h Decision) http.HandlerFunc {
	return d.sessions.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fresh := d.sessions.Fresh(r.Context(), FreshFor)
		if account, _ := d.sessions.Account(r.Context()); !fresh || account.Kind != signin.Merchant {
			d.returnTo(w, r)
		}
		m, ok := d.merchantOf(w, r)
		switch {
		case !ok:
		case !fresh:
			d.showProve(w, visit{r, m}, http.StatusForbidden, provePage{Next: returning})
		default:
			h(w, r, m, d.sessions.Browser(r.Context()))
		}
	})).ServeHTTP
}

// arrive redirects who has signed in to the page that asked for it, or to the overview.
func (d *Dashboard) arrive(w http.ResponseWriter, r *http.Request) {
	page := accountPath
	if account, ok := d.sessions.Account(r.Context()); ok && account.Kind == signin.Merchant {
		page = cmp.Or(d.takeReturn(w, r), Root)
	}
	http.Redirect(w, r, page, http.StatusSeeOther)
}

// returnCookie remembers a page in the browser, so that no link can choose it and strangers
// store nothing here.
func (d *Dashboard) returnCookie(value string, age time.Duration) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure wherever base_url is https
		Name: "return", Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(age / time.Second),
	}
	if c.Secure = strings.HasPrefix(d.Site.BaseURL, "https:"); c.Secure {
		c.Name = "__Host-return" // only https allows the prefix
	}
	return c
}

// returnTo remembers the page of a request.
func (d *Dashboard) returnTo(w http.ResponseWriter, r *http.Request) {
	if page := r.URL.RequestURI(); len(page) <= maxReturn {
		until := strconv.FormatInt(d.Clock().Add(returnFor).Unix(), 10)
		http.SetCookie(w, d.returnCookie(until+"."+base64.RawURLEncoding.EncodeToString([]byte(page)), returnFor))
	}
}

// takeReturn returns the page that is remembered and forgets it, or an empty string.
func (d *Dashboard) takeReturn(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(d.returnCookie("", 0).Name)
	if err != nil {
		return ""
	}
	http.SetCookie(w, d.returnCookie("", -time.Second))
	until, encoded, _ := strings.Cut(c.Value, ".")
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil || d.Clock().Unix() >= end {
		return ""
	}
	page, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !ownPage(string(page)) {
		return ""
	}
	return string(page)
}

// ownPage reports whether a browser reads text as a path of this service.
func ownPage(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") && !strings.ContainsAny(text, "\\\t\r\n")
}
