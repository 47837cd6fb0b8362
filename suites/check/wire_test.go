package check

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

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
