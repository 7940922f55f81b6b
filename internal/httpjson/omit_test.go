package httpjson_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbersOfWireTypesAreOmittedIfZero: this package's encoder omits with omitempty only
// what is empty in JSON, and a zero or false is not.
func TestNumbersOfWireTypesAreOmittedIfZero(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`^(bool|u?int(8|16|32|64)?|float(32|64))$`)
	fields := 0
	for _, folder := range []string{"agent", "client", "cmd", "mandate", "mpp", "paywall", "webhook", "x402", "server/internal"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok && f.Tag != nil {
					fields++
					kind, _ := f.Type.(*ast.Ident)
					if kind != nil && number.MatchString(kind.Name) && strings.Contains(f.Tag.Value, ",omitempty") {
						t.Errorf("%s: %s: write omitzero, since omitempty does not omit a %s", path, f.Tag.Value, kind.Name)
					}
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, fields, 100)
}
