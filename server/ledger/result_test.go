package ledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandsWriteNoNamedResult: a caller whose context ends returns while its command still
// waits. The committer runs the command later, so what it writes must not be what the caller
// returns in.
func TestCommandsWriteNoNamedResult(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files := token.NewFileSet()
	commands := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && isRun(call) {
					commands++
					for _, name := range written(call, names(f.Type.Results)) {
						t.Errorf("%s: a command of %s writes its result %s", files.Position(call.Pos()), f.Name.Name, name)
					}
				}
				return true
			})
		}
	}
	require.Greater(t, commands, 20)
}

// isRun reports whether a call is that of Ledger.run.
func isRun(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "run"
}

// names returns the names of results.
func names(results *ast.FieldList) map[string]bool {
	all := map[string]bool{}
	if results == nil {
		return all
	}
	for _, field := range results.List {
		for _, name := range field.Names {
			all[name.Name] = name.Name != "_"
		}
	}
	return all
}

// written returns which of the names the functions among the arguments assign to.
func written(call *ast.CallExpr, results map[string]bool) (found []string) {
	for _, argument := range call.Args {
		command, ok := argument.(*ast.FuncLit)
		if !ok {
			continue
		}
		own := names(command.Type.Results)
		ast.Inspect(command.Body, func(n ast.Node) bool {
			if assigned, ok := n.(*ast.AssignStmt); ok && assigned.Tok == token.ASSIGN {
				for _, left := range assigned.Lhs {
					if name, ok := left.(*ast.Ident); ok && results[name.Name] && !own[name.Name] {
						found = append(found, name.Name)
					}
				}
			}
			return true
		})
	}
	return found
}
