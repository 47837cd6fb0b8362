// Package exit has the errors that end mcpcheck with a certain exit code.
//
// A command returns an error, and only main ends the process: with the code of the Error that it finds in it, or with
// that of wrong usage if there is none. Usagef returns an error of wrong usage or configuration, With one of another
// code, and Status one whose message has been printed already, so that main prints nothing more. Line is the one line
// that main prints.
//
// The codes themselves are constants of package report, since reports contain them too. Nothing else belongs here:
// nearly all packages of the program import it.
package exit

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Error is an error that asks for an exit code. A nil Cause means that there is nothing left to print.
type Error struct {
	Code  int
	Cause error
}

func (e *Error) Error() string { return fmt.Sprint(e.Cause) }

// Usagef returns an error of wrong usage or configuration, which has exit code 2.
func Usagef(format string, a ...any) error {
	return With(report.ExitUsage, fmt.Errorf(format, a...))
}

// With returns an error that asks for an exit code, with its cause.
func With(code int, cause error) error { return &Error{Code: code, Cause: cause} }

// Status returns an error that asks for an exit code and prints nothing, since the reason has been printed already.
func Status(code int) error { return &Error{Code: code} }

// Line returns an error on one line; joined errors are separated by semicolons.
func Line(err error) string {
	switch err := err.(type) {
	case *Error:
		if err.Cause != nil {
			return Line(err.Cause)
		}
	case interface{ Unwrap() []error }:
		return strings.Join(text.Map(err.Unwrap(), Line), "; ")
	}
	return text.OneLine(err.Error())
}
