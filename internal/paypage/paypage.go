// Package paypage has what the pages of a merchant's paywall and bundles share: the style, which
// is that of the service's pages, and a content security policy for inlined texts.
package paypage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

// Style is the style sheet. It is inlined, so that a page is one response.
//
//go:embed page.css
var Style string

// Policy returns the policy of a page that inlines Style and a script: only these two run, and
// the page requests its own origin alone. More is added to the end.
func Policy(script, more string) string {
	return "default-src 'none'; style-src " + source(Style) + "; script-src " + source(script) +
		"; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; " + more
}

// source returns the source expression of an inlined text (CSP Level 3).
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
