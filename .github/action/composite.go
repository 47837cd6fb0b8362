// Composite runs the steps of a composite action as GitHub's runner does, so that
// action.yml itself is what test.sh tries: its defaults, its environment variables,
// its outputs.
//
//	composite ACTION-DIRECTORY [INPUT=VALUE…]
//
// The variables of the runner are taken from the environment; those of a step
// (GITHUB_OUTPUT, GITHUB_PATH, GITHUB_ACTION_PATH) are made here. The outputs of the
// action go to the file OUTPUTS. The exit status is that of the step that failed.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// action is what the runner reads of action.yml.
type action struct {
	Name        string
	Description string
	Author      string
	Branding    map[string]string
	Inputs      map[string]struct{ Description, Default string }
	Outputs     map[string]struct{ Description, Value string }
	Runs        struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, ID, Shell, Run string
	Env                  map[string]string
}

// contexts are the values that expressions can name, such as inputs.url.
type contexts map[string]string

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// fill puts values for the expressions of a text. It knows names only, no operators.
func (c contexts) fill(text string) string {
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		name := expression.FindStringSubmatch(found)[1]
		if v, ok := c[name]; ok {
			return v
		}
		if key, ok := strings.CutPrefix(name, "github."); ok {
			return os.Getenv("GITHUB_" + strings.ToUpper(key))
		}
		if !strings.HasPrefix(name, "steps.") {
			log.Fatalf("action.yml names %q, which there is not", name)
		}
		return "" // of a step that has not run, or has not set it
	})
}

func main() {
	log.SetFlags(0)
	dir, err := filepath.Abs(os.Args[1])
	check(err)
	text, err := os.ReadFile(filepath.Join(dir, "action.yml"))
	check(err)
	var a action
	check(yaml.UnmarshalWithOptions(text, &a, yaml.Strict()))

	known := contexts{}
	for name, input := range a.Inputs {
		known["inputs."+name] = input.Default
	}
	for _, arg := range os.Args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		if _, ok := a.Inputs[name]; !ok {
			log.Fatalf("action.yml has no input %q", name)
		}
		known["inputs."+name] = value
	}

	var failed error
	for _, s := range a.Runs.Steps {
		if failed = s.run(dir, known); failed != nil {
			break
		}
	}
	var outputs strings.Builder
	for name, output := range a.Outputs {
		fmt.Fprintf(&outputs, "%s=%s\n", name, known.fill(output.Value))
	}
	check(os.WriteFile(os.Getenv("OUTPUTS"), []byte(outputs.String()), 0o666))

	if exit := (*exec.ExitError)(nil); errors.As(failed, &exit) {
		os.Exit(exit.ExitCode())
	}
	check(failed)
}

// run runs a step, and adds its outputs to the contexts and its directories to PATH.
func (s step) run(dir string, known contexts) error {
	if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
		log.Fatalf("step %q: the shell is to be bash, and no expression is to be in a script: its value would be run", s.Name)
	}
	files, err := os.MkdirTemp(os.Getenv("RUNNER_TEMP"), "step")
	check(err)
	script, output, path := filepath.Join(files, "script.sh"), filepath.Join(files, "output"), filepath.Join(files, "path")
	check(os.WriteFile(script, []byte(s.Run), 0o666))

	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir = os.Getenv("GITHUB_WORKSPACE")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+dir, "GITHUB_OUTPUT="+output, "GITHUB_PATH="+path)
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+known.fill(value))
	}
	failed := cmd.Run()

	for _, line := range lines(output) {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			log.Fatalf("step %q: the runner would refuse the output %q", s.Name, line)
		}
		known["steps."+s.ID+".outputs."+name] = value
	}
	for _, line := range lines(path) {
		check(os.Setenv("PATH", line+string(os.PathListSeparator)+os.Getenv("PATH")))
	}
	return failed
}

func lines(file string) []string {
	text, _ := os.ReadFile(file) // a step need not write it
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' || c == '\r' })
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
