package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
)

// readmePages are README.md and the reference pages that it links to, relative to the root of the repository.
var readmePages = []string{
	"README.md", "cmd/mcpcheck/README.md", "reporters/README.md", "suites/mcptest/README.md", actionPage,
}

const actionPage = ".github/action/README.md"

// pageText returns the text of a file, whose name is relative to the root of the repository.
func pageText(t *testing.T, name string) string {
	t.Helper()
	return readFile(t, filepath.Join("..", "..", filepath.FromSlash(name)))
}

// snippet is a fenced code block of a page.
type snippet struct {
	page string
	// section is the heading above the block.
	section string
	line    int
	// language is that of the block; empty means that the block is an illustration, which is not run.
	language string
	text     string
}

func (s snippet) String() string { return fmt.Sprintf("%s (%s:%d)", s.section, s.page, s.line) }

// snippets returns the code blocks of all pages.
func snippets(t *testing.T) (all []snippet) {
	t.Helper()
	for _, name := range readmePages {
		all = append(all, snippetsOf(t, name)...)
	}
	return all
}

// snippetsOf returns the code blocks of a page.
func snippetsOf(t *testing.T, name string) (all []snippet) {
	t.Helper()
	var open *snippet
	section := ""
	for i, line := range strings.Split(pageText(t, name), "\n") {
		fence, fenced := strings.CutPrefix(line, "```")
		switch {
		case fenced && open == nil:
			open = &snippet{page: name, section: section, line: i + 1, language: fence}
		case fenced:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		}
	}
	if open != nil || len(all) == 0 {
		t.Fatalf("%s: %d blocks, and the last one is open: %v", name, len(all), open != nil)
	}
	return all
}

// findSnippet returns the first code block for which holds returns true.
func findSnippet(t *testing.T, holds func(snippet) bool) snippet {
	t.Helper()
	all := snippets(t)
	at := slices.IndexFunc(all, holds)
	if at < 0 {
		t.Fatal("no page has such a block")
	}
	return all[at]
}

// snippetInSection returns the first code block in a language in a section.
func snippetInSection(t *testing.T, section, language string) snippet {
	t.Helper()
	return findSnippet(t, func(s snippet) bool { return s.section == section && s.language == language })
}

// TestReadmeLength keeps README.md short: reference belongs in the other pages.
func TestReadmeLength(t *testing.T) {
	const most = 250
	if n := strings.Count(pageText(t, "README.md"), "\n"); n > most {
		t.Errorf("README.md has %d lines, more than %d", n, most)
	}
}

// TestReadmeLinks proves that the targets of links exist: files, and headings in pages.
func TestReadmeLinks(t *testing.T) {
	for _, name := range readmePages {
		for _, found := range regexp.MustCompile(`\]\(([^):]*)\)`).FindAllStringSubmatch(pageText(t, name), -1) {
			file, heading, _ := strings.Cut(found[1], "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if !fileExists(filepath.Join("..", "..", filepath.FromSlash(to))) {
				t.Errorf("%s: the file %s does not exist", name, to)
			} else if heading != "" && !slices.Contains(headingAnchors(pageText(t, to)), heading) {
				t.Errorf("%s: %s has no heading #%s", name, to, heading)
			}
		}
	}
}

// headingAnchors returns the anchors of the headings of a page.
func headingAnchors(content string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(content, -1) {
		words := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(words, " ", "-"))
	}
	return anchors
}

// TestReadmeDemo runs the command in README.md whose output is shown there, and compares the output except for numbers.
func TestReadmeDemo(t *testing.T) {
	shown := findSnippet(t, func(s snippet) bool { return strings.HasPrefix(s.text, "$ ") }).text
	line, want, _ := strings.Cut(shown, "\n")
	words := strings.Fields(strings.TrimPrefix(line, "$ "))
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "COLUMNS=100", "CI=") // CI would hide the next steps
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Fatalf("%s: %v", line, err)
	}
	numbers := regexp.MustCompile(`\d+(\.\d+)? (called|not called|checks|passed|s)\b|and \d+ more`)
	masked := func(content string) string { return numbers.ReplaceAllString(content, "N $2") }
	if got := string(out); masked(got) != masked(want) {
		t.Errorf("README.md shows\n%s\nand it is\n%s", want, got)
	}
}

