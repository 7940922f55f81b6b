package sqlstore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyParametersInOrderLoseTheirNumbers(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1": "SELECT 1",
		"INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)": "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"UPDATE t SET a = $1 WHERE id = $2":                              "UPDATE t SET a = ? WHERE id = ?",
		"UPDATE t SET a = $2 WHERE id = $1":                              "UPDATE t SET a = $2 WHERE id = $1",
		"SELECT $1 WHERE a = $1":                                         "SELECT $1 WHERE a = $1",
		"SELECT ?, $1":                                                   "SELECT ?, $1",
	} {
		require.Equal(t, want, withoutNumbers(query))
	}
}
