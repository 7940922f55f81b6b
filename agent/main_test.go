package agent_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devchaintest.Leaks()...) }
