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

	"go.yaml.in/yaml/v3"
)

// actionManifest is the part of action.yml that GitHub's runner reads.
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
	// root is the root of this repository.
	root      string
	action    actionManifest
	workspace string
	// values are the values of expressions, such as inputs.url.
	values map[string]string
	env    map[string]string
	// path are directories that precede those of PATH.
	path []string
	log  bytes.Buffer
}

// newActionRunner returns a runner. It needs bash, which GitHub's runners have on every system.
func newActionRunner(t *testing.T) *actionRunner {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the steps of action.yml need bash")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	r := &actionRunner{root: root, workspace: t.TempDir(), values: map[string]string{
		"github.action_ref": "", "github.action_repository": "", // as when the action is used by its path
	}}
	content := readFile(t, filepath.Join(root, "action.yml"))
	decoder := yaml.NewDecoder(strings.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&r.action); err != nil {
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

// setProgram makes steps use a program without the first step of the action, which installs one.
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

// runStep runs a step, and reads its outputs and its additions to PATH.
func (r *actionRunner) runStep(t *testing.T, s actionStep) (status int) {
	t.Helper()
	if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
		t.Fatalf("step %q: want bash, and no expression in a script: its value would be executed", s.Name)
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

// cleanEnv returns the environment of this process without variables of a GitHub runner or a Git hook, and with further
// ones.
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

// expand replaces the expressions of a text. It supports names but no operators.
func (r *actionRunner) expand(t *testing.T, content string) string {
	t.Helper()
	return expressionPattern.ReplaceAllStringFunc(content, func(found string) string {
		name := expressionPattern.FindStringSubmatch(found)[1]
		value, known := r.values[name]
		if !known && !strings.HasPrefix(name, "steps.") { // the step may not have run
			t.Fatalf("action.yml refers to %q, which does not exist", name)
		}
		return value
	})
}

// fileLines returns the lines of a file, or none if it does not exist.
func fileLines(file string) []string {
	content, _ := os.ReadFile(file)
	return strings.FieldsFunc(string(content), func(c rune) bool { return c == '\n' || c == '\r' })
}

// annotations returns the errors and warnings in the log.
func (r *actionRunner) annotations() string {
	var all []string
	for line := range strings.Lines(r.log.String()) {
		if strings.HasPrefix(line, "::error") || strings.HasPrefix(line, "::warning") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}
