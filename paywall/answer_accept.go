package paywall

import (
	"strconv"
	"strings"
)

// prefersHTML reports whether a client prefers a page to JSON, as browsers do. Clients that
// accept anything get JSON.
func prefersHTML(accept []string) bool {
	if len(accept) == 0 {
		return false
	}
	html, asJSON := 0.0, 0.0
	for _, line := range accept {
		if !strings.Contains(line, "text/html") {
			continue
		}
		for entry := range strings.SplitSeq(line, ",") {
			kind, q := mediaRange(entry)
			switch kind {
			case "text/html":
				html = max(html, q)
			case jsonType, "application/*":
				asJSON = max(asJSON, q)
			}
		}
	}
	return html > asJSON
}

// mediaRange parses one entry of Accept. The weight of a malformed entry is 0.
func mediaRange(entry string) (kind string, q float64) {
	kind, parameters, _ := strings.Cut(entry, ";")
	q = 1
	for p := range strings.SplitSeq(parameters, ";") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
			var err error
			if q, err = strconv.ParseFloat(value, 64); err != nil || q < 0 || q > 1 {
				q = 0
			}
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), q
}
