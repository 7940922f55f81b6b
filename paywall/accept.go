package paywall

import (
	"strconv"
	"strings"
)

// prefersHTML tells whether a client wants a page rather than JSON, as browsers
// do. Who takes anything gets JSON.
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

// mediaRange reads one entry of Accept; a q that cannot be read is 0.
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
