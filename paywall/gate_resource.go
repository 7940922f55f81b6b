package paywall

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxResource is the longest resource that is derived from a request, in bytes.
const maxResource = 2 << 10

// resource is the URL that is sold: constant, or derived from the request.
type resource struct {
	text    string                              // as configured: a URL or a pattern; "" if there is none
	origin  string                              // scheme and host
	dynamic bool                                // differs from request to request
	parts   []string                            // path segments of a pattern; nil without a pattern
	of      func(*http.Request) (string, error) // ResourceFunc
}

// newResource returns the resource of a route. origin is [Config.Origin], or "".
func newResource(r Route, origin string, testMode bool) (resource, error) {
	out := resource{text: r.Resource, origin: origin, of: r.ResourceFunc}
	if strings.HasPrefix(out.text, "/") && origin != "" {
		out.text = origin + out.text
	}
	out.dynamic = out.of != nil || out.text == ""
	if out.text == "" {
		if origin == "" && out.of == nil {
			return out, errors.New("is required: a route has a resource of its own")
		}
		return out, nil
	}
	scheme, rest, _ := strings.Cut(out.text, "://")
	host, path, _ := strings.Cut(rest, "/")
	out.origin = scheme + "://" + host
	plain := out.text
	if strings.Contains(path, "{") {
		out.dynamic, out.parts = true, strings.Split(path, "/")
		if err := checkPattern(out.parts); err != nil {
			return out, err
		}
		plain = out.origin + "/"
	}
	return out, checkURL(plain, testMode, false)
}

// checkPattern checks the path of a pattern. As in [http.ServeMux], wildcards are whole
// segments, and a wildcard for several segments is the last one.
func checkPattern(parts []string) error {
	seen := map[string]bool{}
	for i, part := range parts {
		name, multi, wild := wildcard(part)
		switch {
		case !wild && strings.ContainsAny(part, "{}?#"):
			return fmt.Errorf("%q: want a wildcard to be a whole segment: {name}", part)
		case wild && (name == "" || strings.ContainsAny(name, "{}") || seen[name]):
			return fmt.Errorf("%q: want a name of its own", part)
		case multi && i < len(parts)-1:
			return fmt.Errorf("%q: must be last", part)
		}
		seen[name] = wild
	}
	return nil
}

// wildcard parses a segment {name} or {name...}.
func wildcard(part string) (name string, multi, ok bool) {
	inner, ok := strings.CutPrefix(part, "{")
	if !ok {
		return "", false, false
	}
	if inner, ok = strings.CutSuffix(inner, "}"); !ok {
		return "", false, false
	}
	name, multi = strings.CutSuffix(inner, "...")
	return name, multi, true
}

// routeTemplate returns the path of a pattern as x402 writes it, such as "/reports/:id", or "" if
// it has no wildcard or one for several segments.
func routeTemplate(pattern string) string {
	_, rest, absolute := strings.Cut(pattern, "://")
	if !absolute {
		rest = pattern
	}
	_, path, _ := strings.Cut(rest, "/")
	parts, any := strings.Split(path, "/"), false
	for i, part := range parts {
		name, multi, wild := wildcard(part)
		if multi {
			return ""
		}
		if wild {
			parts[i], any = ":"+name, true
		}
	}
	if !any {
		return ""
	}
	return "/" + strings.Join(parts, "/")
}

// sample returns a resource of the route, with which New checks that it can be encoded.
func (s resource) sample() string {
	switch {
	case s.text == "" && s.origin == "":
		return "https://example.com/"
	case s.text == "":
		return s.origin + "/"
	case s.parts != nil:
		return s.origin + "/" + strings.NewReplacer("{", "", "}", "", ".", "").Replace(strings.Join(s.parts, "/"))
	}
	return s.text
}

// errTooLong reports a request whose URL is too long for a challenge.
var errTooLong = errors.New("the URL is too long")

// forRequest returns the resource of a request.
func (s resource) forRequest(r *http.Request, testMode bool) (string, error) {
	var out string
	switch {
	case s.of != nil:
		var err error
		if out, err = s.of(r); err != nil {
			return "", fmt.Errorf("ResourceFunc: %w", err)
		}
		if err = checkURL(out, testMode, false); err != nil {
			return "", fmt.Errorf("ResourceFunc: %w", err)
		}
	case s.parts != nil:
		path, err := s.fill(r)
		if err != nil {
			return "", err
		}
		out = s.origin + path
	default:
		out = s.origin + pathOf(r)
	}
	if len(out) > maxResource {
		return "", errTooLong
	}
	return out, nil
}

// pathOf returns the path of a request as the client wrote it. A decoded path could have
// bytes that are not valid in URLs, JSON and databases.
func pathOf(r *http.Request) string {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

// fill returns the path of the pattern for a request: the path of the request if it matches,
// otherwise the pattern with the path values that the router has set, because the router
// may have stripped a prefix.
func (s resource) fill(r *http.Request) (string, error) {
	asked := pathOf(r)
	if s.fits(strings.Split(asked[1:], "/")) {
		return asked, nil
	}
	out := make([]string, len(s.parts))
	for i, part := range s.parts {
		name, multi, wild := wildcard(part)
		value := r.PathValue(name)
		switch {
		case !wild:
			out[i] = part
		case multi:
			out[i] = (&url.URL{Path: value}).EscapedPath()
		case value == "":
			return "", fmt.Errorf("the pattern %q of Resource fits neither the path asked for nor the router's path values", s.text)
		default:
			out[i] = url.PathEscape(value)
		}
	}
	return "/" + strings.Join(out, "/"), nil
}

// fits reports whether a path matches the pattern.
func (s resource) fits(segments []string) bool {
	for i, part := range s.parts {
		_, multi, wild := wildcard(part)
		switch {
		case multi:
			return len(segments) >= i
		case i >= len(segments):
			return false
		case wild && segments[i] == "", !wild && segments[i] != part:
			return false
		}
	}
	return len(segments) == len(s.parts)
}

// wildcards returns the names of the wildcards in the pattern.
func (s resource) wildcards() []string {
	var out []string
	for _, part := range s.parts {
		if name, _, ok := wildcard(part); ok {
			out = append(out, name)
		}
	}
	return out
}
