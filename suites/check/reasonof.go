package check

import (
	"cmp"
	"errors"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ReasonOf returns the reason that a value gives for a missing verdict: an error, an HTTP response, or any value with a
// method Reason. It is empty when the value gives none.
func ReasonOf(value any) report.Reason {
	switch v := value.(type) {
	case interface{ Reason() report.Reason }:
		return v.Reason()
	case driver.HTTPResponse:
		return reasonOfAnswer(v)
	case error:
		return reasonOfError(v)
	}
	return ""
}

func reasonOfError(err error) report.Reason {
	var timeout *driver.TimeoutError
	var ended *driver.SessionEndError
	var unanswered *driver.NoResponseError
	var notList *NotAListError
	var endless *EndlessListError
	switch {
	case driver.AsLimitError(err) != nil, errors.Is(err, ErrTooManyPages):
		return report.Limit
	case errors.As(err, &notList), errors.As(err, &endless):
		return report.NotListed
	case errors.As(err, &timeout):
		return report.Silent
	case errors.As(err, &ended):
		return report.Died
	case !errors.As(err, &unanswered):
		return ""
	case unanswered.RoundTrip == nil:
		return report.Silent
	}
	return cmp.Or(reasonOfAnswer(unanswered.RoundTrip.Response()), report.Silent)
}

func reasonOfAnswer(a driver.HTTPResponse) report.Reason {
	switch {
	case a.LimitErr() != nil:
		return report.Limit
	case a.IsFromIntermediary():
		return report.ForeignAnswer
	case a.StatusCode == 0 && a.Err != nil:
		return report.Died
	case a.StatusCode == 0:
		return report.Silent
	}
	return ""
}
