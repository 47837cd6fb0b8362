package suites

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// indirectlyRequired are the modules that only tests of this module import, and that are part of the program all the
// same: who brings them.
var indirectlyRequired = map[string]string{
	"github.com/google/go-cmp": "gomega",
}

// TestProgramHasNoTestDependencies proves that the program is built without what only tests need: who has mcpcheck as a
// tool of a Go module gets none of it into go.mod.
func TestProgramHasNoTestDependencies(t *testing.T) {
	imported := programImports(t)
	for _, pkg := range []string{"testing", "testing/synctest", "net/http/httptest"} {
		if file := imported[pkg]; file != "" {
			t.Errorf("%s imports %s, which is for tests", file, pkg)
		}
	}
	built := builtModules(t)
	for _, module := range directModules(t) {
		uses := slices.ContainsFunc(slices.Collect(maps.Keys(imported)), func(pkg string) bool {
			return pkg == module || strings.HasPrefix(pkg, module+"/")
		})
		switch brought := indirectlyRequired[module] != ""; {
		case uses && !built[module]:
			t.Errorf("%s is imported, but is not part of the program", module)
		case !uses && built[module] && !brought:
			t.Errorf("only tests import %s, and yet it is part of the program: who brings it?", module)
		case brought && (uses || !built[module]):
			t.Errorf("%s is not brought by %s; correct broughtBy", module, indirectlyRequired[module])
		}
	}
}

// programImports are the packages that files other than those of tests import, each with one of these files. Those of
// mcptest are for the tests of others, and those of proof for our own.
func programImports(t *testing.T) map[string]string {
	t.Helper()
	imported := map[string]string{}
	for _, file := range goFiles(t) {
		forTests := slices.Contains([]string{"suites/mcptest", "fixtures/proof"}, path.Dir(file))
		if strings.HasSuffix(file, "_test.go") || forTests {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			pkg, _ := strconv.Unquote(spec.Path.Value)
			imported[pkg] = file
		}
	}
	return imported
}

// requireLine finds the modules in go.mod that this one requires for itself.
var requireLine = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

func directModules(t *testing.T) (modules []string) {
	t.Helper()
	for _, line := range requireLine.FindAllStringSubmatch(readFile(t, "go.mod"), -1) {
		modules = append(modules, line[1])
	}
	if len(modules) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	return modules
}

// builtModules are the modules of which the program is built, on any system.
func builtModules(t *testing.T) map[string]bool {
	t.Helper()
	built := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/mcpcheck")
		list.Dir, list.Env = root, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for module := range strings.FieldsSeq(string(out)) {
			built[module] = true
		}
	}
	return built
}
