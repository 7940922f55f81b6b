package mandate_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain holds the package to its word that it starts no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
