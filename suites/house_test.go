package suites

import (
	"bufio"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// root is the directory of the module, relative to this package.
const root = ".."

const module = "github.com/mcpcheck/mcpcheck/"

// allowedImports says for each package which others of this module it may import, from the bottom up. Areas never
// import each other; fixtures write both sides of the protocol a second time.
var allowedImports = map[string][]string{
	"suites/text":                  {},
	"suites/errcode":               {},
	"suites/timing":                {},
	"schemas":                      {"suites/text"},
	"suites/driver":                {"suites/errcode", "suites/text", "suites/timing"},
	"suites/catalogue":             {"suites/text"},
	"suites/report":                {"suites/catalogue", "suites/text"},
	"suites/check/internal/health": {"suites/report", "suites/driver"},
	"suites/check/internal/attempt": {"suites/check/internal/health", "suites/report", "suites/catalogue",
		"suites/driver", "suites/text"},
	"suites/check": {"suites/check/internal/attempt", "suites/check/internal/health", "suites/report",
		"suites/catalogue", "suites/driver", "suites/errcode", "suites/text", "suites/timing"},
	"suites/check/engine": {"suites/check", "suites/check/internal/attempt", "suites/report", "suites/catalogue",
		"suites/driver", "suites/errcode"},
	"suites/kit": {},

	"suites/kit/kittest":    {"suites/driver"},
	"suites/kit/protocol":   checkImports,
	"suites/kit/roundtrip":  checkImports,
	"suites/kit/transcript": append(kitImports("protocol", "roundtrip"), checkImports...),
	"suites/kit/invalid":    append(kitImports("transcript", "protocol", "roundtrip"), checkImports...),
	"suites/kit/handshake":  append(kitImports("invalid", "transcript", "protocol"), checkImports...),
	"suites/kit/toolcall": append(kitImports("handshake", "invalid", "transcript", "protocol", "roundtrip"),
		checkImports...),
	"suites/kit/client": append(kitImports("toolcall", "handshake", "invalid", "transcript", "protocol"),
		checkImports...),
	"suites/kit/requests": append(kitImports("toolcall", "invalid", "protocol"), checkImports...),
	"suites/kit/taskrun": append(kitImports("client", "toolcall", "handshake", "invalid", "transcript", "protocol"),
		checkImports...),

	"suites/(area)": append(kitImports("taskrun", "requests", "client", "toolcall", "handshake", "invalid",
		"transcript", "protocol", "roundtrip"), checkImports...),
	"suites/discovery": {"suites/check", "suites/catalogue", "suites/driver", "suites/errcode", "suites/timing"},
	"suites":           {"suites/check", "suites/catalogue", "suites/(area)"},
	"suites/specs":     {"suites/check/engine", "suites/check", "suites/report", "suites/catalogue", "suites/driver"},
	"suites/mcptest": {
		"suites", "suites/discovery", "suites/check/engine", "suites/check", "suites/report", "suites/catalogue",
		"suites/driver",
	},
	"reporters/files": {"suites/text"},
	"reporters":       {"reporters/files", "suites/report", "suites/catalogue", "suites/text"},
	"fixtures":        {},
	"fixtures/hooks":  {"fixtures"},
	"fixtures/proof": {
		"fixtures", "suites", "suites/discovery", "suites/check/engine", "suites/check", "suites/report",
		"suites/catalogue", "suites/driver",
	},
	"fixtures/faults":     {"fixtures", "fixtures/hooks"},
	"fixtures/variations": {"fixtures", "fixtures/hooks"},
	"cmd/mcpcheck": append(internalImports("fleet", "draft", "explain", "load", "recorder", "runner", "hosts",
		"config", "cli", "process", "terminal", "exit", "build"),
		"schemas", "reporters", "reporters/files", "fixtures", "fixtures/faults", "fixtures/variations", "suites",
		"suites/driver", "suites/report", "suites/catalogue", "suites/text"),

	"cmd/mcpcheck/internal/build":    {},
	"cmd/mcpcheck/internal/terminal": {},
	"cmd/mcpcheck/internal/exit":     {"suites/report", "suites/text"},
	"cmd/mcpcheck/internal/cli":      append(internalImports("exit"), "suites/text"),
	"cmd/mcpcheck/internal/redact":   {"schemas", "suites/driver", "suites/report", "suites/text"},
	"cmd/mcpcheck/internal/yamlfile": append(internalImports("exit"), "suites/text"),
	"cmd/mcpcheck/internal/process": append(internalImports("exit"), "reporters/files", "suites/driver",
		"suites/text"),
	"cmd/mcpcheck/internal/trace": append(internalImports("redact"), "suites/driver", "suites/report",
		"suites/catalogue", "suites/text"),
	"cmd/mcpcheck/internal/baseline": append(internalImports("yamlfile", "exit"), "reporters", "reporters/files",
		"suites/report", "suites/catalogue"),
	"cmd/mcpcheck/internal/explain": {"suites", "suites/report", "suites/catalogue", "suites/text"},
	"cmd/mcpcheck/internal/config": append(internalImports("cli", "yamlfile", "redact", "exit", "build"),
		"reporters", "reporters/files", "suites", "suites/check/engine", "suites/check", "suites/report",
		"suites/catalogue", "suites/driver", "suites/text"),
	"cmd/mcpcheck/internal/configtest": internalImports("config", "yamlfile"),
	"cmd/mcpcheck/internal/hosts": append(internalImports("config", "yamlfile", "redact", "exit"), "reporters/files",
		"suites/driver", "suites/text"),
	"cmd/mcpcheck/internal/target": append(internalImports("hosts", "config", "redact", "process", "exit"),
		"reporters/files", "suites/discovery", "suites/check", "suites/report", "suites/catalogue", "suites/driver",
		"suites/text"),
	"cmd/mcpcheck/internal/explore": {
		"schemas", "suites/kit/protocol", "suites/kit/toolcall", "suites/check/engine", "suites/check", "suites/report",
		"suites/catalogue", "suites/driver", "suites/text",
	},
	"cmd/mcpcheck/internal/load": append(internalImports("target", "config", "runner", "process", "terminal",
		"exit", "build"),
		"schemas", "reporters", "reporters/files", "suites/check", "suites/check/engine", "suites/report",
		"suites/catalogue", "suites/driver"),
	"cmd/mcpcheck/internal/recorder": append(internalImports("trace", "redact", "process", "exit", "build"),
		"reporters", "suites/driver", "suites/report", "suites/catalogue", "suites/text"),
	"cmd/mcpcheck/internal/runner": append(internalImports("explore", "target", "hosts", "config", "baseline", "trace",
		"redact", "process", "terminal", "exit", "build"),
		"schemas", "reporters", "reporters/files", "suites", "suites/discovery", "suites/specs", "suites/kit/protocol",
		"suites/check/engine", "suites/check", "suites/report", "suites/catalogue", "suites/driver", "suites/errcode",
		"suites/text"),
	"cmd/mcpcheck/internal/draft": append(internalImports("runner", "target", "config", "redact", "process", "exit"),
		"schemas", "reporters", "reporters/files", "suites/discovery", "suites/kit/protocol", "suites/kit/toolcall",
		"suites/check", "suites/report", "suites/catalogue", "suites/driver", "suites/text"),
	"cmd/mcpcheck/internal/fleet": append(internalImports("runner", "baseline", "hosts", "config", "cli", "process",
		"exit", "build"),
		"reporters", "reporters/files", "suites", "suites/report", "suites/catalogue", "suites/text"),
}

// checkImports is what packages import that write checks.
var checkImports = []string{
	"schemas", "suites/check", "suites/report", "suites/catalogue", "suites/driver",
	"suites/errcode", "suites/text", "suites/timing",
}

func kitImports(names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, "suites/kit/"+name)
	}
	return paths
}

