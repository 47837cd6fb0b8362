package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explore"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites"
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
	if server.Transport == "sse" {
		const why = "the server speaks HTTP+SSE, which mcpcheck explore does not"
		return exit.With(report.ExitUntestable, errors.New(why))
	}
	if server.Failure != "" {
		j.report.Problem, j.report.ExitCode = j.target.Redactor.Text(server.Failure), report.ExitUntestable
		return nil
	}
	o.Time /= time.Duration(len(j.revisions))
	plan := config.PlannedCases(suites.Implemented(), server, j.Selector)
	j.showStart(server, nil)
	o.Seed, o.Calls, o.Examples, o.Found = j.Seed, j.CallPolicy, j.Arguments, j.saveScript
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
	coverage := engine.NewCoverage(suites.All(), suites.Checks(), server, j.Selector, out.Results)
	coverage.Unexercised = nil // all that is declared is used, and many checks of it send what no client sends
	j.report.Coverage = append(j.report.Coverage, coverage)
	if out.Problem != "" && ctx.Err() == nil {
		j.report.Problem = j.target.Redactor.Text(out.Problem)
	}
	j.sinks.PrintNotice(fmt.Sprintf("%s tried (--seed %d)", reporters.Plural(out.Sequences, "sequence"), j.Seed))
	return nil
}

// saveScript writes the script of a failure to a file, and says so.
func (j *serverRun) saveScript(s explore.Script, r report.Result) {
	path := explore.Path(j.Flags.ScriptDir, s.Requirement)
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
		return
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
}

// maxShownLines is how many messages of a script are shown.
const maxShownLines = 12
