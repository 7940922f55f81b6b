// Package rapidtest sets how many random sequences the expensive model tests run: a few, so
// that `go test ./...` stays short. make test runs them with the flag -rapid.checks=100, and
// with few and the race detector. Import it for its effect in a test of a model:
//
//	import _ "github.com/paywarrant/paywarrant/internal/rapidtest"
package rapidtest

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

// checks are enough for the race detector, too: it looks for accesses, not for values.
const checks = "15"

func init() { //nolint:gochecknoinits // a default must be set before flags are parsed
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
}