// TestReadmeScripts runs the commands of the pages, including those in YAML, in a Jenkinsfile and in package.json; node
// dist/index.js is the built-in server. Commands have to succeed, and to write the reports that they and the YAML name.
// Without a configuration they run only a few checks, except with -whole.
func TestReadmeScripts(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	bin := newFakePrograms(t)
	tried := 0
	for _, s := range snippets(t) {
		scripts := scriptsOf(t, s)
		if len(scripts) == 0 {
			continue
		}
		tried++
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			dir := newProject(t)
			if !*whole && !strings.Contains(s.text, "mcpcheck init") { // init writes that file
				writeTextFile(t, filepath.Join(dir, config.DefaultFile),
					"only: [ping, tools/list-works, tools/unknown-tool-code]\n")
			}
			for _, script := range scripts {
				runShell(t, dir, bin, script)
			}
			for _, wrote := range reportNamePattern.FindAllStringSubmatch(s.text, -1) {
				if !fileExists(filepath.Join(dir, wrote[1])) {
					t.Errorf("%s was not written", wrote[1])
				}
			}
		})
	}
	if tried < 10 {
		t.Errorf("%d blocks with commands, want more", tried)
	}
}

// reportNamePattern matches where a report is written or read: --junit FILE, junit: FILE, junit 'FILE'.
var reportNamePattern = regexp.MustCompile(
	`(?:--(?:json|junit|markdown|sarif|html|tap|ctrf|badge) |\bjunit:? '?)([\w.-]+\.\w+)`)

// newFakePrograms makes programs that the pages use and mcpcheck does not need.
func newFakePrograms(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{
		"node": `test "$1" = dist/index.js || exit 9; exec mcpcheck serve`,
		"npx":  `while test "$1" = --yes; do shift; done; name=${1%@*}; shift; exec "$name" "$@"`,
		"npm":  `exit 0`,
		"go":   `exit 0`,
		"gh":   `case $* in *--paginate*) echo "$ID" ;; *body=@report.md*) echo "$*" >>called ;; *) exit 9 ;; esac`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+content+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newProject makes the directory of a server.
func newProject(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	flags := `{"mcpServers": {"weather": {"command": "node", "args": ["dist/index.js"]}}}`
	for name, content := range map[string]string{".mcp.json": flags, "report.md": "<!-- mcpcheck -->\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shellScript are commands with their environment variables.
type shellScript struct {
	text string
	env  map[string]string
}

// runShell runs commands, which have to succeed.
func runShell(t *testing.T, dir, bin string, s shellScript) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", s.text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for key, value := range s.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s\n%v\n%s", s.text, err, out)
	}
}

// scriptsOf returns the commands in a code block.
func scriptsOf(t *testing.T, s snippet) (scripts []shellScript) {
	t.Helper()
	switch s.language {
	case "sh":
		return []shellScript{{text: s.text}}
	case "groovy":
		for _, found := range regexp.MustCompile(`\bsh '([^']*)'`).FindAllStringSubmatch(s.text, -1) {
			scripts = append(scripts, shellScript{text: found[1]})
		}
	case "json":
		var manifest struct{ Scripts map[string]string }
		if err := json.Unmarshal([]byte(s.text), &manifest); err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for _, content := range manifest.Scripts {
			scripts = append(scripts, shellScript{text: content})
		}
	case "yaml":
		for m := range allMaps(parseSnippet(t, s)) {
			scripts = append(scripts, jobScripts(m)...)
		}
	}
	return scripts
}

// jobScripts returns the commands of a step on GitHub, of a job on GitLab, or of a hook.
func jobScripts(m map[string]any) (scripts []shellScript) {
	for _, key := range []string{"run", "entry"} {
		if content, ok := m[key].(string); ok {
			scripts = append(scripts, shellScript{content, stepEnv(m)})
		}
	}
	if lines, ok := m["script"].([]any); ok {
		for _, line := range lines {
			scripts = append(scripts, shellScript{text: fmt.Sprint(line)})
		}
	}
	return scripts
}

// stepEnv returns the environment variables of a step. It replaces expressions as the runner would.
func stepEnv(step map[string]any) map[string]string {
	env := map[string]string{"ID": ""}
	values, _ := step["env"].(map[string]any)
	for key, value := range values {
		env[key] = stepExpressionPattern.ReplaceAllStringFunc(fmt.Sprint(value), func(e string) string {
			if strings.Contains(e, "outputs.markdown") {
				return "report.md"
			}
			return "1"
		})
	}
	return env
}

var stepExpressionPattern = regexp.MustCompile(`\$\{\{.*?\}\}`)

// parseSnippet parses a code block in YAML.
func parseSnippet(t *testing.T, s snippet) (v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(s.text), &v); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return v
}

