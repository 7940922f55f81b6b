package postgres

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	insertion  = regexp.MustCompile(`INSERT INTO (\w+) \(([^)]*)\)\s+SELECT (?:unnest\(@|f\.)`)
	source     = regexp.MustCompile(`(?:unnest\(@|\bf\.)(\w+)(?:::|,)`)
	alias      = regexp.MustCompile(`unnest\(@(\w+)::\w+\[\]\) AS (\w+)`)
	assignment = regexp.MustCompile(`(\w+) = (?:u|excluded)\.(\w+)[,\s]`)
)

// TestColumnsTakeTheirOwnValues: in statements for many rows nothing but a name says
// which array is of which column; two of one type could be exchanged unnoticed.
func TestColumnsTakeTheirOwnValues(t *testing.T) {
	t.Parallel()
	inserts, pairs := 0, 0
	for _, text := range strings.Split(updateSQL, "-- name: ")[1:] {
		name, body, _ := strings.Cut(text, "\n")
		if at := insertion.FindStringSubmatchIndex(body); at != nil {
			var columns, values []string
			for column := range strings.SplitSeq(body[at[4]:at[5]], ",") {
				columns = append(columns, strings.TrimSpace(column))
			}
			for _, m := range source.FindAllStringSubmatch(body[at[5]:], -1) {
				values = append(values, m[1])
			}
			if name == "InsertEvents" {
				values = append(values, "place") // counted from the end of the stream
			}
			require.Equal(t, columns, values, name)
			inserts++
		}
		for _, m := range append(alias.FindAllStringSubmatch(body, -1), assignment.FindAllStringSubmatch(body+"\n", -1)...) {
			require.Equal(t, m[1], m[2], "%s: %s", name, m[0])
			pairs++
		}
	}
	require.Equal(t, 14, inserts)
	require.Greater(t, pairs, 70)
}

// TestParametersAreTheFieldsOfTheRow: a statement that does not name each field once
// is refused when the program starts.
func TestParametersAreTheFieldsOfTheRow(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() { named[struct{ MandateID, MerchantID string }]("LockTallies") })
	s := named[struct{ MandateID, MerchantID string }]("LockTallies")
	require.Equal(t, []int{1, 0}, s.fields)
	require.Contains(t, s.text, "unnest($1::text[]) AS merchant_id, unnest($2::text[]) AS mandate_id")
	require.Panics(t, func() { named[struct{ MandateID string }]("LockTallies") }, "a parameter without a field")
	require.Panics(t, func() { named[struct{ MandateID, MerchantID, More string }]("LockTallies") }, "a field without a parameter")
	require.Panics(t, func() { named[struct{}]("Lock") }, "no such statement")
}

// TestStatementsNameTheirColumns: a later version may add columns beside this one.
func TestStatementsNameTheirColumns(t *testing.T) {
	t.Parallel()
	require.NotContains(t, strings.ReplaceAll(updateSQL, "COUNT(*)", ""), "*")
}
