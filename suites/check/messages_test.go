package check

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
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
		checks: []testCheck{{id: "a/one", check: Probe(func(t *T) {
			s := t.Session(Exclusive)
			t.Send(s, "says", nil)
			t.Send(s, "refuses", nil)
			s.MarkInvalidInput()
			t.Send(s, "says", nil)
		})}},
	}.run(t)
	out.wantVerdict(t, "a/one", catalogue.Pass, "")
	w := Wire{Sessions: out.sessions}
	tests := []struct {
		messages Messages
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

// TestLooksLikeMessage checks that JSON is meant as a message if it has a member jsonrpc, answers a request, or has a
// method that servers use.
func TestLooksLikeMessage(t *testing.T) {
	asked := requestsByID{driver.IDKey([]byte("7")): {}}
	tests := map[string]bool{
		`{"jsonrpc":"1.0"}`:                true,
		`{"id":7,"result":{}}`:             true,
		`{"id":8,"result":{}}`:             false,
		`{"result":"ok"}`:                  false,
		`{"method":"notifications/x"}`:     true,
		`{"method":"GET","id":7}`:          false,
		`{"heartbeat":1}`:                  false,
		`[{"jsonrpc":"2.0","result":{}}]`:  true,
		`[{"id":7,"error":{}},{"at":"x"}]`: false,
		`["info","ready"]`:                 false,
		`[]`:                               true, // an empty batch
		`7`:                                false,
	}
	for raw, want := range tests {
		line := &driver.Frame{Kind: driver.Array, Raw: driver.Text("[" + raw + "]")}
		if got := (Message{Frame: line.Messages()[0], requests: asked}).LooksLikeMessage(); got != want {
			t.Errorf("%s: got %v", raw, got)
		}
	}
}

// TestLinesEnd checks that lines after the end of stdin belong to the shutdown.
func TestLinesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve := func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
			io.WriteString(out, "first words\n")
			io.Copy(io.Discard, in)
			io.WriteString(out, "last words\n")
			return 0
		}
		s, err := driver.Start(t.Context(), driver.Target{Serve: serve}, driver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Sleep(time.Second)
		s.Close()
		lines := Wire{Sessions: []*driver.Session{s}}.Lines().List
		if len(lines) != 1 || lines[0].Raw.String() != "first words" || len(s.ReceivedSince(0)) != 2 {
			t.Errorf("got %v of %v", lines, s.ReceivedSince(0))
		}
	})
}

// TestCapLines checks that the beginning and the end of long evidence are kept, and that no gap replaces a single line.
func TestCapLines(t *testing.T) {
	for _, n := range []int{0, report.MaxEvidenceLines, report.MaxEvidenceLines + 1, report.MaxEvidenceLines + 2,
		1000} {
		var lines []report.Line
		for i := range n {
			lines = append(lines, report.Line{Text: fmt.Sprint(i)})
		}
		got := report.CapLines(lines)
		switch {
		case n <= report.MaxEvidenceLines+1:
			if len(got) != n {
				t.Errorf("of %d lines %d are kept", n, len(got))
			}
		case len(got) != report.MaxEvidenceLines+1, got[0].Text != "0", got[report.MaxEvidenceLines].Text != fmt.Sprint(
			n-1),
			got[report.MaxEvidenceLines/4].Text != fmt.Sprintf("%d lines left out",
				n-report.MaxEvidenceLines), !got[report.MaxEvidenceLines/4].Truncated:
			t.Errorf("of %d lines these are kept: %v", n, got)
		}
	}
}

func TestFrameID(t *testing.T) {
	texts := map[string]string{"7": "7", `"a"`: `"a"`, "null": "null", "": "nothing: the member is missing"}
	for raw, want := range texts {
		f := &driver.Frame{}
		if raw != "" {
			f.ID = []byte(raw)
		}
		if diff := cmp.Diff(want, Show(FrameID(f))); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}
