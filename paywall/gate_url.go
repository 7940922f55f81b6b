package paywall

import (
	"errors"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

// checkURL returns an error if a configured URL is not absolute, has a user or a fragment,
// or does not use https. In test mode it may use http with a loopback address.
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

// notInHost reports whether a host and port cannot contain r. International names must be
// in their ASCII form.
func notInHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:[]", r)
}

// host returns the host of a valid URL, without the port.
func host(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// origin returns the scheme and host of a valid URL, which is the audience of
// presentations.
func origin(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func trimSlash(s string) string { return strings.TrimRight(s, "/") }
