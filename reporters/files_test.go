package reporters

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// sampleReports returns the reports that every format is tested with.
func sampleReports() map[string]report.Report {
	return map[string]report.Report{
		"report": fullReport(), "problem": untestableReport(), "conforming": conformingReport(),
		"strict":    strictReport(),
		"revisions": interruptedReport(), "baseline": baselineReport(), "accepted": acceptedReport(),
		"http":    httpReport(),
		"excused": excusedReport(),
		"empty":   {SchemaVersion: 1, Profile: catalogue.Spec},
	}
}

// allSampleReports returns sampleReports and a report with malicious texts in all fields.
func allSampleReports() map[string]report.Report {
	all := sampleReports()
	all["evil"] = maliciousReport()
	return all
}

type reportWriter = func(io.Writer, report.Report) error

func render(t *testing.T, write reportWriter, r report.Report) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// allFormats returns each format with its variants, and annotations.
func allFormats() (all []Format) {
	for _, format := range Formats {
		all = append(all, format.withVariants()...)
	}
	return append(all, Format{Name: "annotations", Ext: ".annotations", Write: writeAnnotations})
}

func writeAnnotations(w io.Writer, r report.Report) error { return Annotations(w, r, Location{}) }

func TestFormatsGolden(t *testing.T) {
	all := sampleReports()
	for _, format := range allFormats() {
		for _, name := range []string{"report", "problem", "revisions", "baseline", "accepted", "excused", "http"} {
			file := name + format.Ext
			if format.BaseName != "" {
				file = name + "-" + format.BaseName + format.Ext
			}
			t.Run(file,
				func(t *testing.T) { compareGolden(t, file, withoutAssets(render(t, format.Write, all[name]))) })
		}
	}
}

// TestFormatsAreSafe checks that a report is always written the same, in UTF-8, without invisible characters, and
// without workflow commands except those of the annotations.
func TestFormatsAreSafe(t *testing.T) {
	for _, format := range allFormats() {
		t.Run(format.Name+format.Ext, func(t *testing.T) {
			reports := map[string]report.Report{"evil": maliciousReport(), "crowd": largeReport(),
				"report": fullReport()}
			for name, r := range reports {
				out := string(render(t, format.Write, r))
				if out != string(render(t, format.Write, r)) {
					t.Errorf("%s: differs when it is written again", name)
				}
				if !utf8.ValidString(out) {
					t.Errorf("%s: is not UTF-8", name)
				}
				if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("%s: holds what printableReport would escape: %q", name,
						out[max(0, i-20):min(len(out), i+20)])
				}
				if format.Name != "annotations" {
					checkNoCommands(t, out)
				}
			}
		})
	}
}

// checkNoCommands reports the first line in which GitHub's runner would recognize a workflow command.
func checkNoCommands(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("a command to the workflow, which withoutCommands would prevent: %q", line)
			return
		}
	}
}

// TestFormatsDoNotChangeTheReport checks that writing does not change a report, because several formats share one.
func TestFormatsDoNotChangeTheReport(t *testing.T) {
	for name, r := range sampleReports() {
		for _, format := range allFormats() {
			render(t, format.Write, r)
		}
		if diff := cmp.Diff(sampleReports()[name], r); diff != "" {
			t.Errorf("a format changed the report %s:\n%s", name, diff)
		}
	}
}

func TestFormatsReportWriteErrors(t *testing.T) {
	for _, format := range allFormats() {
		if err := format.Write(failingWriter{}, fullReport()); err == nil {
			t.Errorf("%s: want the error of the writer, got none", format.Name)
		}
	}
}

// reportSchema compiles the schema of the JSON report after a change to it.
func reportSchema(t *testing.T, change func(any)) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("../schemas/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	change(doc)
	return compileSchema(t, doc)
}

func compileSchema(t *testing.T, doc any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// visitObjects visits every object in a JSON value.
func visitObjects(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, x := range v {
			visitObjects(x, visit)
		}
	case []any:
		for _, x := range v {
			visitObjects(x, visit)
		}
	}
}

// TestJSONIsValid checks that JSON reports are valid by the schema, and that it describes every member that is written.
func TestJSONIsValid(t *testing.T) {
	s := reportSchema(t, func(doc any) {
		visitObjects(doc, func(o map[string]any) {
			if o["type"] == "object" && o["properties"] != nil {
				o["additionalProperties"] = false
			}
		})
	})
	checkValid(t, s, JSON, sampleReports())
}

