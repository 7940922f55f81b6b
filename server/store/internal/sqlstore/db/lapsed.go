// Package db is the queries that both engines run: generated ones, and those for many rows.
package db

// Lapsed finds pending charges whose lease has ended, without those that wait for one
// of the rails in $1, a JSON array of arrays: the rail that is being asked, or else the
// first in the list of their rails. PostgreSQL unfolds the array by another function.
const Lapsed = `SELECT id FROM charges WHERE status = 'pending' AND lease_ms < $2 AND NOT EXISTS (
    SELECT 1 FROM json_each($1)
    WHERE CASE WHEN charges.rail <> '' THEN charges.rail = value ->> 0 ELSE charges.rails LIKE '["' || (value ->> 0) || '"%' END
) ORDER BY lease_ms LIMIT CAST($3 AS BIGINT)`
