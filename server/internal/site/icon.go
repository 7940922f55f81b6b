package site

import "html/template"

// icons are the drawings of the icons, in a square of 24 by 24.
var icons = map[string]string{
	"overview":     `<path d="M4 20V11m5.3 9V4m5.4 16v-6M20 20V8"/>`,
	"transactions": `<path d="M4 8h13l-3.5-3.5M20 16H7l3.5 3.5"/>`,
	"mandates":     `<path d="M12 3 5 5.7v5.2c0 4.5 3 7.7 7 9.1 4-1.4 7-4.6 7-9.1V5.7z"/><path d="m8.8 11.8 2.4 2.4 4.2-4.6"/>`,
	"keys":         `<circle cx="8" cy="15" r="4"/><path d="m11 12 8-8m-3 3 3 3m-6 0 2 2"/>`,
	"apps":         `<path d="M9 4v5m6-5v5M6.5 9h11v3.5a5.5 5.5 0 0 1-11 0zM12 18v3"/>`,
	"webhooks":     `<path d="M5 12a7 7 0 0 1 7-7m-3.5 7A3.5 3.5 0 0 1 12 8.5M19 12a7 7 0 0 1-7 7m3.5-7a3.5 3.5 0 0 1-3.5 3.5"/><circle cx="12" cy="12" r=".6"/>`,
	"settings":     `<path d="M4 7h8m6 0h2M4 17h2m6 0h8"/><circle cx="15" cy="7" r="2.5"/><circle cx="9" cy="17" r="2.5"/>`,
	"sandbox":      `<path d="M9 3h6m-5 0v6L5 18.5A1.7 1.7 0 0 0 6.5 21h11a1.7 1.7 0 0 0 1.5-2.5L14 9V3M7.5 15h9"/>`,
	"person":       `<circle cx="12" cy="8" r="4"/><path d="M4.5 20.5c.8-4 3.8-6 7.5-6s6.7 2 7.5 6"/>`,
	"card":         `<rect x="3" y="5.5" width="18" height="13" rx="2"/><path d="M3 10h18M7 15h3"/>`,
	"wallet":       `<path d="M4 7.5A2 2 0 0 1 6 5.5h11v3M4 7.5v10a2 2 0 0 0 2 2h13a1 1 0 0 0 1-1v-9a1 1 0 0 0-1-1H5.5"/><circle cx="16" cy="14" r=".8"/>`,
	"search":       `<circle cx="11" cy="11" r="6"/><path d="m20 20-4.5-4.5"/>`,
	"pause":        `<path d="M9 6v12m6-12v12"/>`,
	"stop":         `<circle cx="12" cy="12" r="8.5"/><path d="m6 6 12 12"/>`,
	"mail":         `<rect x="3" y="5.5" width="18" height="13" rx="2"/><path d="m4 7 8 6 8-6"/>`,
	"empty":        `<path d="M4 13.5 7 5h10l3 8.5V19H4zm0 0h5a3 3 0 0 0 6 0h5"/>`,
}

// icon draws an icon. It stands beside the word that it means, so it has no name of its own.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">` + //nolint:gosec // a constant drawing
		icons[name] + `</svg>`)
}
