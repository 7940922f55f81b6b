package oauth

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxURI limits a redirect URI and a client's URL, in bytes.
	maxURI = 512
	// maxRedirects limits the redirect URIs of an app.
	maxRedirects = 20
)

// loopbacks are the hosts to which a code may be sent without TLS: the app runs on the
// person's own computer.
var loopbacks = []string{"127.0.0.1", "[::1]", "localhost"}

// redirect is a parsed redirect URI.
type redirect struct {
	text, host, port string
	rest             string // path and query
	loopback         bool
}

// parseRedirect accepts https URLs, and http URLs of loopback hosts. Browsers and URL parsers
// must agree about the host, so what some of them read in another way is refused. The error's text fits
// after the name of a field.
func parseRedirect(text string) (redirect, error) {
	scheme, after, found := strings.Cut(text, "://")
	if !found || (scheme != "https" && scheme != "http") {
		return redirect{}, errors.New("must be an https URL, or an http URL of 127.0.0.1, [::1] or localhost")
	}
	if len(text) > maxURI {
		return redirect{}, errors.New("must have at most " + strconv.Itoa(maxURI) + " bytes")
	}
	if strings.Trim(text, uriCharacters) != "" {
		return redirect{}, errors.New("must hold only the characters of a URL, and no fragment")
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Host == "" {
		return redirect{}, errors.New("must be a URL with a host and without a user")
	}
	authority := after
	if i := strings.IndexAny(after, "/?"); i >= 0 {
		authority = after[:i]
	}
	to := redirect{text: text, host: authority, rest: after[len(authority):]}
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		to.host, to.port = authority[:colon], authority[colon+1:]
		if n, err := strconv.ParseUint(to.port, 10, 16); err != nil || n == 0 {
			return redirect{}, errors.New("must have a port from 1 to 65535, or none")
		}
	}
	to.loopback = slices.Contains(loopbacks, to.host)
	switch {
	case scheme == "http" && !to.loopback:
		return redirect{}, errors.New("must be https, unless its host is 127.0.0.1, [::1] or localhost")
	case to.host == "" || (to.host != "[::1]" && strings.Trim(to.host, hostCharacters) != ""):
		return redirect{}, errors.New("must have a host name in lower case ASCII")
	}
	return to, nil
}

const (
	hostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	// uriCharacters are those of RFC 3986, without "#", which begins a fragment, and "@".
	uriCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?[]!$&'()*+,;=%"
)

// usable returns the redirect URIs of an app without those of other schemes than http and https,
// to which no code is sent.
func usable(all []string) ([]string, error) {
	if len(all) == 0 || len(all) > maxRedirects {
		return nil, fmt.Errorf("redirect_uris must have 1 to %d entries", maxRedirects)
	}
	var redirects []string
	var unusable error
	for _, text := range all {
		_, err := parseRedirect(text)
		switch {
		case err == nil:
			redirects = append(redirects, text)
		case strings.HasPrefix(text, "http"):
			return nil, fmt.Errorf("redirect_uris: an entry %w", err)
		default:
			unusable = err
		}
	}
	if len(redirects) == 0 {
		return nil, fmt.Errorf("redirect_uris: an entry %w", unusable)
	}
	return redirects, nil
}

// allows reports whether a registered redirect URI allows the one of a request: it is the same
// text, but for the port of a loopback host, which the system chooses (RFC 8252 §7.3).
func (to redirect) allows(asked redirect) bool {
	return to.text == asked.text || (to.loopback && asked.loopback && scheme(to) == scheme(asked) && to.host == asked.host && to.rest == asked.rest)
}

func scheme(to redirect) string {
	name, _, _ := strings.Cut(to.text, ":")
	return name
}

// with returns the URI with parameters added to its query.
func (to redirect) with(params url.Values) string {
	separator := "?"
	if strings.Contains(to.rest, "?") {
		separator = "&"
	}
	return to.text + separator + params.Encode()
}

// source returns the URI's origin as a source of a Content-Security-Policy, whose grammar has
// no IPv6 address.
func (to redirect) source() string {
	if strings.HasPrefix(to.host, "[") {
		return scheme(to) + ":"
	}
	origin := scheme(to) + "://" + to.host
	if to.port != "" {
		origin += ":" + to.port
	}
	return origin
}
