package main

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// printPlan says what would be run, and what tools would be called with.
func (s *settings) printPlan(server *harness.Server, plan []harness.Case) error {
	fmt.Fprintf(s.stdout, "%d checks for revision %s\n", len(plan), server.Revision)
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
