package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// planInfo is the plan of a run as JSON. Members are added, and none is removed.
type planInfo struct {
	Revision string         `json:"revision"`
	Checks   []plannedCheck `json:"checks"`
	// Problem is why there are no checks; it is empty when there are.
	Problem string `json:"problem,omitempty"`
	// Skipped are selectors of the configuration or of --skip, with the checks that they exclude.
	Skipped []plannedSkip `json:"leftOut,omitempty"`
	// Calls is the policy for tool calls.
	Calls report.CallPolicy `json:"calls"`
	Tools []plannedTool     `json:"tools,omitempty"`
}

// plannedCheck is a check that would run, or one whose verdict is known without running it.
type plannedCheck struct {
	ID         string            `json:"id"`
	Level      catalogue.Level   `json:"level"`
	Verdict    catalogue.Verdict `json:"verdict,omitempty"`
	ReasonCode report.Reason     `json:"reasonCode,omitempty"`
	Reason     string            `json:"reason,omitempty"`
}

// plannedSkip is an entry of skip with the number of checks that it excludes.
type plannedSkip struct {
	report.Exclusion
	Checks int `json:"checks"`
}

// plannedTool says how a tool would be called.
type plannedTool struct {
	Name string `json:"name"`
	// Valid says that it would be called with arguments that its schema allows.
	Valid bool `json:"valid"`
	// Invalid says that it would be called with arguments that its schema forbids.
	Invalid bool `json:"invalid"`
	// Reason is why Valid or Invalid is false.
	Reason string `json:"why,omitempty"`
}

// writePlan writes which checks would run, and how tools would be called.
func (j *serverRun) writePlan(w io.Writer) error {
	ctx, leave := j.target.Lifetime(j.Budget)
	defer leave()
	found, err := j.discover(ctx, j.SingleProtocol())
	server := found.Server
	switch {
	case errors.Is(err, errRevisionNotAccepted):
		return nil
	case server == nil:
		return err
	case err != nil:
		return exit.With(report.ExitUntestable, errors.New(reporters.ProblemSentence(j.target.ErrorText(err))))
	}
	found.Close()
	if err := j.validateNames(ctx, server); err != nil {
		return err
	}
	p := j.newPlan(server)
	if paths := j.ReportFiles["json"]; len(paths) > 0 {
		return p.writeJSONFiles(paths, w)
	}
	return files.WriteBuffered(w, func(w io.Writer) error {
		p.writeText(w)
		return nil
	})
}

// newPlan returns the plan for a server.
func (j *serverRun) newPlan(server *check.Server) planInfo {
	p := planInfo{Revision: server.Revision, Skipped: j.skippedChecks(server), Calls: j.CallPolicy}
	for _, c := range j.Cases(server) {
		planned := plannedCheck{ID: c.ID, Level: c.Level.In(c.JudgedBy)}
		planned.Verdict, planned.ReasonCode, planned.Reason = c.Predetermined()
		p.Checks = append(p.Checks, planned)
	}
	if len(p.Checks) == 0 {
		p.Problem = reporters.ProblemSentence(nothingAppliesText(j.findOtherRevision(server)))
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		_, example := j.Arguments[name]
		may := j.CallPolicy.Permit(tool, example)
		p.Tools = append(p.Tools, plannedTool{j.target.Redactor.Text(name), may.Valid, may.Invalid, may.Reason})
	}
	return p
}

// skippedChecks returns the entries of skip, with the number of checks that each excludes on this server.
func (j *serverRun) skippedChecks(server *check.Server) (gaps []plannedSkip) {
	for _, o := range j.report.Options.Skip {
		left, err := config.SelectChecks([]string{o.Check}, nil)
		if err != nil {
			continue // it was validated before
		}
		gaps = append(gaps, plannedSkip{o, len(config.PlannedCases(j.BuiltCatalogue(), server, left))})
	}
	return gaps
}

// writeJSONFiles writes the plan as JSON; the path - means stdout.
func (p planInfo) writeJSONFiles(paths []string, stdout io.Writer) error {
	var content bytes.Buffer
	if err := text.WriteJSON(&content, p); err != nil {
		return err
	}
	for _, file := range paths {
		if file == "-" {
			if _, err := stdout.Write(content.Bytes()); err != nil {
				return err
			}
		} else if err := files.Replace(file, content.Bytes()); err != nil {
			return exit.Usagef("--json: %w", err)
		}
	}
	return nil
}

// writeText writes the plan for people.
func (p planInfo) writeText(w io.Writer) {
	fmt.Fprintf(w, "%d checks for revision %s\n", len(p.Checks), p.Revision)
	if p.Problem != "" {
		fmt.Fprintln(w, p.Problem)
	}
	for _, gap := range p.Skipped {
		fmt.Fprintf(w, "left out: %s (%d checks)", gap.Check, gap.Checks)
		if gap.Reason != "" {
			fmt.Fprint(w, ": ", gap.Reason)
		}
		fmt.Fprintln(w)
	}
	if len(p.Tools) > 0 {
		fmt.Fprintf(w, "\ntool calls (--calls %s):\n", p.Calls)
	}
	barred, unmarked := false, false
	for _, tool := range p.Tools {
		fmt.Fprintf(w, "  %-32s %s\n", tool.Name, tool.permissionText())
		barred = barred || !tool.Valid
		unmarked = unmarked || !tool.Invalid && tool.Reason == report.NotMarkedSafe
	}
	if barred {
		fmt.Fprintf(w, "\n%s\n", report.HowToAllowCalls)
	}
	if unmarked {
		fmt.Fprintln(w, "to test them with invalid arguments alone: add annotations, or --calls invalid")
	}
}

func (t plannedTool) permissionText() string {
	switch {
	case t.Valid && t.Invalid:
		return "valid and invalid arguments"
	case t.Valid:
		return "valid arguments only: " + t.Reason
	case t.Invalid:
		return "invalid arguments only: " + t.Reason
	}
	return "not called: " + t.Reason
}
