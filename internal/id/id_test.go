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

func TestCapabilitiesCarry256Bits(t *testing.T) {
	t.Parallel()
	a, b := id.NewCapability(id.Session), id.NewCapability(id.Session)
	require.NotEqual(t, a, b)
	require.Len(t, a, len(id.Session)+43)
	require.Len(t, id.Hash(a), 64)
	require.NotContains(t, id.Hash(a), a)
}
