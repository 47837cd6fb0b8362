package suites

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestReasonsAreListed checks that checks use only reasons in report.Reasons: reasons are given by name, an outcome
// without a verdict has one, and every name is in the list.
func TestReasonsAreListed(t *testing.T) {
	var names []string
	for file, parsed := range suiteFiles(t) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if exprName(n.Type) == "Reason" {
					names = append(names, n.Names[0].Name)
				}
			case *ast.CallExpr:
				ends := []string{"Skip", "NoVerdict", "Retry"}
				isEnd := slices.Contains(ends, exprName(n.Fun)) && !strings.Contains(file, "specs/")
				if isEnd && !slices.Contains(reasonNames(t), exprName(n.Args[0])) {
					t.Errorf("%s: %s needs the name of a reason", file, exprName(n.Fun))
				}
			case *ast.CompositeLit:
				members := namedMembers(n)
				open := members["verdict"] == "Skip" || members["verdict"] == "Inconclusive"
				if exprName(n.Type) == "outcome" && open && members["reason"] == "" {
					t.Errorf("%s: an outcome without a verdict needs a reason", file)
				}
			}
			return true
		})
	}
	if len(names) != len(report.Reasons) {
		t.Errorf("there are %d reasons and %d in the list: %v", len(names), len(report.Reasons), names)
	}
}

// TestReasonsNameNoEntry checks that no check itself names the entry that reports a violation: that belongs into
// yields_to, which is verified.
func TestReasonsNameNoEntry(t *testing.T) {
	for file, parsed := range suiteFiles(t) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !endsWithoutVerdict(call) {
				return true
			}
			for _, id := range entryID.FindAllString(stringsIn(call), -1) {
				if _, known := Find(id); known {
					t.Errorf("%s: %s names an entry; use t.Yield and yields_to instead", file, stringsIn(call))
				}
			}
			return true
		})
	}
}

// TestReasonsAreDocumented compares the list with the page about reports and with the schema of the JSON report.
func TestReasonsAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| reason code | why there is no verdict |\n|---|---|\n")
	for _, r := range report.Reasons {
		fmt.Fprintf(&table, "| %s | %s |\n", r.Code, r.Means)
	}
	const page = "reporters/README.md"
	if !strings.HasSuffix(readFile(t, page), "\n\n"+table.String()) {
		t.Errorf(page+" does not end with this table:\n%s", table.String())
	}
	var schema struct {
		Defs struct {
			Result struct {
				Properties struct {
					ReasonCode struct {
						OneOf []struct{ Const, Description string }
					}
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(readFile(t, "schemas/report.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range schema.Defs.Result.Properties.ReasonCode.OneOf {
		got = append(got, r.Const+": "+r.Description)
	}
	var want []string
	for _, r := range report.Reasons {
		want = append(want, string(r.Code)+": "+strings.ToUpper(r.Means[:1])+r.Means[1:]+".")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the schema has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reasonNames returns the Go names of the reasons, by convention: not-offered is NotOffered.
func reasonNames(t *testing.T) (names []string) {
	t.Helper()
	for _, r := range report.Reasons {
		var name strings.Builder
		for word := range strings.SplitSeq(string(r.Code), "-") {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
		names = append(names, name.String())
	}
	return names
}

// exprName returns the name that an expression ends with; empty when it has none.
func exprName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// namedMembers returns the members of a composite literal whose values are names.
func namedMembers(lit *ast.CompositeLit) map[string]string {
	members := map[string]string{}
	for _, x := range lit.Elts {
		if pair, ok := x.(*ast.KeyValueExpr); ok {
			members[exprName(pair.Key)] = exprName(pair.Value)
		}
	}
	return members
}

// suiteFiles yields the parsed files below suites, without tests.
func suiteFiles(t *testing.T) iter.Seq2[string, *ast.File] {
	t.Helper()
	return func(yield func(string, *ast.File) bool) {
		for _, file := range goFiles(t) {
			if !strings.HasPrefix(file, "suites/") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			path := filepath.Join(root, file)
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(file, parsed) {
				return
			}
		}
	}
}
