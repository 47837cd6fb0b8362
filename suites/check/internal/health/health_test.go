package health

import (
	"errors"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestUnansweredMethods checks after how many unanswered requests a method is known to get no response: two or, with
// nothing else running, one if it was never answered, and six in a row if it was. Later unanswered requests of such a
// method start no health check.
func TestUnansweredMethods(t *testing.T) {
	const answer, silence = true, false
	tests := []struct {
		name    string
		serial  bool
		answers []bool
		known   bool
		suspect bool
	}{
		{"once", false, []bool{silence}, false, false},
		{"once, with nothing else running", true, []bool{silence}, true, false},
		{"twice", false, []bool{silence, silence}, true, true},
		{"and answered", false, []bool{silence, silence, answer}, false, true},
		{"answered before", true, []bool{answer, silence, silence, silence, silence, silence}, false, true},
		{"and never after it", true, []bool{answer, silence, silence, silence, silence, silence, silence}, true, true},
		{"and once more", true, []bool{answer, silence, silence, silence, answer, silence, silence}, false, true},
	}
	for _, tt := range tests {
		var h Health
		if tt.serial {
			h.Reset()
		}
		for _, answered := range tt.answers {
			r := driver.Reply{Method: "tools/list", Err: &driver.TimeoutError{}}
			if answered {
				r = driver.Reply{Method: "tools/list", Frame: &driver.Frame{}}
			}
			h.RecordReply(&driver.Session{}, r)
		}
		known, suspect := h.UnansweredError("tools/list") != nil, h.NeedsCheck()
		if known != tt.known || suspect != tt.suspect {
			t.Errorf("%s: known as unanswered: %v, health check needed: %v", tt.name, known, suspect)
		}
	}
}

// TestSessionsOfAStoppedRun checks that sessions are opened as long as that is possible, even if none of them lasts.
func TestSessionsOfAStoppedRun(t *testing.T) {
	for _, failed := range []*driver.Session{nil, {}} {
		var h Health
		h.FailCheck(failed, errors.New("of a control"))
		if stopped := h.NoSessionError() != nil; stopped != (failed == nil) {
			t.Errorf("stopped is %v after a health check in %v", stopped, failed)
		}
	}
}
