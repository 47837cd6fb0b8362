package reporters

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// JUnit writes the report as JUnit XML for the test reporters of Jenkins, GitLab and GitHub. It conforms to the schema
// of Jenkins' xunit plugin (junit-10.xsd), which has no skipped count on testsuites, and to the stricter order of
// elements of Ant's schema.
//
// Names do not depend on what a server does, so that dashboards can follow a test over time:
//
//	testsuite  tools           or, of several revisions, tools (2025-06-18)
//	classname  mcpcheck.tools  or                        mcpcheck.2025-06-18.tools
//	name       tools/unknown-tool-code
//
// A report of one revision does not name it, so that a server that moves to a newer revision keeps its history. A
// problem of the run as a whole is the test mcpcheck/run in its own suite, which exists only if there is one.
//
// Only blocking results are failures. Other failures are skipped, because they would turn a dashboard red although the
// exit code is 0. Their message is a warning, or the reason why the baseline lists them. Stale entries of the baseline
// are failures of the suite baseline.
func JUnit(w io.Writer, r report.Report) error {
	r = printableReport(r)
	doc := junitSuites{Name: "mcpcheck", Time: junitTime(r.Seconds)}
	if r.Problem != "" {
		doc.add(junitProblem(r))
	}
	share := ownTimeShare(r)
	several := len(revisionsOf(r.Revisions)) > 1
	for _, g := range groupBy(r.Results, func(x report.Result) string { return x.Revision + "\x00" + x.Area() }) {
		doc.add(junitArea(r, g, several, share))
	}
	if len(staleBaseline(r)) > 0 {
		doc.add(junitBaseline(r))
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+withoutCommands(string(text))+"\n")
	return err
}

// These are limits of evidence in files that dashboards keep for years.
const (
	fileWireLines = 40
	fileWireWidth = 1000 // in characters
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"` // UTC without a zone, as Ant writes it
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// junitCase has at most one of Skipped, Error and Failure.
type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Skipped *junitOutcome `xml:"skipped"`
	Error   *junitOutcome `xml:"error"`
	Failure *junitOutcome `xml:"failure"`
	Out     *junitText    `xml:"system-out"`
}

type junitOutcome struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

type junitText struct {
	Text string `xml:",cdata"`
}

// add appends a suite and counts its cases, also in the suite itself.
func (d *junitSuites) add(s junitSuite) {
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	s.Tests = len(s.Cases)
	d.Tests += s.Tests
	d.Failures += s.Failures
	d.Errors += s.Errors
	d.Suites = append(d.Suites, s)
}

// junitProblem returns the suite that says why the run as a whole failed.
func junitProblem(r report.Report) junitSuite {
	s := newJunitSuite(r, "mcpcheck", "")
	s.Time = junitTime(r.Seconds)
	s.Cases = []junitCase{{
		Class: "mcpcheck",
		Name:  "mcpcheck/run",
		Time:  s.Time,
		Error: &junitOutcome{Type: "run", Message: headline(r.Problem), Text: r.Problem},
	}}
	return s
}

// junitBaseline returns the suite of the stale entries of the baseline.
func junitBaseline(r report.Report) junitSuite {
	s := newJunitSuite(r, "baseline", "")
	s.Time = junitTime(0)
	for _, entry := range staleBaseline(r) {
		name := entry.Entry
		if slices.ContainsFunc(s.Cases, func(c junitCase) bool { return c.Name == name }) {
			name = fmt.Sprintf("%s (line %d)", name, entry.Line)
		}
		message := fmt.Sprintf("%s: %s: %s", stalePosition(r, entry), entry.Entry, entry.Reason)
		s.Cases = append(s.Cases, junitCase{
			Class: "mcpcheck.baseline",
			Name:  name,
			Time:  s.Time,
			Failure: &junitOutcome{
				Type: "stale", Message: message,
				Text: "\n" + message + "\nfix:  " + staleFix + "\n",
			},
		})
	}
	return s
}

// ownTimeShare returns the fraction of a check's time that is attributed to the check. Checks run concurrently, and the
// suites together must take as long as the run.
func ownTimeShare(r report.Report) float64 {
	sum := 0.0
	for _, x := range r.Results {
		sum += x.Seconds
	}
	if sum <= r.Seconds {
		return 1
	}
	return r.Seconds / sum
}

