package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	command = regexp.MustCompile("`((?:go|make) [^`]+)`")
	target  = regexp.MustCompile(`(?m)^([a-z]+):.*##`)
)

// TestCommandsOfDrillsExist: each command of docs/reliability.md names packages, flags,
// tests and recipes that exist.
func TestCommandsOfDrillsExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reliability.md")
	require.NoError(t, err)
	recipes, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(string(recipes), -1) {
		targets[m[1]] = true
	}
	found := command.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(found), 15)
	for _, m := range found {
		words := strings.Fields(m[1])
		if words[0] == "make" {
			require.True(t, targets[words[1]], m[1])
			continue
		}
		module := ""
		if words[1] == "-C" {
			module, words = words[2], words[2:]
		}
		runs(t, module, words[1], words[2:])
	}
}

// runs requires that go test or go run can run these arguments in a module's folder.
func runs(t *testing.T, module, verb string, arguments []string) {
	t.Helper()
	var folders []string
	for i, a := range arguments {
		switch {
		case strings.HasPrefix(a, "./"):
			folder := filepath.Join(module, strings.TrimSuffix(strings.TrimPrefix(a, "./"), "/..."))
			require.DirExists(t, filepath.Join("..", "..", folder), a)
			folders = append(folders, folder)
		case verb == "run" && strings.HasPrefix(a, "-"):
			source, err := os.ReadFile(filepath.Join("..", "..", folders[0], "main.go"))
			require.NoError(t, err)
			require.Contains(t, string(source), `"`+strings.TrimPrefix(a, "-")+`"`, "%v", arguments)
		case verb == "test" && a == "-run":
			require.True(t, hasTest(t, folders[0], arguments[i+1]), "%v", arguments)
		}
	}
	require.NotEmpty(t, folders)
}
