package ledger

import (
	"fmt"
	"time"
)

// Month is a calendar month in UTC, as year*100+month: 202611. Later months are greater.
type Month int32

// MonthOf returns the month of a time.
func MonthOf(t time.Time) Month {
	t = t.UTC()
	return Month(t.Year()*100 + int(t.Month()))
}

// String returns the month as in the API: "2026-11".
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m/100, m%100) }