// allMaps returns an iterator over all maps in a value.
func allMaps(v any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) { walkMaps(v, yield) }
}

// walkMaps yields the maps in a value, until yield returns false.
func walkMaps(v any, yield func(map[string]any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		if !yield(v) {
			return false
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !walkMaps(v[key], yield) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !walkMaps(item, yield) {
				return false
			}
		}
	}
	return true
}

// TestReadmeComment runs the step that comments on a pull request: it creates the comment first and edits it later.
func TestReadmeComment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	step := scriptsOf(t, findSnippet(t, func(s snippet) bool { return strings.Contains(s.text, "gh api") }))[0]
	bin := newFakePrograms(t)
	for id, want := range map[string]string{
		"":   "api --method POST repos/1/issues/1/comments --field body=@report.md\n",
		"42": "api --method PATCH repos/1/issues/comments/42 --field body=@report.md\n",
	} {
		dir := newProject(t)
		step.env["ID"] = id
		runShell(t, dir, bin, step)
		if got, _ := os.ReadFile(filepath.Join(dir, "called")); string(got) != want {
			t.Errorf("comment %q: gh %q, want gh %q", id, got, want)
		}
	}
}

// TestReadmeAction compares the steps of the pages, and the inputs and outputs that the Action's page lists, with
// action.yml.
func TestReadmeAction(t *testing.T) {
	var action struct{ Inputs, Outputs map[string]any }
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join("..", "..", "action.yml"))), &action); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, s := range snippets(t) {
		if s.language != "yaml" {
			continue
		}
		for m := range allMaps(parseSnippet(t, s)) {
			if uses, _ := m["uses"].(string); !strings.HasPrefix(uses, "mcpcheck/mcpcheck@") {
				continue
			}
			used++
			with, _ := m["with"].(map[string]any)
			for name := range with {
				if action.Inputs[name] == nil {
					t.Errorf("%v: action.yml has no input %s", s, name)
				}
			}
		}
		outputs := regexp.MustCompile(`steps\.mcpcheck\.outputs\.([\w-]+)`)
		for _, found := range outputs.FindAllStringSubmatch(s.text, -1) {
			if action.Outputs[found[1]] == nil {
				t.Errorf("%v: action.yml has no output %s", s, found[1])
			}
		}
	}
	if used == 0 {
		t.Error("no step uses mcpcheck/mcpcheck")
	}
	for _, names := range []map[string]any{action.Inputs, action.Outputs} {
		for name := range names {
			if !strings.Contains(pageText(t, actionPage), "`"+name+"`") {
				t.Errorf("%s does not name %s", actionPage, name)
			}
		}
	}
}

// TestReadmeConfiguration runs mcpcheck with the configuration and with the baseline of the pages.
func TestReadmeConfiguration(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the command is a POSIX script")
	}
	bin := newFakePrograms(t)
	for section, test := range map[string]struct{ file, run string }{
		"mcpcheck.yaml": {"mcpcheck.yaml", "mcpcheck run"},
		"Baseline":      {"known.yaml", "mcpcheck run --baseline known.yaml"},
	} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			dir := newProject(t)
			writeTextFile(t, filepath.Join(dir, test.file), snippetInSection(t, section, "yaml").text)
			run := append([]string{test.run}, onlyFlags("tools/unknown-tool-code,tools/list-works")...)
			if section == "Baseline" {
				run = append(run, "-- mcpcheck serve --fault tools/unknown-tool-code")
			}
			runShell(t, dir, bin, shellScript{text: strings.Join(run, " ")})
		})
	}
}

