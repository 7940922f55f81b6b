package paywall_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A merchant who gates an endpoint must not have to take a database or a chain
// client with it.
func TestMerchantsGetFiveModulesAtMost(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"github.com/paywarrant/paywarrant/paywall", "github.com/paywarrant/paywarrant/x402", "github.com/paywarrant/paywarrant/mpp").CombinedOutput()
	require.NoError(t, err, string(out))
	allowed := map[string]bool{
		"github.com/paywarrant/paywarrant": true, "github.com/golang-jwt/jwt/v5": true, "github.com/gowebpki/jcs": true,
		"golang.org/x/crypto": true, "golang.org/x/sys": true, "github.com/felixge/httpsnoop": true,
	}
	for module := range strings.FieldsSeq(string(out)) {
		require.True(t, allowed[module], module)
	}
}
