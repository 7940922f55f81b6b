// Package money defines the two units of money as distinct integer types with checked
// arithmetic: the API uses [Cents], the ledger [Micros]. It uses no floating point.
package money

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Cents is an amount in US cents, the unit of the merchant API.
type Cents int64

// Micros is an amount in millionths of a US dollar, the unit of the ledger.
// One micro is one base unit of USDC.
type Micros int64

const (
	// MicrosPerCent is the number of [Micros] in one of [Cents].
	MicrosPerCent = 10_000
	// MicrosPerDollar is the number of [Micros] in a US dollar.
	MicrosPerDollar = 1_000_000
	// maxDigits bounds the amounts and decimals of tokens.
	maxDigits = 40
)

// ErrOverflow reports a result that does not fit its type.
var ErrOverflow = errors.New("money: amount out of range")

// Micros converts to the ledger's unit. It returns [ErrOverflow] if the result does not fit.
func (c Cents) Micros() (Micros, error) {
	if c > math.MaxInt64/MicrosPerCent || c < math.MinInt64/MicrosPerCent {
		return 0, fmt.Errorf("%d cents: %w", int64(c), ErrOverflow)
	}
	return Micros(c) * MicrosPerCent, nil
}

// CentsUp converts to cents, rounded up. Use it for amounts spent.
func (m Micros) CentsUp() Cents {
	c := m / MicrosPerCent
	if m%MicrosPerCent > 0 {
		c++
	}
	return Cents(c)
}

// CentsDown converts to cents, rounded down. Use it for amounts left.
func (m Micros) CentsDown() Cents {
	c := m / MicrosPerCent
	if m%MicrosPerCent < 0 {
		c--
	}
	return Cents(c)
}

// WholeCents returns the amount in cents, and whether it is a whole number of cents.
func (m Micros) WholeCents() (Cents, bool) {
	return Cents(m / MicrosPerCent), m%MicrosPerCent == 0
}

// Add returns m+n, or [ErrOverflow] if the sum does not fit.
func (m Micros) Add(n Micros) (Micros, error) {
	s := m + n
	if (n > 0 && s < m) || (n < 0 && s > m) {
		return 0, fmt.Errorf("%d + %d micros: %w", int64(m), int64(n), ErrOverflow)
	}
	return s, nil
}

// Sub returns m-n, or [ErrOverflow] if the difference does not fit.
func (m Micros) Sub(n Micros) (Micros, error) {
	d := m - n
	if (n > 0 && d > m) || (n < 0 && d < m) {
		return 0, fmt.Errorf("%d - %d micros: %w", int64(m), int64(n), ErrOverflow)
	}
	return d, nil
}

// ParseDecimal parses a plain decimal number of dollars with at most six decimals ("0.01",
// "12", "1.000001"), without sign, exponent or white space.
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

// Decimal formats the amount in dollars, with at least two decimals.
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

// Dollars formats an amount that is not negative for people: "$1.05".
func (c Cents) Dollars() string { return fmt.Sprintf("$%d.%02d", c/100, c%100) }

// FromUnits converts an amount in base units of a dollar token with these decimals, rounded
// up. It reports false if the amount is not canonical (digits, no leading zero), or too large.
func FromUnits(amount string, decimals int) (Micros, bool) {
	if amount == "" || len(amount) > maxDigits || !digits(amount) || (amount[0] == '0' && len(amount) > 1) || decimals < 0 || decimals > maxDigits {
		return 0, false
	}
	n, _ := new(big.Int).SetString(amount, 10)
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(decimals-6, 6-decimals))), nil)
	if decimals <= 6 {
		n.Mul(n, scale)
	} else {
		n.Add(n, new(big.Int).Sub(scale, big.NewInt(1))).Quo(n, scale)
	}
	return Micros(n.Int64()), n.IsInt64()
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
