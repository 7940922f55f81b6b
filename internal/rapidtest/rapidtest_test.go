package rapidtest_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/paywarrant/paywarrant/internal/rapidtest"
)

// TestModelsRun: the models run as often as the flag says, and by default often enough.
func TestModelsRun(t *testing.T) {
	runs := 0
	rapid.Check(t, func(*rapid.T) { runs++ })
	require.Equal(t, flag.Lookup("rapid.checks").Value.String(), fmt.Sprint(runs))
	require.GreaterOrEqual(t, runs, 15)
}
