package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// actionManifest is what GitHub's runner reads of action.yml.
type actionManifest struct {
	Name        string
	Description string
	Author      string
	Branding    map[string]string
	Inputs      map[string]struct{ Description, Default string }
	Outputs     map[string]struct{ Description, Value string }
	Runs        struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, ID, Shell, Run string
	Env                  map[string]string
}

// actionRunner runs the steps of action.yml as GitHub's runner does: with its defaults, its environment variables and
// its outputs, in a workspace of its own.
type actionRunner struct {
	root      string // of this repository
	action    actionManifest
	workspace string
	values    map[string]string // of the expressions, such as inputs.url
	env       map[string]string
	path      []string // directories that come before those of PATH
	log       bytes.Buffer
}

// newActionRunner needs bash, which runners have on every system.
func newActionRunner(t *testing.T) *actionRunner {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here, which runs the steps of action.yml")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	r := &actionRunner{root: root, workspace: t.TempDir(), values: map[string]string{
		"github.action_ref": "", "github.action_repository": "", // used by path
	}}
	content := readFile(t, filepath.Join(root, "action.yml"))
	if err := yaml.UnmarshalWithOptions([]byte(content), &r.action, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	systems := map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}
	architectures := map[string]string{"amd64": "X64", "arm64": "ARM64"}
	r.env = map[string]string{
		"RUNNER_OS":           systems[runtime.GOOS],
		"RUNNER_ARCH":         architectures[runtime.GOARCH],
		"RUNNER_TEMP":         t.TempDir(),
		"GITHUB_ACTIONS":      "true",
		"GITHUB_ACTION_PATH":  root,
		"GITHUB_WORKSPACE":    r.workspace,
		"GITHUB_STEP_SUMMARY": filepath.Join(t.TempDir(), "summary"),
		"GOPROXY":             "off",
	}
	return r
}

// setProgram stands for the first step of the action.
func (r *actionRunner) setProgram(program string) {
	r.values["steps.install.outputs.mcpcheck"] = program
	r.action.Runs.Steps = slices.DeleteFunc(r.action.Runs.Steps, func(s actionStep) bool { return s.ID == "install" })
}

// run runs the action, and returns its exit status and its outputs.
func (r *actionRunner) run(t *testing.T, inputs map[string]string) (status int, outputs map[string]string) {
	t.Helper()
	for name, input := range r.action.Inputs {
		r.values["inputs."+name] = input.Default
	}
	for name, value := range inputs {
		if _, ok := r.action.Inputs[name]; !ok {
			t.Fatalf("action.yml has no input %q", name)
		}
		r.values["inputs."+name] = value
	}
	for _, s := range r.action.Runs.Steps {
		if status = r.runStep(t, s); status != 0 {
			break
		}
	}
	outputs = map[string]string{}
	for name, output := range r.action.Outputs {
		outputs[name] = r.expand(t, output.Value)
	}
	return status, outputs
}

// runStep runs a step, and takes its outputs and its directories of programs.
func (r *actionRunner) runStep(t *testing.T, s actionStep) (status int) {
	t.Helper()
	if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
		t.Fatalf("step %q: want bash, and no expression in a script: its value would be run", s.Name)
	}
	paths := t.TempDir()
	script, output, path := filepath.Join(
		paths,
		"script.sh",
	), filepath.Join(
		paths,
		"output",
	), filepath.Join(
		paths,
		"path",
	)
	writeExecutable(t, script, s.Run)
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.workspace, &r.log, &r.log
	cmd.Env = append(cleanEnv(r.env), "GITHUB_OUTPUT="+output, "GITHUB_PATH="+path,
		"PATH="+strings.Join(append(slices.Clone(r.path), os.Getenv("PATH")), string(os.PathListSeparator)))
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+r.expand(t, value))
	}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	for _, line := range fileLines(output) {
		name, value, ok := strings.Cut(line, "=")
		key := "steps." + s.ID + ".outputs." + name
		if _, again := r.values[key]; !ok || again {
			t.Fatalf("step %q: output %q is malformed, or set again", s.Name, line)
		}
		r.values[key] = value
	}
	r.path = slices.Concat(fileLines(path), r.path)
	return cmd.ProcessState.ExitCode()
}

// cleanEnv is the environment of this process, without what could have come from a runner or from a hook of Git, and
// further variables.
func cleanEnv(further map[string]string) (env []string) {
	for _, variable := range os.Environ() {
		if !ciVariablePattern.MatchString(variable) {
			env = append(env, variable)
		}
	}
	for name, value := range further {
		env = append(env, name+"="+value)
	}
	return env
}

var ciVariablePattern = regexp.MustCompile(`^(GITHUB|RUNNER|INPUT|GIT)_`)

var expressionPattern = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// expand puts values for the expressions of a text. It knows names only, no operators.
func (r *actionRunner) expand(t *testing.T, content string) string {
	t.Helper()
	return expressionPattern.ReplaceAllStringFunc(content, func(found string) string {
		name := expressionPattern.FindStringSubmatch(found)[1]
		value, known := r.values[name]
		if !known && !strings.HasPrefix(name, "steps.") { // which may not have run
			t.Fatalf("action.yml names %q, which there is not", name)
		}
		return value
	})
}

// fileLines are the lines of a file, none if there is no file.
func fileLines(file string) []string {
	content, _ := os.ReadFile(file)
	return strings.FieldsFunc(string(content), func(c rune) bool { return c == '\n' || c == '\r' })
}

// annotations are the lines of the log that are errors and warnings.
func (r *actionRunner) annotations() string {
	var all []string
	for line := range strings.Lines(r.log.String()) {
		if strings.HasPrefix(line, "::error") || strings.HasPrefix(line, "::warning") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}
