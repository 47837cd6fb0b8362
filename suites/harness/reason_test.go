package harness

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// reasonedValue is a value that knows what reason it is.
type reasonedValue struct{}

func (reasonedValue) Reason() Reason { return NotOffered }

func TestReasonOf(t *testing.T) {
	for name, tt := range map[string]struct {
		value any
		want  Reason
	}{
		"a text":                 {"no tool", ""},
		"nothing wrong":          {Explain(nil), ""},
		"any error":              {errors.New("it is so"), ""},
		"a value that knows it":  {reasonedValue{}, NotOffered},
		"a silence":              {&driver.TimeoutError{Method: "ping"}, Silent},
		"an end":                 {&driver.SessionEndError{Cause: "it exited"}, Died},
		"an end that is told":    {Explain(&driver.SessionEndError{Cause: "it exited"}), Died},
		"an end after an excess": {&driver.SessionEndError{LimitErr: &driver.LimitError{Reason: "too long"}}, Limit},
		"more pages than that":   {Explain(fmt.Errorf("tools/list has %w", ErrTooManyPages)), Limit},
		"pages without an end":   {Explain(&EndlessListError{Method: "tools/list"}), NotListed},
		"a POST without answer":  {&driver.NoResponseError{Method: "ping", RoundTrip: nil}, Silent},
		"an HTTP answer":         {driver.HTTPResponse{StatusCode: 400}, ""},
		"one of a gateway":       {driver.HTTPResponse{StatusCode: 502}, ForeignAnswer},
		"none yet":               {driver.HTTPResponse{}, Silent},
		"none, and the reason":   {driver.HTTPResponse{Err: errors.New("connection refused")}, Died},
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
		want Reason
	}{
		"a skip":                  {func(t *T) { t.Skip("it is so") }, NotApplicable},
		"an inconclusive":         {func(t *T) { t.Inconclusive("it is so") }, Undecided},
		"one that shows an error": {func(t *T) { t.Retry("no session: %v", Explain(silence)) }, Silent},
		"one of two errors":       {func(t *T) { t.Retry("%v, then %v", errors.New("x"), silence) }, Silent},
		"one that was given":      {func(t *T) { t.WithReason(Limit).Inconclusive("%v", silence) }, Limit},
		"a silence of the server": {func(t *T) { NoAnswer(t, "nothing has answered") }, Silent},
		"one that was not used":   {func(t *T) { t.WithReason(Limit); t.Skip("it is so") }, NotApplicable},
	} {
		o := runRecovered(func() { tt.end(&T{scope: &scope{}}) })
		if o.reason != tt.want {
			t.Errorf("%s: got %q, want %q", name, o.reason, tt.want)
		}
	}
}
