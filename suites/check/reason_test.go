package check

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// reasonedValue is a value with a method Reason.
type reasonedValue struct{}

func (reasonedValue) Reason() report.Reason { return report.NotOffered }

func TestReasonOf(t *testing.T) {
	for name, tt := range map[string]struct {
		value any
		want  report.Reason
	}{
		"a text":                {"no tool", ""},
		"nothing wrong":         {Explain(nil), ""},
		"any error":             {errors.New("it is so"), ""},
		"a value with a reason": {reasonedValue{}, report.NotOffered},
		"a timeout":             {&driver.TimeoutError{Method: "ping"}, report.Silent},
		"an end":                {&driver.SessionEndError{Cause: "it exited"}, report.Died},
		"an explained end":      {Explain(&driver.SessionEndError{Cause: "it exited"}), report.Died},
		"an end after a limit": {&driver.SessionEndError{LimitErr: &driver.LimitError{Reason: "too long"}},
			report.Limit},
		"too many pages":             {Explain(fmt.Errorf("tools/list has %w", ErrTooManyPages)), report.Limit},
		"endless pages":              {Explain(&EndlessListError{Method: "tools/list"}), report.NotListed},
		"a POST without answer":      {&driver.NoResponseError{Method: "ping", RoundTrip: nil}, report.Silent},
		"an HTTP answer":             {driver.HTTPResponse{StatusCode: 400}, ""},
		"a gateway response":         {driver.HTTPResponse{StatusCode: 502}, report.ForeignAnswer},
		"none yet":                   {driver.HTTPResponse{}, report.Silent},
		"no response, with an error": {driver.HTTPResponse{Err: errors.New("connection refused")}, report.Died},
	} {
		if got := ReasonOf(tt.value); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestReasonsOfOutcomes(t *testing.T) {
	silence := &driver.TimeoutError{Method: "ping"}
	for name, tt := range map[string]struct {
		end  func(*T)
		want report.Reason
	}{
		"a skip":          {func(t *T) { t.Skip(NotApplicable, "it is so") }, report.NotApplicable},
		"an inconclusive": {func(t *T) { t.NoVerdict(Undecided, "it is so") }, report.Undecided},
		"a message with an error": {func(t *T) { t.Retry(Undecided, "no session: %v", Explain(silence)) },
			report.Silent},
		"a message with two errors": {func(t *T) { t.Retry(Undecided, "%v, then %v", errors.New("x"), silence) },
			report.Silent},
		"a reason and an error":   {func(t *T) { t.NoVerdict(report.Limit, "%v", silence) }, report.Limit},
		"a silence of the server": {func(t *T) { NoAnswer(t, "nothing has answered") }, report.Silent},
	} {
		o := outcomeOf(tt.end)
		if o.Reason != tt.want {
			t.Errorf("%s: got %q, want %q", name, o.Reason, tt.want)
		}
	}
}