// TestReadmeGoTest runs the Go test of the reference in a module of its own, with a few checks: on a server that
// conforms, and on one that does not.
func TestReadmeGoTest(t *testing.T) {
	requireWhole(t, "it builds mcpcheck, a server and a test")
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":           readFile(t, filepath.Join(root, "go.mod")), // the server is a fixture
		"go.tool.mod":      readFile(t, filepath.Join(root, "go.mod")), // has all requirements of mcpcheck
		"go.sum":           readFile(t, filepath.Join(root, "go.sum")),
		"go.tool.sum":      readFile(t, filepath.Join(root, "go.sum")),
		"protocol_test.go": snippetInSection(t, "Go", "go").text,
		"main.go":          goServerSource,
		config.DefaultFile: "only: [tools/unknown-tool-code, tools/list-works]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golang := func(program, fault string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "FAULT="+fault, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const mcpcheck = "github.com/mcpcheck/mcpcheck"
	require, replace := "-require="+mcpcheck+"@v0.0.0", "-replace="+mcpcheck+"="+root
	for _, args := range [][]string{
		{"mod", "edit", "-module=example.com/server", require, replace},
		{
			"mod", "edit", "-module=example.com/server/tools", require, replace,
			"-tool=" + mcpcheck + "/cmd/mcpcheck", "go.tool.mod",
		},
		{"vet", "."},
		{"test", "-o", "tests.exe", "."},
	} {
		if out, err := golang("go", "", args...); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if out, err := golang(filepath.Join(dir, "tests.exe"), "tools/unknown-tool-code"); err == nil ||
		!strings.Contains(out, "1 blocking failure") {
		t.Errorf("a server with a fault: %v, want a failing test\n%s", err, out)
	}
}

const goServerSource = `package main

import (
	"context"
	"os"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/faults"
)

func main() {
	fault, _ := faults.Find(os.Getenv("FAULT"))
	os.Exit(fixtures.Serve(context.Background(), fixtures.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, fault))
}
`

func readFile(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestReadmeFlags proves that the commands and flags of mcpcheck that the pages name exist.
func TestReadmeFlags(t *testing.T) {
	root := newRootCommand()
	root.InitDefaultCompletionCmd()
	commands := []string{"devel"} // devel is the version in the transcript
	flags := []string{"yes", "save-dev", "paginate", "jq", "method", "field"}
	for _, cmd := range root.Commands() {
		commands = append(commands, cmd.Name())
		for _, cmd := range append(cmd.Commands(), cmd) {
			cmd.InitDefaultHelpFlag()
			cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		}
	}
	named := 0
	for _, line := range codeLines(t) {
		const program = `\bmcpcheck(?:@[\d.]+)? ([a-z]+)`
		ours := regexp.MustCompile(`(^| +)(#|//|--) .*`).ReplaceAllString(line, "") // no comments, no server
		for _, found := range regexp.MustCompile(program).FindAllStringSubmatch(ours, -1) {
			if named++; !slices.Contains(commands, found[1]) {
				t.Errorf("mcpcheck has no command %s: %s", found[1], line)
			}
		}
		for _, found := range regexp.MustCompile(`(?:^|[ (\[])--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(ours, -1) {
			if named++; !slices.Contains(flags, found[1]) {
				t.Errorf("mcpcheck has no flag --%s: %s", found[1], line)
			}
		}
	}
	if named < 50 {
		t.Errorf("%d commands and flags, want more", named)
	}
}

// codeLines returns the lines of all code blocks and code spans of the pages.
func codeLines(t *testing.T) (lines []string) {
	t.Helper()
	for _, name := range readmePages {
		content := pageText(t, name)
		for _, s := range snippetsOf(t, name) {
			lines = append(lines, strings.Split(s.text, "\n")...)
			content = strings.ReplaceAll(content, s.text, "")
		}
		for _, span := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(content, -1) {
			lines = append(lines, span[1])
		}
	}
	return lines
}
