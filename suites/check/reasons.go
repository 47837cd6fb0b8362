package check

import "github.com/mcpcheck/mcpcheck/suites/report"

// The reasons of T.Skip, T.NoVerdict and T.Retry, with the names of package report, where they are described.
const (
	Budget          = report.Budget
	CallsOff        = report.CallsOff
	Died            = report.Died
	ForeignAnswer   = report.ForeignAnswer
	HandshakeFailed = report.HandshakeFailed
	Limit           = report.Limit
	NotApplicable   = report.NotApplicable
	NotDeclared     = report.NotDeclared
	NotGiven        = report.NotGiven
	NotObserved     = report.NotObserved
	NotOffered      = report.NotOffered
	OtherCheck      = report.OtherCheck
	Silent          = report.Silent
	Undecided       = report.Undecided
)
