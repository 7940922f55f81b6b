package mandate

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

// issuerURL is the URL of the configured issuer.
type issuerURL struct {
	text     string
	loopback bool // http on the loopback interface, for development
}

// parseIssuer accepts an https URL, or an http URL of the loopback interface.
func parseIssuer(s string) (issuerURL, error) {
	if validURL(s, false) {
		return issuerURL{text: s}, nil
	}
	if validURL(s, true) {
		return issuerURL{text: s, loopback: true}, nil
	}
	return issuerURL{}, fmt.Errorf("issuer %q is neither an https URL nor an http URL of the loopback interface", s)
}

// validURL reports whether s is an absolute https URL with a host and without
// userinfo and fragment, or, with allowLoopback, such an http URL of a loopback host.
func validURL(s string, allowLoopback bool) bool {
	secure := strings.HasPrefix(s, "https://")
	if !secure && (!allowLoopback || !strings.HasPrefix(s, "http://")) {
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
	return secure || loopback.Host(u.Hostname())
}
