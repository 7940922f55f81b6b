package payment

import (
	"net/url"
	"strings"
)

// normalResource returns the one spelling of a URL under which a paywall's charge
// is kept and its receipt compared: scheme and host in lower case, no default port,
// user or fragment, percent-encoding only where the path needs it, in upper case.
// The query stays as it is: a server may read it in any way.
func normalResource(u *url.URL) string {
	n := url.URL{Scheme: strings.ToLower(u.Scheme), Host: normalHost(u), Path: u.Path, RawQuery: u.RawQuery}
	if n.Path == "" {
		n.Path = "/"
	}
	if strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") { // an encoded slash is no separator
		n.RawPath = normalEscapes(u.EscapedPath())
	}
	return n.String()
}

func normalHost(u *url.URL) string {
	host := strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if strings.EqualFold(u.Scheme, scheme) {
			host = strings.TrimSuffix(host, port)
		}
	}
	return host
}

// normalEscapes decodes each segment of an escaped path and encodes it again.
func normalEscapes(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			segments[i] = url.PathEscape(decoded)
		}
	}
	return strings.Join(segments, "/")
}
