package sqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"

	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// unnumbered prepares statements with ? in place of $1, $2 and so on. SQLite's driver looks for
// the argument of each numbered parameter among all arguments, which took a good part of the
// time of inserting a charge.
type unnumbered struct{ db.DBTX }

// PrepareContext implements [db.DBTX].
func (u unnumbered) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return u.DBTX.PrepareContext(ctx, withoutNumbers(query))
}

var numbered = regexp.MustCompile(`\$[0-9]+`)

// withoutNumbers returns a query with ? for each parameter. It returns a query whose parameters
// are not $1, $2 and so on, in this order, as it is.
func withoutNumbers(query string) string {
	if strings.Contains(query, "?") {
		return query
	}
	for i, p := range numbered.FindAllString(query, -1) {
		if p != "$"+strconv.Itoa(i+1) {
			return query
		}
	}
	return numbered.ReplaceAllLiteralString(query, "?")
}
