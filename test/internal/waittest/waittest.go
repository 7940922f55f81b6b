// Package waittest runs the tests of a package that mostly waits for child processes.
package waittest

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// atOnce is the number of parallel tests that run at the same time, whatever the number
// of cores.
const atOnce = 8

// Run runs the tests and exits. The flag -parallel overrides its number of tests at once.
func Run(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", fmt.Sprint(atOnce)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
