// Package money holds the two units that money is counted in here, as distinct
// integer types with checked arithmetic: the API speaks [Cents], the ledger
// counts [Micros]. No floating point touches money.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Cents is an amount in US cents, the unit of the merchant API.
type Cents int64

// Micros is an amount in millionths of a US dollar, the unit of the ledger.
// One micro is one base unit of USDC.
type Micros int64

const (
	// MicrosPerCent is how many [Micros] make one of [Cents].
	MicrosPerCent = 10_000
	// MicrosPerDollar is how many [Micros] make one US dollar.
	MicrosPerDollar = 1_000_000
)

// ErrOverflow tells that a result does not fit the unit.
var ErrOverflow = errors.New("money: amount out of range")

// Micros converts to the ledger's unit; [ErrOverflow] where it does not fit.
func (c Cents) Micros() (Micros, error) {
	if c > math.MaxInt64/MicrosPerCent || c < math.MinInt64/MicrosPerCent {
		return 0, fmt.Errorf("%d cents: %w", int64(c), ErrOverflow)
	}
	return Micros(c) * MicrosPerCent, nil
}

// CentsUp rounds away from zero for amounts above it: what is spent is never shown smaller.
func (m Micros) CentsUp() Cents {
	c := m / MicrosPerCent
	if m%MicrosPerCent > 0 {
		c++
	}
	return Cents(c)
}

// CentsDown rounds down: what is left is never shown larger.
func (m Micros) CentsDown() Cents {
	c := m / MicrosPerCent
	if m%MicrosPerCent < 0 {
		c--
	}
	return Cents(c)
}

// WholeCents tells the amount in cents, and whether it is a whole number of them.
func (m Micros) WholeCents() (Cents, bool) {
	return Cents(m / MicrosPerCent), m%MicrosPerCent == 0
}

// Add returns m+n; [ErrOverflow] where the sum does not fit.
func (m Micros) Add(n Micros) (Micros, error) {
	s := m + n
	if (n > 0 && s < m) || (n < 0 && s > m) {
		return 0, fmt.Errorf("%d + %d micros: %w", int64(m), int64(n), ErrOverflow)
	}
	return s, nil
}

// Sub returns m-n; [ErrOverflow] where the difference does not fit.
func (m Micros) Sub(n Micros) (Micros, error) {
	d := m - n
	if (n > 0 && d > m) || (n < 0 && d < m) {
		return 0, fmt.Errorf("%d - %d micros: %w", int64(m), int64(n), ErrOverflow)
	}
	return d, nil
}

// ParseDecimal reads a plain decimal number of dollars with at most six decimals
// ("0.01", "12", "1.000001"): no sign, no exponent, no white space.
func ParseDecimal(s string) (Micros, error) {
	whole, frac, dot := strings.Cut(s, ".")
	if whole == "" || !digits(whole) || (dot && (frac == "" || !digits(frac))) {
		return 0, fmt.Errorf("%q is not a plain decimal number", s)
	}
	if len(frac) > 6 {
		return 0, fmt.Errorf("%q has more than six decimals", s)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, ErrOverflow)
	}
	return Micros(n), nil
}

// Decimal writes the amount in dollars, with as many decimals as it needs but at least two.
func (m Micros) Decimal() string {
	sign, u := "", uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	frac := strings.TrimRight(fmt.Sprintf("%06d", u%MicrosPerDollar), "0")
	for len(frac) < 2 {
		frac += "0"
	}
	return sign + strconv.FormatUint(u/MicrosPerDollar, 10) + "." + frac
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