// internalImports are packages of the program, by their names.
func internalImports(names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, "cmd/mcpcheck/internal/"+name)
	}
	return paths
}

// TestImportsRunOneWay checks the imports of all files except tests against allowedImports.
func TestImportsRunOneWay(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		from := importGroup(path.Dir(file))
		allowed, known := allowedImports[from]
		if !known {
			t.Fatalf("%s: the package %s is not in allowedImports; add it", file, from)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			to, ours := strings.CutPrefix(imported, module)
			if strings.HasPrefix(imported, "github.com/onsi/ginkgo/") && from != "suites/specs" {
				t.Errorf("%s imports Ginkgo, which only suites/specs may import", file)
			}
			if ours && !slices.Contains(allowed, importGroup(to)) {
				t.Errorf("%s imports %s, which %s may not import", file, to, from)
			}
		}
	}
}

// importGroup returns the name of a package in allowedImports, where all areas have the same name.
func importGroup(pkg string) string {
	name, inSuites := strings.CutPrefix(pkg, "suites/")
	if inSuites && slices.ContainsFunc(Areas, func(a Area) bool { return a.Name == name }) {
		return "suites/(area)"
	}
	return pkg
}

// Limits for the sake of readers.
const (
	maxLineWidth = 120 // characters per line, where a tab counts as four
	maxFileLines = 600 // lines per file
)

// TestFilesAreReadable checks the length of lines and files of Go.
func TestFilesAreReadable(t *testing.T) {
	for _, file := range goFiles(t) {
		text, err := os.Open(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		n := 0
		for lines := bufio.NewScanner(text); lines.Scan(); {
			n++
			if width := utf8.RuneCountInString(strings.ReplaceAll(lines.Text(), "\t", "    ")); width > maxLineWidth {
				t.Errorf("%s:%d has %d characters, more than %d", file, n, width, maxLineWidth)
			}
		}
		if n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: divide it by subject", file, n, maxFileLines)
		}
	}
}

// goFiles returns the paths of all Go files in the module, relative to its root, with slashes.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(file, ".go"):
			files = append(files, file)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files: %v", err)
	}
	return files
}
