package main

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// printPlan says what would be run, and what tools would be called with.
func (s *settings) printPlan(server *harness.Server, plan []harness.Case) error {
	fmt.Fprintf(s.stdout, "%d checks for revision %s\n", len(plan), server.Revision)
	for _, line := range s.omitted(server) {
		fmt.Fprintln(s.stdout, line)
	}
	if len(server.Tools) > 0 {
		fmt.Fprintf(s.stdout, "\ntool calls (--calls %s):\n", s.calls)
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		_, example := s.Arguments[name]
		fmt.Fprintf(s.stdout, "  %-32s %s\n", s.redact.Replace(name), permission(s.calls.Permit(tool, example)))
	}
	return nil
}

// omitted says what the configuration leaves out of the checks for a server, and why.
func (s *settings) omitted(server *harness.Server) (lines []string) {
	for _, o := range s.Skip {
		left, err := selectChecks([]string{o.Check}, nil)
		if err != nil {
			continue // it was found to be good before
		}
		n := len(harness.Plan(suites.Built(), suites.Checks(), server, left))
		line := fmt.Sprintf("left out: %s (%d checks)", o.Check, n)
		if o.Reason != "" {
			line += ": " + s.redact.Replace(oneLine(o.Reason))
		}
		lines = append(lines, line)
	}
	return lines
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
