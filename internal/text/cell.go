package text

import "strings"

// Cell returns s as the cell of a table that a spreadsheet may open: it puts an apostrophe
// before a text that the spreadsheet would run as a formula.
func Cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}
