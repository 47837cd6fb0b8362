package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// planInfo is what would be run. Members are added, and none is removed.
type planInfo struct {
	Revision string         `json:"revision"`
	Checks   []plannedCheck `json:"checks"`
	Problem  string         `json:"problem,omitempty"` // why there are none
	LeftOut  []plannedGap   `json:"leftOut,omitempty"` // by the configuration or --skip
	Calls    harness.Calls  `json:"calls"`             // the policy
	Tools    []plannedTool  `json:"tools,omitempty"`
}

// plannedCheck is a check that would be run, or of which is known beforehand what it comes to.
type plannedCheck struct {
	ID      string          `json:"id"`
	Level   harness.Level   `json:"level"`
	Verdict harness.Verdict `json:"verdict,omitempty"`
	Code    harness.Reason  `json:"reasonCode,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// plannedGap is checks that are left out.
type plannedGap struct {
	harness.Omission
	Checks int `json:"checks"`
}

// plannedTool is what a tool would be called with.
type plannedTool struct {
	Name    string `json:"name"`
	Valid   bool   `json:"valid"`         // arguments that its schema allows
	Invalid bool   `json:"invalid"`       // arguments that its schema forbids
	Why     string `json:"why,omitempty"` // not, where one of them is false
}

// plan says what would be run, and what tools would be called with.
func (j *judgement) plan(w io.Writer) error {
	ctx, leave := j.target.visit(j.Budget)
	defer leave()
	found, err := j.meet(ctx, j.one())
	server := found.Server
	switch {
	case errors.Is(err, errPassedOver):
		return nil
	case server == nil:
		return err
	case err != nil:
		return &exit{harness.ExitUntestable, errors.New(reporters.Sentence(j.target.problem(err)))}
	}
	found.Close()
	if err := j.wrongNames(ctx, server); err != nil {
		return err
	}
	p := j.planned(server)
	if files := j.reports["json"]; len(files) > 0 {
		return p.writeTo(files, w)
	}
	return flushed(w, func(w io.Writer) error {
		p.write(w)
		return nil
	})
}

// planned is the plan for a server.
func (j *judgement) planned(server *harness.Server) planInfo {
	p := planInfo{Revision: server.Revision, LeftOut: j.omitted(server), Calls: j.calls}
	for _, c := range j.cases(server) {
		check := plannedCheck{ID: c.ID, Level: c.Level.In(c.By)}
		check.Verdict, check.Code, check.Reason = c.Foreseen()
		p.Checks = append(p.Checks, check)
	}
	if len(p.Checks) == 0 {
		p.Problem = reporters.Sentence(nothingApplies(j.otherRevision(server)))
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		_, example := j.Arguments[name]
		may := j.calls.Permit(tool, example)
		p.Tools = append(p.Tools, plannedTool{j.target.redact.text(name), may.Valid, may.Invalid, may.Why})
	}
	return p
}

// omitted are the checks for a server that the configuration leaves out.
func (j *judgement) omitted(server *harness.Server) (gaps []plannedGap) {
	for _, o := range j.report.Options.Skip {
		left, err := selectChecks([]string{o.Check}, nil)
		if err != nil {
			continue // it was found to be good before
		}
		gaps = append(gaps, plannedGap{o, len(planned(j.built(), server, left))})
	}
	return gaps
}

// planned are the cases of checks that are selected of a catalogue, for a server.
func planned(catalogue harness.Catalogue, server *harness.Server, selected harness.Selector) []harness.Case {
	return harness.Plan(catalogue, suites.Checks(), server, selected)
}

// writeTo writes the plan as JSON; the file - is stdout.
func (p planInfo) writeTo(files []string, stdout io.Writer) error {
	var text bytes.Buffer
	if err := writeJSON(&text, p); err != nil {
		return err
	}
	for _, file := range files {
		if file == "-" {
			if _, err := stdout.Write(text.Bytes()); err != nil {
				return err
			}
		} else if err := reporters.ReplaceFile(file, text.Bytes()); err != nil {
			return usage("--json: %w", err)
		}
	}
	return nil
}

// write writes the plan for people.
func (p planInfo) write(w io.Writer) {
	fmt.Fprintf(w, "%d checks for revision %s\n", len(p.Checks), p.Revision)
	if p.Problem != "" {
		fmt.Fprintln(w, p.Problem)
	}
	for _, gap := range p.LeftOut {
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
		fmt.Fprintf(w, "  %-32s %s\n", tool.Name, tool.permission())
		barred = barred || !tool.Valid
		unmarked = unmarked || !tool.Invalid && tool.Why == harness.Unmarked
	}
	if barred {
		fmt.Fprintf(w, "\n%s\n", harness.CallsRemedy)
	}
	if unmarked {
		fmt.Fprintln(w, "to test them with invalid arguments alone: add annotations, or --calls invalid")
	}
}

func (t plannedTool) permission() string {
	switch {
	case t.Valid && t.Invalid:
		return "valid and invalid arguments"
	case t.Valid:
		return "valid arguments only: " + t.Why
	case t.Invalid:
		return "invalid arguments only: " + t.Why
	}
	return "not called: " + t.Why
}
