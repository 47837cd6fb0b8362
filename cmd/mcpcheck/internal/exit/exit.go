// Package exit has the errors that end mcpcheck with a certain exit code.
//
// A command returns an error, and only main ends the process: with the code of the Error that it finds in it, or with
// that of wrong usage where there is none. Usagef makes the error of wrong usage or configuration, With one of another
// code, and Status one of which all has been told, so that main prints nothing more. Line is the one line that main
// prints.
//
// The codes themselves are constants of package report, since reports have them too. Nothing else belongs here: nearly
// all packages of the program import it.
package exit

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Error is an error that asks for a certain exit code. Without a cause there is nothing left to say.
type Error struct {
	Code  int
	Cause error
}

func (e *Error) Error() string { return fmt.Sprint(e.Cause) }

// Usagef is an error of use: exit code 2.
func Usagef(format string, a ...any) error {
	return With(report.ExitUsage, fmt.Errorf(format, a...))
}

// With is an error that asks for an exit code, and says why.
func With(code int, cause error) error { return &Error{Code: code, Cause: cause} }

// Status is an error that asks for an exit code, of what has been told.
func Status(code int) error { return &Error{Code: code} }

// Line says on one line what went wrong, which may be several things.
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
