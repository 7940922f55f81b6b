// Package importgraph_test holds the house to its plan: who may import whom, and
// what a merchant's build pulls in.
package importgraph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/paywarrant/paywarrant"

type pkg struct {
	ImportPath string
	Standard   bool
	Module     *struct{ Path string }
	Imports    []string
}

// list is `go list -deps` of patterns, keyed by import path.
func list(t *testing.T, patterns ...string) map[string]pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-json=ImportPath,Standard,Module,Imports"}, patterns...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			require.NoError(t, err)
		}
		all[p.ImportPath] = p
	}
}

// TestMerchantsPullInLittle: what a merchant imports compiles in no module
// outside the standard library but these.
func TestMerchantsPullInLittle(t *testing.T) {
	t.Parallel()
	allowed := []string{
		module, "github.com/golang-jwt/jwt/v5", "github.com/gowebpki/jcs", "golang.org/x/crypto", "golang.org/x/sys",
		"github.com/felixge/httpsnoop",
	}
	for name, own := range map[string][]string{
		"client": {module}, "webhook": {module}, "mandate": {module},
		"paywall": allowed, "paywall/bundle": allowed, "agent": allowed, "agent/journal": allowed, "mpp": allowed, "x402": allowed,
	} {
		modules := map[string]int{}
		for _, p := range list(t, "./"+name) {
			if !p.Standard && p.Module != nil {
				modules[p.Module.Path]++
			}
		}
		t.Logf("%s compiles in %v", name, modules)
		for m := range modules {
			require.Contains(t, own, m, "package %s", name)
		}
	}
}

// layers, from the bottom up: a package imports only what is in its own layer or
// below. The longest prefix counts.
var layers = map[string]int{
	"internal/": 0,
	"client":    1, "mandate": 1, "webhook": 1, "x402": 1, "mpp": 1,
	"x402/evm": 2, "paywall": 2, "paywall/bundle": 3, "agent": 3, "conformance": 4, "contracts": 1, "internal/devchain": 2, "internal/mcppay": 2,
	"server/rail": 3, "server/vault": 3, "server/ledger": 4,
	"server/rail/": 5, "server/ledger/": 5, "server/store": 5, "server/telemetry": 3, "server/internal/recorder": 5, "server/rail/chain/devrail": 6,
	"server/internal/": 6, "server": 7, "server/servertest": 8,
	"cmd/": 9, "examples/": 9, "test/": 9, "bench": 9,
}

func layer(path string) (int, bool) {
	best, found := "", false
	for prefix := range layers {
		if (path == prefix || (strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix)) ||
			strings.HasPrefix(path, prefix+"/")) && len(prefix) >= len(best) {
			best, found = prefix, true
		}
	}
	return layers[best], found
}

func TestArrowsPointDown(t *testing.T) {
	t.Parallel()
	for path, p := range list(t, "./...") {
		own, ok := strings.CutPrefix(path, module+"/")
		if !ok {
			continue
		}
		from, known := layer(own)
		require.True(t, known, "%s has no place in the house: add it to layers", own)
		for _, imported := range p.Imports {
			if imported, ok := strings.CutPrefix(imported, module+"/"); ok {
				to, _ := layer(imported)
				require.LessOrEqual(t, to, from, "%s imports %s", own, imported)
			}
		}
	}
}

// TestPackagesOfTheServiceAreApart: the packages of server/internal, each with those below
// it, import none of each other but payment, recorder, signin and site.
func TestPackagesOfTheServiceAreApart(t *testing.T) {
	t.Parallel()
	top := func(path string) (string, bool) {
		path, inside := strings.CutPrefix(path, module+"/server/internal/")
		path, _, _ = strings.Cut(path, "/")
		return path, inside
	}
	for path, p := range list(t, "./server/...") {
		from, inside := top(path)
		if !inside {
			continue
		}
		for _, imported := range p.Imports {
			if to, inside := top(imported); inside && to != from && to != "payment" && to != "recorder" && to != "signin" && to != "site" {
				require.Fail(t, "two packages of the service are coupled", "%s imports %s", path, imported)
			}
		}
	}
}

// TestChainCodeStaysInItsPlace: only the chain's own packages compile in go-ethereum,
// and what measures and tests them.
func TestChainCodeStaysInItsPlace(t *testing.T) {
	t.Parallel()
	places := []string{"x402/evm", "server/rail/chain", "contracts", "internal/devchain", "conformance/onchain", "test/", "bench"}
	for path, p := range list(t, "./...") {
		own, ok := strings.CutPrefix(path, module+"/")
		if !ok || slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(own, place) }) {
			continue
		}
		for _, imported := range p.Imports {
			require.False(t, strings.HasPrefix(imported, "github.com/ethereum/"), "%s imports %s", own, imported)
		}
	}
}

// TestStripeStaysInItsPlace: only the card rail over Stripe and the program compile in
// stripe-go, and only tests stripe-mock.
func TestStripeStaysInItsPlace(t *testing.T) {
	t.Parallel()
	for path, p := range list(t, "./...") {
		own, ok := strings.CutPrefix(path, module+"/")
		if !ok || strings.HasPrefix(own, "test/") {
			continue
		}
		for _, imported := range p.Imports {
			if own != "server/rail/stripe/stripetest" {
				require.False(t, strings.HasPrefix(imported, "github.com/stripe/stripe-mock"), "%s imports %s", own, imported)
			}
			if !strings.HasPrefix(own, "server/rail/stripe") {
				require.False(t, strings.HasPrefix(imported, "github.com/stripe/"), "%s imports %s", own, imported)
			}
		}
	}
}

// TestFirstBuildsStaySmall: what compiles before a user's first test, and before the
// first run of the program.
func TestFirstBuildsStaySmall(t *testing.T) {
	t.Parallel()
	const prometheus, tracing = "github.com/prometheus/", "go.opentelemetry.io/"
	for start, refused := range map[string][]string{
		"./server/servertest": {"github.com/ethereum/", "github.com/jackc/", "github.com/cockroachdb/", "github.com/syndtr/", "github.com/consensys/", prometheus, tracing},
		"./server":            {"github.com/ethereum/", "github.com/jackc/", prometheus, tracing},
		"./cmd/paywarrant":    {"github.com/cockroachdb/", "github.com/syndtr/", "github.com/ethereum/go-ethereum/node", "github.com/ethereum/go-ethereum/eth/"},
	} {
		packages := list(t, start)
		t.Logf("%s compiles in %d packages", start, len(packages))
		for path := range packages {
			for _, prefix := range refused {
				if path != "github.com/ethereum/go-ethereum/eth/gasestimator" {
					require.False(t, strings.HasPrefix(path, prefix), "%s compiles in %s", start, path)
				}
			}
		}
	}
}
