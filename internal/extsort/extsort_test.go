package extsort_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/extsort"
)

// TestLinesComeInOrder: whatever fits in memory.
func TestLinesComeInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching("[a-z]{0,5}")).Draw(t, "lines")
		s := extsort.Sorter{Dir: dir, Memory: rapid.IntRange(1, 200).Draw(t, "memory")}
		for _, line := range lines {
			require.NoError(t, s.Add(line))
		}
		got := []string{}
		require.NoError(t, s.Each(func(line string) error {
			got = append(got, line)
			return nil
		}))
		want := append([]string{}, lines...)
		slices.Sort(want)
		require.Equal(t, want, got)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := extsort.Sorter{Dir: t.TempDir()}
	require.Error(t, s.Add("a\nb"))
	require.NoError(t, s.Add("a"))
	stop := errors.New("stop")
	require.ErrorIs(t, s.Each(func(string) error { return stop }), stop)
	nowhere := extsort.Sorter{Dir: t.TempDir() + "/none", Memory: 1}
	require.NoError(t, nowhere.Add("a"))
	require.ErrorIs(t, nowhere.Add("b"), os.ErrNotExist)
}
