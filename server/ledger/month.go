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

// ParseMonth parses a month such as "2026-11".
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil {
		return 0, fmt.Errorf(`%q is not a month such as "2026-11"`, s)
	}
	return MonthOf(t), nil
}

// String returns the month as in the API: "2026-11".
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m/100, m%100) }

// Start returns the first instant of the month.
func (m Month) Start() time.Time {
	return time.Date(int(m/100), time.Month(m%100), 1, 0, 0, 0, 0, time.UTC)
}

// Next returns the following month.
func (m Month) Next() Month { return MonthOf(m.Start().AddDate(0, 1, 0)) }
