package runner

import (
	"os"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explore"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// repeatCommand returns the command that runs one check again with the same verdict. A watch runs together with the
// checks that trigger it, which may be the whole run.
func repeatCommand(v config.Options, t *target.Target, r report.Result) string {
	words := []string{"mcpcheck", "run"}
	if dir := v.Flags.ScriptDir; dir != "" {
		words = []string{"mcpcheck", "explore", "--replay", explore.Path(dir, r.ID)}
		return text.Shell(slices.Concat(words, v.Flags.RepeatedArgs, t.ServerArgs(v))...)
	}
	if r.Script != "" {
		words = []string{"mcpcheck", "explore", "--replay", r.Script}
		return text.Shell(slices.Concat(words, v.Flags.ReplayArgs, t.ServerArgs(v))...)
	}
	if !slices.Contains(r.TriggeredBy, engine.WholeRun) {
		words = append(words, "--only", strings.Join(append([]string{r.ID}, r.TriggeredBy...), ","))
	}
	if v.Protocol != config.ProtocolAuto { // of all revisions, only the one of the result
		words = append(words, "--protocol", r.Revision)
	}
	words = append(words, v.Flags.RepeatedArgs...)
	return text.Shell(append(words, t.ServerArgs(v)...)...)
}

// nextSteps returns one or two commands that help after a run, the most useful first.
func nextSteps(v config.Options, t *target.Target, r report.Report) []string {
	command := func(words ...string) string {
		return text.Shell(slices.Concat([]string{"mcpcheck"}, words, t.ServerArgs(v))...)
	}
	again := func(words ...string) string {
		return command(slices.Concat(words, v.Flags.SelectionArgs, v.Flags.RepeatedArgs)...)
	}
	blocking := reporters.Blocking(r)
	live := !r.Recorded && len(t.ServerArgs(v)) > 0
	inCI := os.Getenv("CI") != ""
	switch {
	case len(blocking) > 0:
		explaining := "mcpcheck explain " + blocking[0]
		if dir := v.Flags.ScriptDir; dir != "" {
			return []string{again("explore", "--replay", explore.Path(dir, blocking[0])), explaining}
		}
		switch own := func(x report.Result) bool { return x.Gates && x.SDK == nil }; {
		case live && !slices.ContainsFunc(r.Results, own):
			return []string{again("baseline"), explaining}
		case !live || inCI || !v.SavesLastRun():
			return []string{explaining}
		}
		return []string{explaining, again("run", "--last-failed")}
	case r.ExitCode == report.ExitFails && r.Baseline != nil && live:
		return []string{again("baseline")}
	case r.ExitCode == report.ExitUntestable:
		return setVariableCommand(v, t, r)
	case r.ExitCode != report.ExitConforms || !live || inCI || v.Flags.ScriptDir != "":
		return nil
	case v.Flags.Demo:
		return []string{"mcpcheck run -- COMMAND"} // the user's own server
	}
	barred := func(u report.UncalledTool) bool { return u.Forbidden }
	for _, c := range r.Coverage {
		if v.File.Name == "" && slices.ContainsFunc(c.UncalledTools, barred) {
			return []string{command("init")}
		}
	}
	if len(v.ReportFiles["html"])+len(v.ReportDir) == 0 {
		return []string{again("run", "--html", "report.html")}
	}
	return nil
}

// setVariableCommand returns the command that sets the environment variable which the server's last output asks for; it
// is nil unless that asks for a variable that is not set.
func setVariableCommand(v config.Options, t *target.Target, r report.Report) []string {
	name := reporters.MissingVariable(r.Problem)
	set := func(pair string) bool { return strings.HasPrefix(pair, name+"=") }
	if name == "" || len(t.Command) == 0 || slices.ContainsFunc(slices.Concat(os.Environ(),
		target.WithMarkerSecret(t.Env)),
		set) {
		return nil
	}
	words := append([]string{"mcpcheck", "run", "--env", name + "=…"}, v.Flags.RepeatedArgs...)
	return []string{text.Shell(append(words, t.ServerArgs(v)...)...)}
}
