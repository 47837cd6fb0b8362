package reporters

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// NewAnnotations returns a reporter that writes annotations for GitHub Actions to out at the end of the run. The
// standard output of a step is such an output.
func NewAnnotations(out io.Writer, place Location) Reporter {
	write := func(w io.Writer, r report.Report) error { return Annotations(w, r, place) }
	return newFileReporter(out, Format{Name: "annotations", Write: write})
}

// annotationLimit is the number of annotations of a kind that GitHub keeps of a step. It silently drops others.
// (actions/runner, ExecutionContext.cs)
const annotationLimit = 10

// These are limits of quotations in an annotation, which GitHub cuts at 4096 bytes.
const (
	annotationLines = 8
	annotationWidth = 300 // in characters
)

// Annotations writes workflow commands that GitHub shows at the files of a pull request and on the page of the run.
// There is an error for each blocking finding, fault of mcpcheck and problem of the run, a warning for each stale entry
// of the baseline, at its line, and a notice with the verdict. Failures that do not block appear in the log only.
// (GitHub Docs, "Workflow commands for GitHub Actions")
func Annotations(w io.Writer, r report.Report, place Location) error {
	r = printableReport(r)
	var b lineBuilder
	b.WriteString(minorGroup(r))
	for _, a := range limitAnnotations(annotationErrors(r, place), "error") {
		b.WriteString(a.command("error"))
	}
	for _, a := range limitAnnotations(annotationWarnings(r, place), "stale entry") {
		b.WriteString(a.command("warning"))
	}
	word, said := outcomeText(r)
	b.WriteString(annotation{title: "mcpcheck", message: word + "  " + said}.command("notice"))
	_, err := io.WriteString(w, b.String())
	return err
}

// minorGroup returns the failures that do not block as a folded group of the log, one on each line.
func minorGroup(r report.Report) string {
	minor := groupBy(WorstFirst(filter(withoutHiddenAdvice(r).Results, isMinor)), findingKey)
	if len(minor) == 0 {
		return ""
	}
	var b lineBuilder
	b.add("::group::" + Plural(len(minor), "failure") + " that " + wordForm(len(minor), "does", "do") + " not block")
	for _, g := range minor {
		x := g.newest()
		b.add("  " + withoutCommands(x.ID+" ("+joinParts(levelText(x), revisionsText(r, g))+"): "+resultTitle(x)))
	}
	b.add("::endgroup::")
	return b.String()
}

// AnnotateError writes the workflow command for an error that is not a finding: a usage error or a fault of mcpcheck.
func AnnotateError(w io.Writer, message string) error {
	_, err := io.WriteString(w, annotation{title: "mcpcheck", message: message}.command("error"))
	return err
}

// annotation is the content of a workflow command. The file may be empty.
type annotation struct {
	file    string
	line    int
	title   string
	message string
}

// annotationErrors returns the findings that make the run fail.
func annotationErrors(r report.Report, place Location) (all []annotation) {
	if r.Problem != "" {
		problem := shortenLines(r.Problem, annotationLines, annotationWidth)
		all = append(all, annotation{place.pathOrDefault(), 1, "mcpcheck", problem})
	}
	for _, g := range groupBy(WorstFirst(filter(r.Results, isFailure)), findingKey) {
		x := g.newest()
		title := fmt.Sprintf("%s (%s)", x.ID, joinParts(shortGate(x), revisionsText(r, g)))
		text := []string{
			x.RequirementText(), shortenLines(x.Message, annotationLines, annotationWidth), gateNote(x),
			labelled("fix: ", x.Fix), labelled("spec: ", x.Spec),
		}
		all = append(all, annotation{place.pathOrDefault(), 1, title, strings.Join(nonEmpty(text...), "\n")})
	}
	return all
}

// annotationWarnings returns the stale entries of the baseline.
func annotationWarnings(r report.Report, place Location) (all []annotation) {
	for _, s := range staleBaseline(r) {
		all = append(all, annotation{
			file: place.relativePath(r.Baseline.File), line: s.Line,
			title:   "stale entry " + s.Entry,
			message: s.Reason + "\nfix: " + staleFix,
		})
	}
	return all
}

// limitAnnotations cuts annotations at the limit. The last one then says how many are not shown.
func limitAnnotations(all []annotation, noun string) []annotation {
	if len(all) <= annotationLimit {
		return all
	}
	shown := all[:annotationLimit-1]
	more := fmt.Sprintf("%d more of %d of this kind (%s) are in the log and in the reports",
		len(all)-len(shown), len(all), noun)
	return append(shown[:len(shown):len(shown)], annotation{title: "mcpcheck", message: more})
}

// command returns the annotation as a workflow command. Values are escaped as in @actions/core (actions/toolkit,
// packages/core/src/command.ts), so that they cannot end the line or a parameter.
func (a annotation) command(name string) string {
	var parameters []string
	if a.file != "" {
		parameters = append(parameters, "file="+commandValueEscaper.Replace(a.file),
			fmt.Sprintf("line=%d", max(a.line, 1)))
	}
	parameters = append(parameters, "title="+commandValueEscaper.Replace(a.title))
	return "::" + name + " " + strings.Join(parameters, ",") + "::" + commandTextEscaper.Replace(a.message) + "\n"
}

var (
	commandTextEscaper  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandValueEscaper = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
