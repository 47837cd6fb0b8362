package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// plan says what would be run, and what tools would be called with.
func (j *judgement) plan(w io.Writer) error {
	ctx, listen, leave := j.target.visit(j.Budget)
	defer leave()
	listen()
	server, session, err := j.meet(ctx, j.requested[0])
	switch {
	case errors.Is(err, errPassedOver):
		return nil
	case server == nil:
		return err
	case err != nil:
		return &exit{harness.ExitUntestable, errors.New(j.target.problem(err))}
	}
	session.Close()
	if err := j.wrongArguments(server); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d checks for revision %s\n", len(planned(server, j.selector)), server.Revision)
	for _, line := range j.omitted(server) {
		fmt.Fprintln(w, line)
	}
	if len(server.Tools) > 0 {
		fmt.Fprintf(w, "\ntool calls (--calls %s):\n", j.calls)
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		_, example := j.Arguments[name]
		fmt.Fprintf(w, "  %-32s %s\n", j.target.redact.text(name), permission(j.calls.Permit(tool, example)))
	}
	return nil
}

// omitted says what the configuration leaves out of the checks for a server, and why.
func (j *judgement) omitted(server *harness.Server) (lines []string) {
	for _, o := range j.Skip {
		left, err := selectChecks([]string{o.Check}, nil)
		if err != nil {
			continue // it was found to be good before
		}
		line := fmt.Sprintf("left out: %s (%d checks)", o.Check, len(planned(server, left)))
		if o.Reason != "" {
			line += ": " + j.target.redact.text(oneLine(o.Reason))
		}
		lines = append(lines, line)
	}
	return lines
}

// planned are the cases of the checks that are built and selected, for a server.
func planned(server *harness.Server, selected harness.Selector) []harness.Case {
	return harness.Plan(suites.Built(), suites.Checks(), server, selected)
}

func permission(p harness.Permission) string {
	switch {
	case p.Valid && p.Invalid:
		return "valid and invalid arguments"
	case p.Valid:
		return "valid arguments only: " + p.Why
	case p.Invalid:
		return "invalid arguments only: " + p.Why
	}
	return "not called: " + p.Why
}
