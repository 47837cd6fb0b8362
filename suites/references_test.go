package suites

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNothingIsLeftToNobody proves that what a check does not judge in favour of another entry is judged there: an
// entry that is named where one skips has a check.
func TestNothingIsLeftToNobody(t *testing.T) {
	for _, r := range All() {
		if HasCheck(r) {
			wantBuilt(t, r.ID, r.Skip.Legacy)
		}
	}
	for _, file := range goFiles(t) {
		if path.Dir(path.Dir(file)) != "suites" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if skips(n) {
				wantBuilt(t, file, textsIn(n))
			}
			return true
		})
	}
}

// named finds the ids of entries in a text.
var named = regexp.MustCompile(`[a-z-]+/[a-z0-9-]*[a-z0-9]`)

// wantBuilt wants a check for each entry that a text names.
func wantBuilt(t *testing.T, where, text string) {
	t.Helper()
	for _, id := range named.FindAllString(text, -1) {
		if r, ok := Find(id); ok && !HasCheck(r) {
			t.Errorf("%s skips in favour of %s, which has no check", where, id)
		}
	}
}

// skips reports whether a node is t.Skip(…), t.Inconclusive(…), or a string that a function returns as such a reason.
func skips(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Skip", "Inconclusive", "Again"}, sel.Sel.Name)
	case *ast.ReturnStmt:
		return true
	}
	return false
}

// textsIn are the strings below a node.
func textsIn(n ast.Node) string {
	var b strings.Builder
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			b.WriteString(lit.Value)
		}
		return true
	})
	return b.String()
}

// TestReferencesAreSeen proves that the ids in the reasons of both kinds are found.
func TestReferencesAreSeen(t *testing.T) {
	const text = "some words: ping/empty-result, (tools/list-works) and lifecycle/version-fallback."
	want := []string{"ping/empty-result", "tools/list-works", "lifecycle/version-fallback"}
	if got := named.FindAllString(text, -1); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
