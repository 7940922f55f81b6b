// Package language_test counts what can be counted of the repository's prose:
// words and phrases that the style rules out, in comments, messages, documents
// and pages, and exported fields and interface methods without a comment. A
// count may fall, never rise.
package language_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule is one thing that prose here avoids.
type rule struct {
	pattern *regexp.Regexp
	// instead says what to write.
	instead string
	// most is the number of places that may have it. Lower it as they go.
	most int
}

func rules() []rule {
	word := func(pattern, instead string, most int) rule {
		return rule{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), instead, most}
	}
	return []rule{
		word(`tells?|told|telling`, "return, report, record, emit, log or send", 0),
		{regexp.MustCompile(`(?:^//|[.:]) An error (?:that|where|which) `), "The returned error names …", 0},
		word(`anew`, "again, or new", 0),
		word(`what (?:came|comes|became|becomes) of`, "the outcome, the result, the status", 0),
		word(`(?:come|comes|came) to`, "reach, or a plain verb", 0),
		word(`who(?:m|so)?ever`, "any caller, any program, or a noun", 0),
		word(`looks? after`, "maintain, or run", 0),
		word(`hears?|hear of`, "receive", 0),
		word(`nobody`, "no caller, none, or the passive", 0),
		word(`(?:a|the|this|each|other|another|of|its) rooms?`, "package", 0),
		// "where" is a place, not a condition.
		word(`where (?:it|there|that|this|the|a|an|one|they|none|no|nothing|both|either|its|two|all|he|we) (?:\w+ ){0,3}?(?:is|are|was|were|has|have|does|do|did|can|cannot|could|may|must)`, "if, or when", 0),
	}
}

// TestProseAvoids checks each rule in the comments of Go and Solidity, the strings of Go
// outside tests, the documents, the description of the API, the pages' templates, and
// scripts.
func TestProseAvoids(t *testing.T) {
	t.Parallel()
	lines := prose(t)
	require.Greater(t, len(lines), 10_000, "the prose was not found")
	for _, r := range rules() {
		var found []string
		for _, l := range lines {
			if at := r.pattern.FindString(l.text); at != "" {
				found = append(found, fmt.Sprintf("%s: %q (write: %s)", l.at, at, r.instead))
			}
		}
		if len(found) > r.most {
			sort.Strings(found)
			t.Errorf("%d lines have %s, at most %d may:\n%s", len(found), r.pattern, r.most, strings.Join(found, "\n"))
		}
	}
}

// undocumented is the number of exported fields and interface methods that may
// lack a comment.
const undocumented = 0

// TestEachExportedFieldIsDocumented covers what importers see: exported structs
// and interfaces of packages outside internal.
func TestEachExportedFieldIsDocumented(t *testing.T) {
	t.Parallel()
	var found []string
	files := token.NewFileSet()
	each(t, ".go", func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || !public(path) || generated(text) {
			return
		}
		file, err := parser.ParseFile(files, path, text, parser.ParseComments)
		require.NoError(t, err)
		if file.Name.Name == "main" {
			return
		}
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				for _, f := range undocumentedFields(s.(*ast.TypeSpec)) {
					found = append(found, files.Position(f.Pos()).String()+": "+f.Names[0].Name)
				}
			}
		}
	})
	if len(found) > undocumented {
		t.Errorf("%d exported fields or methods lack a comment, at most %d may:\n%s", len(found), undocumented, strings.Join(found, "\n"))
	}
}

// undocumentedFields returns the exported fields, or methods of an interface,
// that have neither a comment above nor one beside them.
func undocumentedFields(s *ast.TypeSpec) []*ast.Field {
	if !s.Name.IsExported() {
		return nil
	}
	var list *ast.FieldList
	switch u := s.Type.(type) {
	case *ast.StructType:
		list = u.Fields
	case *ast.InterfaceType:
		list = u.Methods
	default:
		return nil
	}
	var missing []*ast.Field
	for _, f := range list.List {
		if len(f.Names) > 0 && f.Names[0].IsExported() && f.Doc == nil && f.Comment == nil {
			missing = append(missing, f)
		}
	}
	return missing
}

type line struct{ at, text string }

// openAPI is the description of the API, which developers read.
const openAPI = "../../server/internal/api/openapi.json"

// prose returns the lines that people read.
func prose(t *testing.T) []line {
	t.Helper()
	var lines []line
	add := func(path string, n int, text string) {
		lines = append(lines, line{fmt.Sprintf("%s:%d", path, n), text})
	}
	files := token.NewFileSet()
	each(t, ".go", func(path string, text []byte) {
		if generated(text) {
			return
		}
		file, err := parser.ParseFile(files, path, text, parser.ParseComments)
		require.NoError(t, err)
		for _, group := range file.Comments {
			for _, c := range group.List {
				first := files.Position(c.Pos()).Line
				for i, l := range strings.Split(c.Text, "\n") {
					add(path, first+i, l)
				}
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			for _, l := range literals(file) {
				first := files.Position(l.Pos()).Line
				for i, text := range strings.Split(l.Value, "\n") {
					add(path, first+i, text)
				}
			}
		}
	})
	recipes, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	for i, l := range strings.Split(string(recipes), "\n") {
		add("Makefile", i+1, l)
	}
	for _, ext := range []string{".md", ".html", ".sh", ".mjs"} {
		each(t, ext, func(path string, text []byte) {
			// What earlier versions changed stays as it was written.
			now, _, _ := strings.Cut(string(text), "\n## [0.")
			for i, l := range strings.Split(now, "\n") {
				add(path, i+1, l)
			}
		})
	}
	api, err := os.ReadFile(openAPI)
	require.NoError(t, err)
	described := regexp.MustCompile(`"(?:description|summary)": *"((?:[^"\\]|\\.)*)"`)
	for i, l := range strings.Split(string(api), "\n") {
		for _, m := range described.FindAllStringSubmatch(l, -1) {
			add("openapi.json", i+1, m[1])
		}
	}
	each(t, ".sol", func(path string, text []byte) {
		for i, l := range strings.Split(string(text), "\n") {
			if _, comment, ok := strings.Cut(l, "//"); ok {
				add(path, i+1, comment)
			}
		}
	})
	return lines
}

// literals returns the file's string literals: messages, help texts, the outcomes
// on pages. Import paths are not prose, nor are literals of one word: they name
// files, accounts and wire fields.
func literals(file *ast.File) []*ast.BasicLit {
	var found []*ast.BasicLit
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, " ") {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// each calls f for every file of the repository with that ending, except this
// one, which has the words that it looks for.
func each(t *testing.T, ext string, f func(path string, text []byte)) {
	t.Helper()
	root := "../.."
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || name == "coverage" || name == "language" || strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ext {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, path)
		f(filepath.ToSlash(short), text)
		return err
	}))
}

var marker = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func generated(text []byte) bool { return marker.Match(text) }

// public reports whether importers can reach a file's package.
func public(path string) bool {
	return !strings.Contains("/"+path, "/internal/") && !strings.HasPrefix(path, "test/") && !strings.HasPrefix(path, "bench/")
}
