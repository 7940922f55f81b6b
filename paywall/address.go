package paywall

import (
	"errors"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

// checkURL returns what is wrong with a configured address. It must be absolute,
// without user and fragment, and use https, or http to a loopback address in test mode.
func checkURL(s string, testMode, query bool) error {
	if s == "" {
		return errors.New("is required")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return errors.New("want an absolute URL with https")
	case strings.ContainsFunc(u.Host, notInHost):
		return errors.New("want a host of letters, digits, hyphens and dots")
	case u.User != nil, u.Fragment != "":
		return errors.New("must have no user and no fragment")
	case !query && (u.RawQuery != "" || u.ForceQuery):
		return errors.New("must have no query")
	case u.Scheme == "http" && !loopback.Host(u.Hostname()):
		return errors.New("want https")
	case u.Scheme == "http" && !testMode:
		return errors.New("want https: http to a loopback address is for TestMode")
	}
	return nil
}

// notInHost reports whether a character stands in no host and port; names beyond
// ASCII are written in their ASCII form.
func notInHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:[]", r)
}

// host is the host of a URL that was checked, without port.
func host(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// origin is scheme and host of a URL that was checked: the audience of a presentation.
func origin(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func trimSlash(s string) string { return strings.TrimRight(s, "/") }