// junitArea returns the suite of one area in one revision.
func junitArea(r report.Report, results group, several bool, share float64) junitSuite {
	area, revision := results[0].Area(), results[0].Revision
	name, class := area, "mcpcheck."+area
	if several {
		name, class = area+" ("+revision+")", "mcpcheck."+revision+"."+area
	}
	s := newJunitSuite(r, name, revision)
	var seconds float64
	for _, result := range results {
		result.Seconds *= share
		seconds += result.Seconds
		s.Cases = append(s.Cases, newJunitCase(class, result))
	}
	s.Time = junitTime(seconds)
	return s
}

// newJunitSuite returns a suite without cases. The revision may be empty.
func newJunitSuite(r report.Report, name, revision string) junitSuite {
	s := junitSuite{Name: name, Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
	s.addProperty("mcpcheck.version", r.Program.Version)
	s.addProperty("target", targetText(r.Target))
	s.addProperty("transport", r.Target.Transport)
	s.addProperty("server", serverText(r.Server))
	s.addProperty("revision", revision)
	if i := slices.IndexFunc(r.Revisions, func(i report.RevisionInfo) bool { return i.Revision == revision }); i >= 0 {
		s.addProperty("revision.requested", r.Revisions[i].Requested)
		if set := r.Revisions[i].Set; set != nil {
			s.addProperty("set", set.Name)
			s.addProperty("set.digest", set.Digest)
		}
	}
	s.addProperty("profile", string(r.Profile))
	for _, c := range r.Coverage {
		if c.Revision == revision {
			s.addProperty("coverage", coverageText(c))
			s.addProperty("unexercised", strings.Join(c.Unexercised, ", "))
			_, calls := callsText([]report.Coverage{c}, nil)
			s.addProperty("uncalled", strings.Join(calls, "; "))
		}
	}
	if o := r.Options; o != nil {
		s.addProperty("configuration", o.Configuration)
		s.addProperty("only", strings.Join(o.Only, ", "))
		s.addProperty("skip", strings.Join(omittedChecks(*o), ", "))
	}
	return s
}

// addProperty adds a property unless its value is empty.
func (s *junitSuite) addProperty(name, value string) {
	if value != "" {
		s.Properties = append(s.Properties, junitProperty{name, value})
	}
}

func newJunitCase(class string, r report.Result) junitCase {
	c := junitCase{Class: class, Name: r.ID, Time: junitTime(r.Seconds)}
	message := resultTitle(r)
	switch {
	case r.Verdict == catalogue.Pass && r.Message != "":
		c.Out = &junitText{"passed partly: " + r.Message}
		return c
	case r.Verdict == catalogue.Pass:
		return c
	case r.Verdict == catalogue.Error:
		c.Error = &junitOutcome{Type: "mcpcheck", Message: message, Text: r.Message}
	case r.Gates:
		c.Failure = &junitOutcome{Type: string(r.GatedBy), Message: message, Text: junitDetail(r)}
	case acceptedText(r) != "":
		c.Skipped = &junitOutcome{Message: "known: " + acceptedText(r), Text: junitDetail(r)}
	case r.Verdict == catalogue.Fail:
		c.Skipped = &junitOutcome{Message: fmt.Sprintf("warning (%s): %s", r.Level, message), Text: junitDetail(r)}
	case r.Verdict == catalogue.Inconclusive:
		c.Skipped = &junitOutcome{Message: "inconclusive: " + message, Text: textBelowHeadline(r.Message, message)}
	default:
		c.Skipped = &junitOutcome{Message: message, Text: textBelowHeadline(r.Message, message)}
	}
	if len(r.Evidence) > 0 {
		c.Out = &junitText{"\n" + strings.Join(wireLines(r.Evidence, fileWireLines, fileWireWidth), "\n") + "\n"}
	}
	return c
}

// textBelowHeadline returns a text, or "" if its headline contains all of it.
func textBelowHeadline(text, headline string) string {
	if text == headline {
		return ""
	}
	return text
}

// junitDetail returns all details of a failure except its messages.
func junitDetail(r report.Result) string {
	lines := []string{"", r.RequirementText(), fmt.Sprintf("%s, %s", levelText(r), resultGate(r)), "", r.Message, ""}
	for _, l := range []struct{ label, text string }{
		{"on:   ", strings.Join(subjects(r), ", ")},
		{"spec: ", r.Spec},
		{"fix:  ", r.Fix},
	} {
		if l.text != "" {
			lines = append(lines, l.label+l.text)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// junitTime returns seconds with three decimals and no separators.
func junitTime(seconds float64) string {
	return fmt.Sprintf("%.3f", (time.Duration(seconds * float64(time.Second))).Seconds())
}
