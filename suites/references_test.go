package suites

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestReferencedEntriesHaveChecks checks that every entry has a check that an implemented entry or any text of a check
// names: what is left to another entry must be judged there.
func TestReferencedEntriesHaveChecks(t *testing.T) {
	for _, r := range Implemented() {
		for _, rule := range []catalogue.ByEra{r.Procedure, r.Pass, r.Fail, r.Skip} {
			requireChecks(t, r.ID, rule.Legacy+" "+rule.Modern)
		}
	}
	for file, parsed := range suiteFiles(t) {
		requireChecks(t, file, stringsIn(parsed))
	}
}

// entryID matches the ids of entries in a text.
var entryID = regexp.MustCompile(`[a-z-]+/[a-z0-9-]*[a-z0-9]`)

// requireChecks reports an error for each entry that a text names and that has no check.
func requireChecks(t *testing.T, where, text string) {
	t.Helper()
	for _, id := range idsWithoutCheck(text) {
		t.Errorf("%s leaves something to %s, which has no check", where, id)
	}
}

// idsWithoutCheck returns the entries without a check that a text names.
func idsWithoutCheck(text string) (ids []string) {
	for _, id := range entryID.FindAllString(text, -1) {
		if r, ok := Find(id); ok && !HasCheck(r) {
			ids = append(ids, id)
		}
	}
	return ids
}

// endsWithoutVerdict reports whether a call is t.Skip(…), or another one that ends a check without a verdict.
func endsWithoutVerdict(call *ast.CallExpr) bool {
	return slices.Contains([]string{"Yield", "Skip", "NoVerdict", "Retry"}, exprName(call.Fun))
}

// stringsIn returns the strings below a node.
func stringsIn(n ast.Node) string {
	var b strings.Builder
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			b.WriteString(lit.Value)
		}
		return true
	})
	return b.String()
}

// TestReferencesAreFound checks that ids in texts are found, and that those without a check are recognised.
func TestReferencesAreFound(t *testing.T) {
	want := []string{"ping/empty-result", "tools/list-works"}
	text := "some words: ping/empty-result, (tools/list-works)"
	if got := entryID.FindAllString(text+".", -1); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got := idsWithoutCheck(text); !slices.Equal(got, want[2:]) {
		t.Errorf("found %v without a check, want %v", got, want[2:])
	}
}
