package reporters

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// markupLoad is the report of a load on a server whose texts try to leave their place in each format.
func markupLoad() report.Load {
	const markup = "</title><script>alert(1)</script>]]>\x1b[31m\n::error::x | `x` &"
	figures := report.LoadFigures{Method: markup, Count: 3, PerSecond: 3, P50: 1, P90: 2, P99: 3, P999: 3, Max: 3,
		Errors:    []report.LoadError{{Kind: markup, Count: 1}},
		Quantiles: []report.LoadQuantile{{Percent: 50, Time: 1}, {Percent: 100, Time: 3}}}
	return report.Load{
		Kind: report.LoadKind, Revision: "2025-11-25", Clients: 2, Processes: 2, Seconds: 1,
		Target: report.TargetInfo{Command: []string{markup}}, Server: report.ServerInfo{Name: markup},
		Methods: []report.LoadFigures{figures, figures}, All: figures, Connect: figures,
		Process: &report.LoadProcess{Megabytes: 10, CPUSeconds: 1, AfterMegabytes: 5}, Problem: markup, Knee: 1,
		Scale: []report.LoadStep{{Clients: 1, All: figures}, {Clients: 2, All: figures}},
		Results: []report.LoadResult{{Name: markup, Verdict: catalogue.Fail, Count: 2, Findings: []string{markup}},
			{Name: "right", Verdict: catalogue.Pass}},
	}
}

// TestLoadFormats checks that texts of a server stay in their place in each format of the report of a load, and that
// each has the figures, the results and the scale.
func TestLoadFormats(t *testing.T) {
	l := markupLoad()
	console := func(w io.Writer, l report.Load) error { WriteLoad(w, l, false); return nil }
	for _, format := range append(slices.Clone(LoadFormats), LoadFormat{Name: "console", Write: console}) {
		t.Run(format.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := format.Write(&out, l); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			for _, bad := range []string{"\x1b", "\n::error"} {
				if strings.Contains(text, bad) {
					t.Errorf("it has %q:\n%s", bad, text)
				}
			}
			if format.Name == "html" && (strings.Contains(text, "<script") || !strings.Contains(text, "<circle")) {
				t.Errorf("a script, or no chart:\n%s", text)
			}
			if format.Name == "markdown" && !strings.Contains(text, "**&lt;/title&gt;") {
				t.Errorf("a name is not escaped:\n%s", text)
			}
			if !strings.Contains(text, "right") && format.Name != "markdown" {
				t.Error("a result is missing")
			}
			switch format.Name {
			case "json":
				if !json.Valid(out.Bytes()) {
					t.Error("it is not JSON")
				}
			case "junit":
				var doc junitSuites
				if err := xml.Unmarshal(out.Bytes(), &doc); err != nil || doc.Tests != 3 || doc.Failures != 1 ||
					doc.Errors != 1 {
					t.Errorf("%v: %+v", err, doc)
				}
			}
		})
	}
}

// TestLoadWithoutFigures checks that a load that ended before it sent anything has a report in each format.
func TestLoadWithoutFigures(t *testing.T) {
	for _, format := range LoadFormats {
		var out bytes.Buffer
		if err := format.Write(&out, report.Load{Problem: "no session"}); err != nil ||
			!strings.Contains(out.String(), "no session") {
			t.Errorf("%s: %v\n%s", format.Name, err, out.String())
		}
	}
}

func TestLoadVerdict(t *testing.T) {
	failed := report.LoadResult{Name: "x", Verdict: catalogue.Fail, Count: 1, Findings: []string{"y"}}
	for _, tt := range []struct {
		load report.Load
		want string
	}{
		{report.Load{}, "PASS"},
		{report.Load{Problem: "p"}, "STOPPED"},
		{report.Load{Results: []report.LoadResult{failed}}, "FAIL"},
		{report.Load{Results: []report.LoadResult{failed}, Problem: "p"}, "FAIL"},
	} {
		word, said := loadVerdict(tt.load)
		if word != tt.want || tt.load.Problem != "" && !strings.Contains(said, "p") {
			t.Errorf("got %s %q, want %s", word, said, tt.want)
		}
	}
}
