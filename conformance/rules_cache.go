package conformance

import (
	"context"
	"net/http"
	"strings"
)

func cacheRules() []Rule {
	return []Rule{
		{
			ID: "cache.challenge", Title: "No cache keeps the 402", Source: "RFC 9111 §5.2.2.5; draft-httpauth-payment-00",
			Remedy: "Send Cache-Control: no-store with every 402.",
			check:  checkChallengeCache,
		},
		{
			ID: "cache.vary", Title: "Vary names the headers that pay", Source: "RFC 9110 §12.5.5; RFC 9111 §4.1",
			Remedy: "List PAYMENT-SIGNATURE, X-PAYMENT and Authorization in Vary, as far as the endpoint takes them, on every answer.",
			check:  checkVary,
		},
	}
}

// directives returns the directives of Cache-Control in lower case.
func directives(h http.Header) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name != "" {
			all[name] = strings.Trim(value, `"`)
		}
	}
	return all
}

// lasts reports whether a directive gives a cache a positive time.
func lasts(d map[string]string, name string) bool {
	return strings.TrimLeft(d[name], "0") != ""
}

func checkChallengeCache(ctx context.Context, p *probe) verdict {
	if c, no := p.asked(ctx); c == nil {
		return no
	}
	d := directives(p.plain(ctx).header)
	_, none := d["no-store"]
	_, public := d["public"]
	switch {
	case none:
		return pass("")
	case public || lasts(d, "max-age") || lasts(d, "s-maxage"):
		return fail("Cache-Control: %s lets a cache answer with this 402", quote(p.plain(ctx).header.Get("Cache-Control")))
	}
	return warn("Cache-Control has no no-store")
}

func checkVary(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	named := list(p.plain(ctx).header, "Vary")
	if named["*"] {
		return pass("")
	}
	for _, m := range malformed {
		if c.has[m.protocol] && !named[strings.ToLower(m.header)] {
			return warn("Vary does not name %s", m.header)
		}
	}
	return pass("")
}

// list returns the members of a header that is a list of names, in lower case.
func list(h http.Header, name string) map[string]bool {
	all := map[string]bool{}
	for _, part := range strings.Split(strings.ToLower(strings.Join(h.Values(name), ",")), ",") {
		if part = strings.TrimSpace(part); part != "" {
			all[part] = true
		}
	}
	return all
}
