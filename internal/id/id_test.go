package id_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
)

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, b := id.New(id.Charge, now), id.New(id.Charge, now.Add(time.Millisecond))
	require.Less(t, a, b)
	require.True(t, id.Valid(id.Charge, a))
	require.False(t, id.Valid(id.Mandate, a))
	require.False(t, id.Valid(id.Charge, id.Charge+"../../etc"))
}

func TestTheFirstIDOfATimeIsBelowAllOthers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	first := id.First(id.Charge, now)
	require.True(t, id.Valid(id.Charge, first))
	require.Less(t, first, id.New(id.Charge, now))
	require.Less(t, id.New(id.Charge, now.Add(-time.Millisecond)), first)
	require.Less(t, first, id.First(id.Charge, time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)))
}

func TestCapabilitiesCarry256Bits(t *testing.T) {
	t.Parallel()
	a, b := id.NewCapability(id.Session), id.NewCapability(id.Session)
	require.NotEqual(t, a, b)
	require.Len(t, a, len(id.Session)+43)
	require.Len(t, id.Hash(a), 64)
	require.NotContains(t, id.Hash(a), a)
}
