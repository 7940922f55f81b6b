package sqlstore_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMigrationsAreNumberedWithoutAGap: two that were written at the same time must not
// have one number, and none may be left out. Number 14 is written in Go.
func TestMigrationsAreNumberedWithoutAGap(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("migrations")
	require.NoError(t, err)
	numbers := []int{14}
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		require.Len(t, number, 4, f.Name())
		n, err := strconv.Atoi(number)
		require.NoError(t, err)
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		require.Equal(t, i+1, n, fmt.Sprint(numbers))
	}
}
