package engine

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestWire checks that watches judge what the server sent as messages, and nothing after invalid input.
func TestWire(t *testing.T) {
	out := testRun{
		script: script{
			{method: "says", action: writes(
				`{"method":"notifications/a"}`,
				`{"id":"mine","method":"ping"}`,
				`[{"method":"notifications/b"},7]`,
				"no JSON",
				`{"method":"GET","path":"/"}`,
				`{"id":"mine","error":"none"}`,
				`["info","ready"]`,
			)},
			{method: "refuses", action: answersError(-1)},
		},
		checks: []testCheck{{id: "a/one", check: check.Probe(func(t *check.T) {
			s := t.Session(check.Exclusive)
			t.Send(s, "says", nil)
			t.Send(s, "refuses", nil)
			s.MarkInvalidInput()
			t.Send(s, "says", nil)
		})}},
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Pass, "")
	w := check.Wire{Sessions: out.sessions}
	tests := []struct {
		messages check.Messages
		what     string
		// list has the method of each message, or of the request that it answers.
		list string
	}{
		{w.Messages(), "message", "=initialize =ping notifications/a ping notifications/b =says =refuses"},
		{w.Responses(), "response", "=initialize =ping =says =refuses"},
		{w.Results(), "success response", "=initialize =ping =says"},
		{w.Errors(), "error response", "=refuses"},
		{w.ResultsOf("says"), "result of says", "=says"},
		{w.ResultsOf("refuses"), "result of refuses", ""},
		{w.Requests(), "request", "ping"},
		{w.Notifications(), "notification", "notifications/a notifications/b"},
		{w.Responses().Negotiated(catalogue.NewestLegacy), "response", "=initialize =ping =says =refuses"},
		{w.Responses().Negotiated("2024-11-05"), "response", ""},
	}
	for _, tt := range tests {
		var list []string
		for _, m := range tt.messages.List {
			method := m.Method
			if m.Request != nil {
				method = "=" + m.Request.Method
			}
			list = append(list, method)
		}
		if got := strings.Join(list, " "); tt.messages.Kind != tt.what || got != tt.list {
			t.Errorf("%s: got %q %s, want %s", tt.what, tt.messages.Kind, got, tt.list)
		}
	}
	if lines := w.Lines(); lines.Kind != "output" || len(lines.List) != 2+2*8+1 {
		t.Errorf("%d lines of %s", len(lines.List), lines.Kind)
	}
}
