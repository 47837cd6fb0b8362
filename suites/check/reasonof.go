package check

import (
	"cmp"
	"errors"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// ReasonOf is the reason that a value itself is for no verdict: an error, an HTTP answer, whatever knows its Reason.
// Empty when it is none.
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
	var silence *driver.TimeoutError
	var death *driver.SessionEndError
	var unanswered *driver.NoResponseError
	var unlisted *NotAListError
	var endless *EndlessListError
	switch {
	case driver.AsLimitError(err) != nil, errors.Is(err, ErrTooManyPages):
		return report.Limit
	case errors.As(err, &unlisted), errors.As(err, &endless):
		return report.NotListed
	case errors.As(err, &silence):
		return report.Silent
	case errors.As(err, &death):
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
