package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/creachadair/mds/shell"
	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func newActionCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "action",
		Short:  "Run as the second step of action.yml",
		Hidden: true,
		Args:   rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := action{input: actionInput, log: cmd.OutOrStdout()}
			args, err := a.prepare()
			if err != nil {
				return a.rejectInputs(err)
			}
			return a.finish(run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
}

// actionInput returns the value of an input of action.yml, which is passed in an environment variable. It is empty if
// the variable is missing, as for an action.yml of another version.
func actionInput(name string) string {
	return os.Getenv("INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

// action is a step that converts the inputs of action.yml into arguments of mcpcheck run, and the reports into outputs
// and a summary.
type action struct {
	// input returns the value of an input.
	input func(name string) string
	// log is the log of the step, in which the runner finds workflow commands.
	log io.Writer
	// reportDir is the path of the report directory for later steps, which run in the workspace.
	reportDir string
	// hasRun says that the report directory contains the reports of this run.
	hasRun bool
}

// prepare changes to the working directory, removes the reports of an earlier run, and returns the arguments of
// mcpcheck. Its errors are of wrong usage.
func (a *action) prepare() (args []string, err error) {
	if err := a.resolveReportDir(); err != nil {
		return nil, err
	}
	for _, name := range []string{"summary", "fail"} {
		if value := a.input(name); value != "true" && value != "false" {
			return nil, errors.New("summary and fail are to be true or false")
		}
	}
	if dir := a.input("working-directory"); os.Chdir(cmp.Or(dir, ".")) != nil {
		return nil, fmt.Errorf("working-directory: there is no %s", dir)
	}
	if err := reporters.ClearDir(a.input("report-dir"), reporters.Formats); err != nil {
		return nil, err
	}
	return a.runArgs()
}

// resolveReportDir finds the path of the report directory in the workspace.
func (a *action) resolveReportDir() error {
	dir := a.input("report-dir")
	shown := dir
	if dir != "" && filepath.VolumeName(dir) == "" && !os.IsPathSeparator(dir[0]) {
		shown = path.Join(a.input("working-directory"), dir)
	}
	if dir == "" || strings.ContainsAny(shown, "\r\n") {
		return errors.New("report-dir and working-directory are to be paths, each on one line")
	}
	a.reportDir = shown
	return nil
}

// actionCommands are the commands that the input args can begin with; without one of them it is run.
var actionCommands = []string{"load", "explore"}

// runArgs returns the arguments of mcpcheck for the inputs.
func (a *action) runArgs() ([]string, error) {
	more, err := splitArgs(a.input("args"))
	if err != nil {
		return nil, err
	}
	name := "run"
	if len(more) > 0 && slices.Contains(actionCommands, more[0]) {
		name, more = more[0], more[1:]
	}
	args := []string{name, "--report-dir", a.input("report-dir")}
	for _, name := range []string{"url", "profile", "protocol", "baseline", "config"} {
		if value := a.input(name); value != "" {
			args = append(args, "--"+name, value)
		}
	}
	args = append(args, more...)
	command, err := splitArgs(a.input("command"))
	if err != nil {
		return nil, err
	}
	if len(command) > 0 {
		args = append(append(args, "--"), command...)
	}
	return args, nil
}

// splitArgs returns the words of a text. Of several lines each is a word, unchanged. One line is split as a shell
// splits it, without expansions.
func splitArgs(content string) ([]string, error) {
	content = strings.TrimRight(content, "\r\n") // a YAML block scalar ends with a newline
	if strings.Contains(content, "\n") {
		return strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n"), nil
	}
	words, complete := shell.Split(content)
	if !complete {
		return nil, fmt.Errorf("a quote is not closed, or a backslash is the end: %s", content)
	}
	return words, nil
}

// rejectInputs ends the step because of invalid inputs.
func (a *action) rejectInputs(cause error) error {
	err := errors.Join(reporters.AnnotateError(a.log, cause.Error()), a.setOutputs(report.ExitUsage))
	if err != nil {
		return exit.With(report.ExitInternal, err)
	}
	return exit.Status(report.ExitUsage)
}

// finish reports how mcpcheck ended, and decides whether the step fails.
func (a *action) finish(code int) error {
	a.hasRun = true
	err := errors.Join(a.setOutputs(code), a.writeSummary(), a.annotateMissingReport(code))
	judged := code == report.ExitFails || code == report.ExitUntestable
	switch {
	case err != nil:
		return exit.With(report.ExitInternal, err)
	case code == report.ExitConforms, judged && a.input("fail") == "false":
		return nil
	}
	return exit.Status(code)
}

// annotateMissingReport refers to the log when mcpcheck has printed no annotation, as when it wrote no report, or that
// of a load, which has no SARIF.
func (a *action) annotateMissingReport(code int) error {
	if code == report.ExitConforms || a.reportPath("report.sarif") != "" {
		return nil
	}
	message := fmt.Sprintf("mcpcheck ended with exit code %d: the log of this step says why", code)
	return reporters.AnnotateError(a.log, message)
}

// setOutputs sets all outputs of the step.
func (a *action) setOutputs(code int) error {
	return appendToFile("GITHUB_OUTPUT", a.outputs(code))
}

// outputs returns a line for each output. Values contain no newline and no text of the server, so a server cannot set
// an output.
func (a *action) outputs(code int) string {
	counts, gating := a.counts()
	var lines strings.Builder
	for _, output := range [][2]string{
		{"verdict", cmp.Or(exitVerdicts[code], "error")},
		{"exit-code", strconv.Itoa(code)},
		{"counts", counts},
		{"gating", gating},
		{"report-dir", a.reportDir},
		{"junit", a.reportPath("report.xml")},
		{"sarif", a.reportPath("report.sarif")},
		{"markdown", a.reportPath("report.md")},
	} {
		fmt.Fprintf(&lines, "%s=%s\n", output[0], output[1])
	}
	return lines.String()
}

// exitVerdicts are the values of the output verdict by exit code; other codes mean an error.
var exitVerdicts = map[int]string{
	report.ExitConforms:    "conforms",
	report.ExitFails:       "fails",
	report.ExitUsage:       "usage",
	report.ExitUntestable:  "untestable",
	report.ExitInterrupted: "interrupted",
}

// counts returns the counts of the report as JSON on one line, and the number of gating failures; both are empty when
// there is no report.
func (a *action) counts() (counts, gating string) {
	if a.reportPath("report.json") == "" {
		return "", ""
	}
	var rep struct{ Counts report.Counts }
	content, err := os.ReadFile(filepath.Join(a.input("report-dir"), "report.json"))
	if err != nil || json.Unmarshal(content, &rep) != nil {
		return "", ""
	}
	line, _ := json.Marshal(rep.Counts) // cannot fail for numbers
	return string(line), strconv.Itoa(rep.Counts.Gating)
}

// reportPath returns the path of a report for later steps; it is empty when this run has not written it.
func (a *action) reportPath(name string) string {
	file, err := os.Stat(filepath.Join(a.input("report-dir"), name))
	if !a.hasRun || err != nil || file.Size() == 0 { // the file is created empty before the run
		return ""
	}
	return a.reportDir + "/" + name
}

// writeSummary appends the Markdown report to the summary of the job.
func (a *action) writeSummary() error {
	if a.input("summary") == "false" || a.reportPath("report.md") == "" {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(a.input("report-dir"), "report.md"))
	if err != nil {
		return err
	}
	return appendToFile("GITHUB_STEP_SUMMARY", string(content))
}

// appendToFile appends a text to the file whose path the runner has put into a variable.
func appendToFile(variable, content string) error {
	file, err := os.OpenFile(os.Getenv(variable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