// checkValid validates what a format writes for each report by a schema.
func checkValid(t *testing.T, s *jsonschema.Schema, write reportWriter, reports map[string]report.Report) {
	t.Helper()
	for name, r := range reports {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(render(t, write, r)))
		if err == nil {
			err = s.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaDescribesEveryMember(t *testing.T) {
	reportSchema(t, func(doc any) {
		visitObjects(doc, func(o map[string]any) {
			members, _ := o["properties"].(map[string]any)
			if o["type"] != "object" {
				return // a condition
			}
			for name, member := range members {
				if m, _ := member.(map[string]any); m["description"] == nil {
					t.Errorf("%s has no description", name)
				}
			}
		})
	})
}

func TestSchemaRejects(t *testing.T) {
	s := reportSchema(t, func(any) {})
	for name, breakReport := range map[string]func(report, result map[string]any){
		"another version":         func(r, _ map[string]any) { r["schemaVersion"] = 2 },
		"no counts":               func(r, _ map[string]any) { delete(r, "counts") },
		"results that are null":   func(r, _ map[string]any) { r["results"] = nil },
		"an unknown verdict":      func(_, x map[string]any) { x["verdict"] = "warn" },
		"a level in lower case":   func(_, x map[string]any) { x["level"] = "must" },
		"a gate without a reason": func(_, x map[string]any) { x["gates"] = true },
		"a reason without a gate": func(_, x map[string]any) { x["gatedBy"] = "MUST" },
		"a skip without a reason": func(_, x map[string]any) { x["verdict"] = "skip" },
		"an unknown reason": func(_, x map[string]any) {
			x["verdict"], x["message"], x["reasonCode"] = "skip", "it is so", "because"
		},
		"a reason code of a pass": func(_, x map[string]any) { x["reasonCode"] = "limit" },
		"findings of a pass":      func(_, x map[string]any) { x["findings"] = []any{map[string]any{"got": "x"}} },
		"an id without an area":   func(_, x map[string]any) { x["id"] = "id-echoed" },
		"a reason without a line": func(_, x map[string]any) { x["known"] = map[string]any{"reason": "because"} },
		"a known one that gates": func(_, x map[string]any) {
			x["gates"], x["gatedBy"], x["known"] = true, "MUST", map[string]any{"reason": "because", "line": 1}
		},
		"a baseline without a file": func(r, _ map[string]any) { r["baseline"] = map[string]any{} },
		"a stale entry without a reason": func(r, _ map[string]any) {
			r["baseline"] = map[string]any{"file": "f", "stale": []any{map[string]any{"entry": "a/b", "line": 1}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var doc map[string]any
			if err := json.Unmarshal(render(t, JSON, fullReport()), &doc); err != nil {
				t.Fatal(err)
			}
			breakReport(doc, doc["results"].([]any)[0].(map[string]any))
			if s.Validate(doc) == nil {
				t.Error("want the schema to reject it, and it did not")
			}
		})
	}
}

// TestJSONRoundTrip checks that a report can be read back, for the commands that use stored ones.
func TestJSONRoundTrip(t *testing.T) {
	for name, r := range sampleReports() {
		t.Run(name, func(t *testing.T) {
			if len(r.Results) == 0 || len(r.Revisions) == 0 {
				r.Results, r.Revisions = []report.Result{}, []report.RevisionInfo{}
			}
			r.Results = mapEach(r.Results, func(x report.Result) report.Result {
				x.Message = validUTF8(x.Message)
				x.Findings = mapEach(x.Findings, func(f report.Finding) report.Finding {
					return report.Finding{Subject: f.Subject, Want: f.Want, Got: validUTF8(f.Got)}
				})
				x.Evidence = mapEach(x.Evidence,
					func(l report.Line) report.Line { l.Text = validUTF8(l.Text); return l })
				return x
			})
			var back report.Report
			if err := json.Unmarshal(render(t, JSON, r), &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, back); diff != "" {
				t.Errorf("differs when read back (-written +read):\n%s", diff)
			}
		})
	}
}

// junitElements is what both the schema that Jenkins publishes (jenkinsci/xunit-plugin, junit-10.xsd) and that of Ant
// allow: for each element the children in their order, and the attributes, required ones with "!".
var junitElements = map[string]struct{ children, attributes string }{
	"testsuites": {"testsuite*", "name tests failures errors time"},
	"testsuite":  {"properties? testcase*", "name! tests! failures! errors! skipped time timestamp"},
	"properties": {"property*", ""},
	"property":   {"", "name! value!"},
	"testcase":   {"(skipped|error|failure)? system-out?", "classname name! time"},
	"skipped":    {"", "type message"},
	"error":      {"", "type message"},
	"failure":    {"", "type message"},
	"system-out": {"", ""},
}

// junitAttributePatterns are the forms of attributes. The schema allows times to have a comma for every thousand
// (SUREFIRE_TIME) and does not restrict numbers, but readers do.
var junitAttributePatterns = map[string]*regexp.Regexp{
	"time":      regexp.MustCompile(`^[0-9]+\.[0-9]+$`),
	"timestamp": regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$`),
	"tests":     regexp.MustCompile(`^[0-9]+$`),
	"failures":  regexp.MustCompile(`^[0-9]+$`),
	"errors":    regexp.MustCompile(`^[0-9]+$`),
	"skipped":   regexp.MustCompile(`^[0-9]+$`),
}

// xmlElement is any XML element.
type xmlElement struct {
	XMLName  xml.Name
	Attrs    []xml.Attr   `xml:",any,attr"`
	Children []xmlElement `xml:",any"`
	Text     string       `xml:",chardata"`
}

func (e xmlElement) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// check reports where the element violates the grammar.
func (e xmlElement) check(t *testing.T) {
	t.Helper()
	rule, known := junitElements[e.XMLName.Local]
	if !known {
		t.Errorf("unknown element %s", e.XMLName.Local)
	}
	var children string
	for _, c := range e.Children {
		children += "<" + c.XMLName.Local + ">"
		c.check(t)
	}
	pattern := regexp.MustCompile(`[a-z-]+`).ReplaceAllString(rule.children, "(<$0>)")
	if !regexp.MustCompile("^" + strings.ReplaceAll(pattern, " ", "") + "$").MatchString(children) {
		t.Errorf("%s has %s, want %s", e.XMLName.Local, children, rule.children)
	}
	allowed := strings.Fields(strings.ReplaceAll(rule.attributes, "!", ""))
	for _, a := range e.Attrs {
		if !slices.Contains(allowed, a.Name.Local) {
			t.Errorf("%s has the attribute %s", e.XMLName.Local, a.Name.Local)
		}
		if form, ok := junitAttributePatterns[a.Name.Local]; ok && !form.MatchString(a.Value) {
			t.Errorf("%s has the %s %q", e.XMLName.Local, a.Name.Local, a.Value)
		}
	}
	for _, name := range strings.Fields(rule.attributes) {
		if required := strings.TrimSuffix(name, "!"); required != name && e.attr(required) == "" {
			t.Errorf("%s has no %s", e.XMLName.Local, required)
		}
	}
}

func parseJUnit(t *testing.T, r report.Report) (root xmlElement, text []byte) {
	t.Helper()
	text = render(t, JUnit, r)
	if err := xml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return root, text
}

func TestJUnitKeepsToTheSchema(t *testing.T) {
	for name, r := range allSampleReports() {
		t.Run(name, func(t *testing.T) {
			root, text := parseJUnit(t, r)
			root.check(t)
			for _, c := range string(text) {
				if c == utf8.RuneError || c < 0x20 && c != '\n' || c == 0xfffe || c == 0xffff {
					t.Errorf("%U is in the file", c)
				}
			}
		})
	}
}

// TestJUnitIsRedWhenTheRunFails checks that a dashboard is red exactly if the run is not a success.
func TestJUnitIsRedWhenTheRunFails(t *testing.T) {
	for name, r := range sampleReports() {
		t.Run(name, func(t *testing.T) {
			root, _ := parseJUnit(t, r)
			red := root.attr("failures") != "0" || root.attr("errors") != "0"
			if want := r.ExitCode != report.ExitConforms; red != want {
				t.Errorf("exit code %d: want red %v, got %v", r.ExitCode, want, red)
			}
		})
	}
}

// TestJUnitOfABaseline checks that known failures do not make a dashboard red, and have the reason.
func TestJUnitOfABaseline(t *testing.T) {
	root, text := parseJUnit(t, acceptedReport())
	if root.attr("failures") != "0" {
		t.Error("known fails are failures")
	}
	for _, want := range []string{
		`<skipped message="known: waits for the SDK: issue @someone/sdk#12 · until 2026-12-31">`,
		`<skipped message="known: depends on the load of the machine · flaky">`,
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("want %s", want)
		}
	}
	if root, _ = parseJUnit(t, baselineReport()); root.attr("failures") != "3" {
		t.Errorf("want 3 failures, one for each stale entry, got %s", root.attr("failures"))
	}
}

// TestJUnitNamesAreStable checks that the names of tests depend on the catalogue only, and are unique.
func TestJUnitNamesAreStable(t *testing.T) {
	names := func(r report.Report) (names []string) {
		root, _ := parseJUnit(t, r)
		for _, suite := range root.Children {
			for _, c := range suite.Children[1:] {
				names = append(names, suite.attr("name")+" "+c.attr("classname")+" "+c.attr("name"))
			}
		}
		return names
	}
	for name, r := range sampleReports() {
		t.Run(name, func(t *testing.T) {
			got := names(r)
			if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("a name occurs twice: %q", got)
			}
		})
	}
	changed := fullReport()
	for i := range changed.Results {
		x := &changed.Results[i]
		x.Verdict, x.Gates, x.GatedBy = catalogue.Fail, true, catalogue.GateMust
		x.Level, x.Revision = catalogue.Must, "2025-06-18"
		x.Message, x.Subjects, x.Title, x.Seconds = "other", nil, "other", 9
	}
	changed.Revisions = []report.RevisionInfo{{Requested: "2025-11-25", Revision: "2025-06-18"}}
	if diff := cmp.Diff(names(fullReport()), names(changed)); diff != "" {
		t.Errorf("names vary with the run:\n%s", diff)
	}
}
