package runner

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explore"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Exploration says how mcpcheck explore goes about it.
type Exploration struct {
	explore.Options
	// Script is what is sent again, instead of an exploration; may be nil.
	Script *explore.Script
}

// Explore explores a server, or sends a script again, and reports what fails.
func Explore(cmd *cobra.Command, f config.Flags, o Exploration) error {
	if !files.IsDir(f.ScriptDir) {
		return exit.Usagef("--dir %s is not a directory; make it first", f.ScriptDir)
	}
	j, err := prepare(cmd, f, func(*config.Options) error { return nil })
	if err != nil {
		return err
	}
	if o.Script != nil && j.Protocol == config.ProtocolAuto {
		j.Protocol = o.Script.Revision
	}
	o.Time, j.Budget = j.Budget, j.Budget+shrinkTime
	j.exploration = &o
	_, err = j.execute(cmd)
	return err
}

// shrinkTime is how long the last failures may take to be confirmed and shrunk after the time for new sequences.
const shrinkTime = time.Minute

// ReadScript reads a script that an exploration has written.
func ReadScript(path string) (*explore.Script, error) {
	content, err := files.ReadLimited(path, maxScriptBytes)
	if err != nil {
		return nil, exit.Usagef("--replay: %w", err)
	}
	script, err := explore.ParseScript(content)
	if err != nil {
		return nil, exit.Usagef("--replay %s: %w", path, err)
	}
	return &script, nil
}

// maxScriptBytes is the size limit of a script.
const maxScriptBytes = 16 << 20

// exploreRevision explores the server in the revision that discovery has found.
func (j *serverRun) exploreRevision(ctx context.Context, found discovery.Found) error {
	server, o := found.Server, j.exploration.Options
	found.Close()
	if server.Failure != "" {
		j.report.Problem, j.report.ExitCode = j.target.Redactor.Text(server.Failure), report.ExitUntestable
		return nil
	}
	o.Time /= time.Duration(len(j.revisions))
	plan := config.PlannedCases(suites.Implemented(), server, j.Selector)
	j.showStart(server, nil)
	o.Seed, o.Calls, o.Examples = j.Seed, j.CallPolicy, j.Arguments
	o.Found = func(s explore.Script, r report.Result) { j.saveScript(s, r) }
	o.Judge = engine.Options{Profile: j.GateProfile, SDKs: suites.SDKs(), GateSDKs: j.SDK == config.GateSDK}
	done := j.sinks.ShowWaiting("sequences of messages in "+server.Revision, o.Time)
	var out explore.Outcome
	if script := j.exploration.Script; script != nil {
		out = explore.Replay(ctx, j.target.DriverTarget, server, plan, o, *script)
	} else {
		out = explore.Run(ctx, j.target.DriverTarget, server, plan, o)
	}
	done()
	for _, r := range out.Results {
		j.sinks.writeResult(j.addResult(r))
	}
	coverage := newCoverage(suites.All(), suites.Checks(), server, j.Selector, out.Results)
	coverage.Unexercised = nil // all that is declared is used, and many checks of it send what no client sends
	j.report.Coverage = append(j.report.Coverage, coverage)
	if out.Problem != "" && ctx.Err() == nil {
		j.report.Problem = j.target.Redactor.Text(out.Problem)
	}
	j.noteSequences(out)
	return nil
}

// explores reports whether a run explores the server after its checks.
func (j *serverRun) explores() bool { return j.Explore > 0 && !j.Flags.Quick }

// exploreAfter explores the server after the checks of a run, and returns their results with what that has found: what
// did not fail before fails by the sequence of messages that was shrunk. What failed, and what has that as its cause,
// is not looked for.
func (j *serverRun) exploreAfter(
	ctx context.Context, server *check.Server, plan []engine.Case, results []report.Result,
) []report.Result {
	if len(results) == 0 || server.Failure != "" || ctx.Err() != nil {
		return results
	}
	o := explore.Options{
		Sequences: math.MaxInt, Time: j.Explore / time.Duration(len(j.revisions)), Seed: j.Seed, Calls: j.CallPolicy,
		Examples: j.Arguments,
		Judge:    engine.Options{Profile: j.GateProfile, SDKs: suites.SDKs(), GateSDKs: j.SDK == config.GateSDK},
	}
	found := map[string]report.Result{}
	o.Found = func(s explore.Script, r report.Result) {
		r.Script = j.saveScript(s, r)
		r.Message += "\nin a sequence of messages drawn by lot, which mcpcheck explore --replay " +
			text.Shell(r.Script) + " sends again"
		found[r.ID] = r
	}
	ctx, leave := context.WithTimeout(ctx, o.Time+shrinkTime)
	defer leave()
	out := explore.Run(ctx, j.target.DriverTarget, server, undecidedCases(plan, results), o)
	if out.Problem != "" {
		j.sinks.PrintNotice("--explore ended early: " + out.Problem)
	}
	for i, r := range results {
		if x, is := found[r.ID]; is {
			x.Secondary = r.Secondary
			results[i] = x
		}
	}
	j.noteSequences(out)
	return results
}

// noteSequences says how many sequences were tried.
func (j *serverRun) noteSequences(o explore.Outcome) {
	j.sinks.PrintNotice(fmt.Sprintf("%s tried (--seed %d)", reporters.Plural(o.Sequences, "sequence"), j.Seed))
}

// undecidedCases returns the cases that have not failed, and whose cause has not either.
func undecidedCases(plan []engine.Case, results []report.Result) (left []engine.Case) {
	var failed []string
	for _, r := range results {
		if r.Verdict == catalogue.Fail || r.Verdict == catalogue.Error {
			failed = append(failed, r.ID)
		}
	}
	for _, c := range plan {
		if !slices.Contains(failed, c.ID) && len(c.Causes(failed)) == 0 {
			left = append(left, c)
		}
	}
	return left
}

// saveScript writes the script of a failure to a file, and says so. It returns the path.
func (j *serverRun) saveScript(s explore.Script, r report.Result) (path string) {
	name := s.Requirement
	if j.exploration == nil && len(j.revisions) > 1 {
		name += "/" + s.Revision
	}
	path = explore.Path(j.scriptDir(), name)
	for i, line := range s.Wire {
		s.Wire[i] = j.target.Redactor.Text(line)
	}
	var content strings.Builder
	err := text.WriteJSON(&content, s)
	if err == nil {
		err = files.Replace(path, []byte(content.String()))
	}
	if err != nil {
		j.sinks.PrintNotice(fmt.Sprintf("cannot write %s: %v", path, files.WithoutPath(err)))
		return path
	}
	j.sinks.PrintNotice(fmt.Sprintf("%s %s fails after %s: %s", r.Level, r.ID, reporters.Plural(len(s.Steps), "step"),
		path))
	for i, line := range s.Wire {
		if i == maxShownLines {
			line = fmt.Sprintf("… %s in the file", reporters.Plural(len(s.Wire)-i, "further line"))
		} else if i > maxShownLines {
			break
		}
		j.sinks.PrintNotice("  " + driver.Brief([]byte(line)))
	}
	return path
}

// scriptDir returns the directory for scripts: in a run, that of its reports, if it writes some.
func (j *serverRun) scriptDir() string {
	json := j.ReportFiles["json"]
	switch {
	case j.Flags.ScriptDir != "":
		return j.Flags.ScriptDir
	case j.ReportDir != "":
		return j.ReportDir
	case len(json) > 0 && json[0] != "-":
		return filepath.Dir(json[0])
	}
	return "."
}

// maxShownLines is how many messages of a script are shown.
const maxShownLines = 12
