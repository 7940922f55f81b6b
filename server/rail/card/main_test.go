package card_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain serves a processor if this binary was started to be killed, and
// runs the tests otherwise.
func TestMain(m *testing.M) {
	if path := os.Getenv(victimFile); path != "" {
		os.Exit(serveVictim(path))
	}
	goleak.VerifyTestMain(m)
}
