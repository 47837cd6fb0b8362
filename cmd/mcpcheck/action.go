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

// actionInput is the value of an input of action.yml, which comes as an environment variable; empty if there is none:
// action.yml may be of another version.
func actionInput(name string) string {
	return os.Getenv("INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

// action is a step that turns inputs into arguments of mcpcheck run, and its reports into outputs and a summary.
type action struct {
	input     func(name string) string
	log       io.Writer // of the step, which the runner reads commands in
	reportDir string    // the report directory, as later steps see it; they are in the workspace
	hasRun    bool      // what is in the report directory is of this run
}

// prepare goes to the working directory, removes what an earlier run has left, and returns the arguments of mcpcheck.
// Its errors are the user's.
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

// resolveReportDir finds out what the report directory is called in the workspace.
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

// runArgs are those that the inputs ask for.
func (a *action) runArgs() ([]string, error) {
	args := []string{"run", "--report-dir", a.input("report-dir")}
	for _, name := range []string{"url", "profile", "protocol", "baseline", "config"} {
		if value := a.input(name); value != "" {
			args = append(args, "--"+name, value)
		}
	}
	more, err := splitArgs(a.input("args"))
	if err != nil {
		return nil, err
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

// splitArgs returns the words of a text. Several lines are a word each, as they are. One line is split as a shell
// splits it, and nothing is expanded.
func splitArgs(content string) ([]string, error) {
	content = strings.TrimRight(content, "\r\n") // as YAML's block style has it
	if strings.Contains(content, "\n") {
		return strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n"), nil
	}
	words, complete := shell.Split(content)
	if !complete {
		return nil, fmt.Errorf("a quote is not closed, or a backslash is the end: %s", content)
	}
	return words, nil
}

// rejectInputs ends a step with inputs that are not as they should be.
func (a *action) rejectInputs(cause error) error {
	err := errors.Join(reporters.AnnotateError(a.log, cause.Error()), a.setOutputs(report.ExitUsage))
	if err != nil {
		return exit.With(report.ExitInternal, err)
	}
	return exit.Status(report.ExitUsage)
}

// finish tells how mcpcheck ended, and decides whether the step fails.
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

// annotateMissingReport points to the log where mcpcheck has annotated nothing: it annotates what it reports.
func (a *action) annotateMissingReport(code int) error {
	if code == report.ExitConforms || a.reportPath("report.json") != "" {
		return nil
	}
	message := fmt.Sprintf("mcpcheck ended with exit code %d: the log of this step says why", code)
	return reporters.AnnotateError(a.log, message)
}

// setOutputs sets all outputs of the step.
func (a *action) setOutputs(code int) error {
	return appendToFile("GITHUB_OUTPUT", a.outputs(code))
}

// outputs are a line for each. No value has a line break, and none is a text of the server, which so cannot set another
// output.
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

// exitVerdicts is the output verdict by exit code; any other is an error.
var exitVerdicts = map[int]string{
	report.ExitConforms:    "conforms",
	report.ExitFails:       "fails",
	report.ExitUsage:       "usage",
	report.ExitUntestable:  "untestable",
	report.ExitInterrupted: "interrupted",
}

// counts are those of the report, as JSON on one line, and how many failures gate; both are empty if there is no
// report.
func (a *action) counts() (counts, gating string) {
	if a.reportPath("report.json") == "" {
		return "", ""
	}
	var rep struct{ Counts report.Counts }
	content, err := os.ReadFile(filepath.Join(a.input("report-dir"), "report.json"))
	if err != nil || json.Unmarshal(content, &rep) != nil {
		return "", ""
	}
	line, _ := json.Marshal(rep.Counts) // numbers only
	return string(line), strconv.Itoa(rep.Counts.Gating)
}

// reportPath is where later steps find a report; empty if this run has written none.
func (a *action) reportPath(name string) string {
	file, err := os.Stat(filepath.Join(a.input("report-dir"), name))
	if !a.hasRun || err != nil || file.Size() == 0 { // it is opened before the run, and written after it
		return ""
	}
	return a.reportDir + "/" + name
}

// writeSummary puts the Markdown report on the summary page of the job.
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

// appendToFile adds a text to the file that the runner names in a variable.
func appendToFile(variable, content string) error {
	file, err := os.OpenFile(os.Getenv(variable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
