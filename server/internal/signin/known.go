package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// A browser in which a code of an address was entered gets a cookie, and the codes that it asks
// for are counted by themselves: strangers who use up the codes of the address do not lock its
// owner out. The cookie does not name the address, and is no session.

const (
	knownCookie   = "known"
	knownLifetime = 365 * 24 * time.Hour
)

// Remember sets the cookie of a browser in which an address was proven.
func (s *Service) Remember(w http.ResponseWriter, email string) {
	browser := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the service is reached by https
		Name: s.knownName(), Value: browser + "." + s.knownMAC(browser, email), Path: "/", MaxAge: int(knownLifetime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(s.BaseURL, "https:"),
	})
}

func (s *Service) knownName() string {
	if strings.HasPrefix(s.BaseURL, "https:") {
		return "__Host-" + knownCookie
	}
	return knownCookie
}

// BrowserOf returns a text that identifies the browser if the address was proven in it, or "".
func (s *Service) BrowserOf(r *http.Request, email string) string {
	email, err := ParseEmail(email)
	if err != nil {
		return ""
	}
	c, err := r.Cookie(s.knownName())
	if err != nil {
		return ""
	}
	browser, mac, _ := strings.Cut(c.Value, ".")
	if !hmac.Equal([]byte(mac), []byte(s.knownMAC(browser, email))) {
		return ""
	}
	return browser
}

func (s *Service) knownMAC(browser, email string) string {
	return hex.EncodeToString(s.mac("known browser", browser, email))
}
