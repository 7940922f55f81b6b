package money_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/money"
)

func TestCentsAlwaysAddUpToTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := money.Cents(rapid.Int64Range(1, 10_000_000).Draw(t, "limit"))
		whole, err := limit.Micros()
		require.NoError(t, err)
		spent := money.Micros(rapid.Int64Range(0, int64(whole)).Draw(t, "spent"))
		require.Equal(t, limit, spent.CentsUp()+(whole-spent).CentsDown())
	})
}

func TestArithmeticIsChecked(t *testing.T) {
	t.Parallel()
	_, err := money.Cents(math.MaxInt64).Micros()
	require.ErrorIs(t, err, money.ErrOverflow)
	_, err = money.Micros(math.MaxInt64).Add(1)
	require.ErrorIs(t, err, money.ErrOverflow)
	_, err = money.Micros(math.MinInt64).Sub(1)
	require.ErrorIs(t, err, money.ErrOverflow)
	sum, err := money.Micros(5).Add(-7)
	require.NoError(t, err)
	require.Equal(t, money.Micros(-2), sum)
	require.Equal(t, money.Cents(-1), sum.CentsDown())
}

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]money.Micros{
		"0.01": 10_000, "12": 12_000_000, "1.000001": 1_000_001, "0": 0, "0.50": 500_000,
	} {
		got, err := money.ParseDecimal(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", ".", "1.", ".5", "-1", "+1", "1e2", " 1", "1,5", "0.0000001", "99999999999999999999"} {
		_, err := money.ParseDecimal(in)
		require.Error(t, err, in)
	}
}

func TestFromUnits(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		amount   string
		decimals int
		want     money.Micros
		ok       bool
	}{
		{"10000", 6, 10_000, true},
		{"1", 2, 10_000, true},
		{"1000000000000000001", 18, 1_000_001, true},
		{"0", 6, 0, true},
		{"9223372036854775807", 6, math.MaxInt64, true},
		{"9223372036854775808", 6, 0, false},
		{"", 6, 0, false},
		{"-1", 6, 0, false},
		{"+1", 6, 0, false},
		{"01", 6, 0, false},
		{"1.5", 6, 0, false},
		{"1", -1, 0, false},
		{"1", 41, 0, false},
	} {
		got, ok := money.FromUnits(one.amount, one.decimals)
		require.Equal(t, one.ok, ok, one.amount)
		if ok {
			require.Equal(t, one.want, got, one.amount)
		}
	}
}

func TestDecimalRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := money.Micros(rapid.Int64Range(0, math.MaxInt64).Draw(t, "m"))
		back, err := money.ParseDecimal(m.Decimal())
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
	require.Equal(t, "2.50", money.Micros(2_500_000).Decimal())
	require.Equal(t, "-0.005", money.Micros(-5_000).Decimal())
	require.Equal(t, "-9223372036854.775808", money.Micros(math.MinInt64).Decimal())
}
