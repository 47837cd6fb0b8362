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

// indirectlyRequired are the modules that only tests of this module import, but that are part of the program because
// another module imports them, which is the value.
var indirectlyRequired = map[string]string{
	"github.com/google/go-cmp": "gomega",
}

// TestProgramHasNoTestDependencies checks that the program is built without modules that only tests need, so that none
// of them gets into the go.mod of a module that has mcpcheck as a tool.
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
			t.Errorf("only tests import %s, but it is part of the program: which module imports it?", module)
		case brought && (uses || !built[module]):
			t.Errorf("%s is not part of the program because of %s; correct indirectlyRequired", module,
				indirectlyRequired[module])
		}
	}
}

// programImports returns the packages imported by files other than tests, each with one of these files. It leaves out
// package mcptest, which is for tests of other modules, and packages proof and configtest, which are for our own.
func programImports(t *testing.T) map[string]string {
	t.Helper()
	imported := map[string]string{}
	for _, file := range goFiles(t) {
		forTests := slices.Contains([]string{
			"suites/mcptest", "fixtures/proof", "cmd/mcpcheck/internal/configtest",
		}, path.Dir(file))
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

// requireLine matches the direct requirements in go.mod.
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

// builtModules returns the modules that the program is built from, on any system.
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
