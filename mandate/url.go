package mandate

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// issuerURL is the configured issuer.
type issuerURL struct {
	text     string
	loopback bool // http on the loopback interface: for development
}

// parseIssuer takes an https address, or an http one of the loopback interface.
func parseIssuer(s string) (issuerURL, error) {
	if validURL(s, false) {
		return issuerURL{text: s}, nil
	}
	if validURL(s, true) {
		return issuerURL{text: s, loopback: true}, nil
	}
	return issuerURL{}, fmt.Errorf("issuer %q is neither an https URL nor an http URL of the loopback interface", s)
}

// validURL tells whether s is an absolute https URL with host and without
// userinfo and fragment; with loopback also an http one of the loopback interface.
func validURL(s string, loopback bool) bool {
	secure := strings.HasPrefix(s, "https://")
	if !secure && (!loopback || !strings.HasPrefix(s, "http://")) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '\\' {
			return false
		}
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return false
	}
	return secure || isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.IsLoopback())
}
