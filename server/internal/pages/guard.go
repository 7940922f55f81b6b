package pages

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/internal/text"
)

// guarded serves next under the service's own host alone, and within the limits of the
// client's address. Under another host's name, a site that has its name resolve to the
// service could read pages and send forms as if they were its own (DNS rebinding).
func (p *Pages) guarded(limits *ratelimit.Limits, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownHost(p.BaseURL, r.Host) {
			p.message(w, r, http.StatusMisdirectedRequest, result{
				Tone: "bad", Badge: "Refused", Headline: "This page is at another address",
				Text: "Open it at " + p.BaseURL + ". A proxy in front of this service must pass the Host header on.",
			})
			return
		}
		if a := limits.Take(clientaddr.Network(httplog.ClientAddr(r.Context()))); !a.OK {
			retryafter.Set(w.Header(), max(a.Wait, time.Second))
			p.message(w, r, http.StatusTooManyRequests, result{
				Tone: "bad", Badge: "Wait", Headline: "Too many requests from your network",
				Text: "Nothing was decided. Please load the page again in a moment.",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a Host header names the origin, or any loopback address if
// the origin is one.
func ownHost(origin, host string) bool {
	own, err := url.Parse(origin)
	if err != nil {
		return false
	}
	asked, err := url.Parse(own.Scheme + "://" + host)
	if err != nil {
		return false
	}
	return strings.EqualFold(own.Hostname(), asked.Hostname()) || (loopback.Name(own.Hostname()) && loopback.Name(asked.Hostname()))
}

// clean reports whether what a form holds is text that can be stored and shown.
func clean(form url.Values) bool {
	for _, values := range form {
		for _, value := range values {
			if !text.Clean(value) {
				return false
			}
		}
	}
	return true
}
