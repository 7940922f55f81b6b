package main

import (
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// TestEveryCommandHasAnExample: in its help, and each example is of a command that exists.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var c cli
	parser, err := kong.New(&c, kong.Vars{"version": "test"})
	require.NoError(t, err)
	addExamples(parser)
	known := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(true) {
		name := commandOf(leaf)
		known[name] = true
		require.Contains(t, leaf.Detail, "Example", name)
		require.Contains(t, leaf.Detail, "paywarrant "+name, name)
	}
	for name := range examples {
		require.True(t, known[name], name)
	}
}
