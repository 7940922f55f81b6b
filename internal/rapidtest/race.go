//go:build race

package rapidtest

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

// racedChecks are enough for the detector: it looks for accesses, not for values.
const racedChecks = "15"

func init() { //nolint:gochecknoinits // a default must be set before flags are parsed
	if err := flag.Set("rapid.checks", racedChecks); err != nil {
		panic(err)
	}
}
