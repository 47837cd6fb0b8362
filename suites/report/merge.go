package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// NamedReport is a report with the name of its file.
type NamedReport struct {
	Name string
	Report
}

// MergeReports merges the reports of the shards of one run, or of runs of one server in several revisions. duplicates
// describes results that several reports have with the same verdict, of which the first is kept. It returns an error if
// the reports do not belong together. The catalogue says which capability a requirement is about. The caller still has
// to conclude the report: its counts, exit code and problem cover only what is merged.
func MergeReports(reports []NamedReport, entries catalogue.Catalogue) (merged Report, duplicates []string, err error) {
	reports = slices.Clone(reports)
	slices.SortStableFunc(reports, func(a, b NamedReport) int { return cmp.Compare(a.shard().Index, b.shard().Index) })
	first := reports[0]
	for _, other := range reports[1:] {
		if err := conflict(first, other); err != nil {
			return merged, nil, err
		}
	}
	merged = first.Report
	merged.Started, merged.Seconds = timeSpan(reports)
	merged.Options, merged.Revisions = mergedOptions(reports), mergedRevisions(reports)
	m := merger{index: map[resultKey]int{}}
	for _, secondary := range []bool{false, true} { // results of the responsible shard come first
		for _, r := range reports {
			if err := m.add(r, secondary); err != nil {
				return merged, nil, err
			}
		}
	}
	m.resolveCauses(merged.Profile)
	duplicates = m.duplicateLines()
	merged.Results = m.orderedResults(merged.Revisions)
	merged.Coverage = m.totalCoverage(reports)
	removeExercised(merged.Coverage, merged.Results, entries)
	merged.Problem = strings.Join(slices.Compact(slices.Concat(problems(reports), missingShards(reports))), "\n")
	merged.Counts, merged.ExitCode = Count(merged.Results), 0
	if merged.Baseline != nil {
		merged.Baseline = &Baseline{File: merged.Baseline.File}
	}
	return merged, duplicates, nil
}

// shard returns which part of a run the report covers; 0/0 for a whole run.
func (r Report) shard() ShardInfo {
	if r.Options == nil || r.Options.Shard == nil {
		return ShardInfo{}
	}
	return *r.Options.Shard
}

// conflict says why two reports cannot be of one run; nil when they can.
func conflict(a, b NamedReport) error {
	for _, part := range []struct {
		what string
		a, b any
	}{
		{"version of mcpcheck", a.Program, b.Program},
		{"transport", a.Target.Transport, b.Target.Transport},
		{"target", comparableTarget(a.Target), comparableTarget(b.Target)},
		{"server", []string{a.Server.Name, a.Server.Version}, []string{b.Server.Name, b.Server.Version}},
		{"profile", a.Profile, b.Profile},
		{"number of shards", a.shard().Of, b.shard().Of},
		{"options", comparableOptions(a.Options), comparableOptions(b.Options)},
		{"baseline", baselineFile(a.Baseline), baselineFile(b.Baseline)},
	} {
		if !reflect.DeepEqual(part.a, part.b) && !(part.what == "server" && (a.Problem != "" || b.Problem != "")) {
			was, is := differences(part.a, part.b)
			return fmt.Errorf("%s and %s are not of one run: %s is %s and %s", a.Name, b.Name, part.what, was, is)
		}
	}
	return nil
}

// comparableTarget returns the part of the target that has to be the same in all reports. A command may listen on
// another port each time.
func comparableTarget(t TargetInfo) TargetInfo {
	if len(t.Command) > 0 {
		t.URL = ""
	}
	return t
}

// comparableOptions returns the options that have to be the same in all reports.
func comparableOptions(o *OptionsInfo) (out OptionsInfo) {
	if o != nil {
		out = *o
		out.Shard, out.Protocol = nil, ""
	}
	return out
}

func baselineFile(b *Baseline) string {
	if b == nil {
		return "none"
	}
	return b.File
}

// differences returns two values as JSON; of objects only the members that differ.
func differences(a, b any) (was, is string) {
	var x, y map[string]any
	was, is = string(text.CompactJSON(a)), string(text.CompactJSON(b))
	if json.Unmarshal([]byte(was), &x) != nil || json.Unmarshal([]byte(is), &y) != nil {
		return was, is
	}
	for name := range x {
		if reflect.DeepEqual(x[name], y[name]) {
			delete(x, name)
			delete(y, name)
		}
	}
	return string(text.CompactJSON(x)), string(text.CompactJSON(y))
}

// timeSpan returns when the first run began, and the seconds until the last one ended.
func timeSpan(reports []NamedReport) (began time.Time, seconds float64) {
	if began = reports[0].Started; len(reports) == 1 {
		return began, reports[0].Seconds
	}
	for _, r := range reports {
		if r.Started.Before(began) {
			began = r.Started
		}
	}
	for _, r := range reports {
		seconds = max(seconds, r.Started.Sub(began).Seconds()+r.Seconds)
	}
	return began, RoundMillis(seconds)
}

// mergedOptions returns the options of a whole run that requests everything the reports cover.
func mergedOptions(reports []NamedReport) *OptionsInfo {
	if reports[0].Options == nil {
		return nil
	}
	merged := *reports[0].Options
	merged.Shard = nil
	var asked []string
	for _, r := range reports {
		if !slices.Contains(asked, r.Options.Protocol) {
			asked = append(asked, r.Options.Protocol)
		}
	}
	merged.Protocol = strings.Join(asked, ", ")
	return &merged
}

func mergedRevisions(reports []NamedReport) (merged []RevisionInfo) {
	for _, r := range reports {
		for _, judged := range r.Revisions {
			if !slices.ContainsFunc(merged, func(x RevisionInfo) bool { return x.Revision == judged.Revision }) {
				merged = append(merged, judged)
			}
		}
	}
	return merged
}

// problems returns why runs are not complete: the common reason, or each one with the name of its report.
func problems(reports []NamedReport) (texts []string) {
	alike := !slices.ContainsFunc(reports, func(r NamedReport) bool { return r.Problem != reports[0].Problem })
	if alike {
		return NonEmpty(reports[0].Problem)
	}
	for _, r := range reports {
		if r.Problem != "" {
			texts = append(texts, r.Name+": "+r.Problem)
		}
	}
	return texts
}

// NonEmpty returns the texts that are not empty.
func NonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// missingShards returns a text for each shard of the run without a report.
func missingShards(reports []NamedReport) (texts []string) {
	have := map[int]bool{}
	for _, r := range reports {
		have[r.shard().Index] = true
	}
	for i := range reports[0].shard().Of {
		if !have[i+1] {
			texts = append(texts, fmt.Sprintf("shard %v is missing", ShardInfo{i + 1, reports[0].shard().Of}))
		}
	}
	return texts
}

// resultKey identifies a result of a run.
type resultKey struct{ revision, id string }

// merger merges the results of reports, which are added in the order of their shards.
type merger struct {
	// results, reportNames and assignedVerdicts have an element per result.
	results          []Result
	reportNames      []string            // name of the report with the result
	assignedVerdicts []catalogue.Verdict // see assignedVerdict
	index            map[resultKey]int
	duplicates       []duplicate
}

// duplicate is a result that two reports have.
type duplicate struct{ id, first, second string }

// add adds the results of a report for which its shard is responsible, or the secondary ones.
func (m *merger) add(r NamedReport, secondary bool) error {
	for _, x := range r.Results {
		if x.Secondary != secondary {
			continue
		}
		key := resultKey{x.Revision, x.ID}
		i, twice := m.index[key]
		if !twice {
			m.index[key] = len(m.results)
			m.results, m.reportNames, m.assignedVerdicts = append(m.results, x), append(m.reportNames,
				r.Name), append(m.assignedVerdicts, assignedVerdict(x))
			continue
		}
		first := m.results[i]
		switch {
		case x.Secondary || first.Secondary:
			m.results[i] = mergeWatch(first, x)
		case first.Verdict != x.Verdict:
			return fmt.Errorf("%s and %s disagree on %s in %s, which is %s and %s; leave one of them out",
				m.reportNames[i], r.Name, x.ID, x.Revision, first.Verdict, x.Verdict)
		default:
			m.duplicates = append(m.duplicates, duplicate{x.ID, m.reportNames[i], r.Name})
		}
	}
	return nil
}

// duplicateLines describes the duplicates, in one line for each pair of reports.
func (m *merger) duplicateLines() (lines []string) {
	type pair struct{ first, second string }
	ids, pairs := map[pair][]string{}, []pair(nil)
	for _, d := range m.duplicates {
		p := pair{d.first, d.second}
		if ids[p] == nil {
			pairs = append(pairs, p)
		}
		ids[p] = append(ids[p], d.id)
	}
	for _, p := range pairs {
		names := ids[p][0]
		if n := len(ids[p]) - 1; n > 0 {
			names += fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, fmt.Sprintf("%s and %s both have %s; the first stands", p.first, p.second, names))
	}
	return lines
}

// assignedVerdict returns the verdict that the coverage of the result's own shard counts; empty for a secondary result.
func assignedVerdict(r Result) catalogue.Verdict {
	if r.Secondary {
		return ""
	}
	return r.Verdict
}

// mergeWatch merges the results of a watch in two shards, each of which has judged its own sessions. A fail in one of
// them is a fail. Of two fails that of the higher level is kept; of two at the same level the findings are combined.
func mergeWatch(a, b Result) Result {
	secondary, main, other := a.Secondary && b.Secondary, a, b
	if more := cmp.Compare(resultRank(b),
		resultRank(a)); more > 0 || more == 0 && a.Verdict == catalogue.Fail && b.Level > a.Level {
		main, other = b, a
	}
	if !main.Gates && main.Verdict == catalogue.Fail && other.Gates {
		main, other = other, main
	}
	if main.Verdict == catalogue.Fail && other.Verdict == catalogue.Fail && main.Level == other.Level {
		main = mergeFails(main, other)
	}
	main.Secondary = secondary
	return main
}

// resultRank returns how much a result says about the whole run. A secondary result that is inconclusive says least. A
// shard that observed nothing to judge says less than one that explains why it did not judge what it observed.
func resultRank(r Result) int {
	nothing := map[catalogue.Verdict]Reason{catalogue.Skip: NotObserved, catalogue.Inconclusive: CallsOff}
	switch {
	case r.Secondary && r.Verdict == catalogue.Inconclusive:
		return -1
	case r.Reason != "" && r.Reason == nothing[r.Verdict]:
		return slices.Index([]catalogue.Verdict{catalogue.Skip, catalogue.Inconclusive}, r.Verdict)
	}
	return 2 + slices.Index([]catalogue.Verdict{catalogue.Skip, catalogue.Inconclusive, catalogue.Pass, catalogue.Error,
		catalogue.Fail}, r.Verdict)
}

// mergeFails returns a fail with the findings of another one added.
func mergeFails(r, other Result) Result {
	for _, x := range other.Findings {
		if slices.Contains(r.Findings, x) {
			continue
		}
		if len(r.Findings) >= MaxFindings {
			r.Truncated = true
			continue
		}
		r.Findings = append(slices.Clip(r.Findings), x)
	}
	if !strings.Contains(r.Message, other.Message) && len(r.Findings) <= MaxFindings {
		r.Message += "\n" + other.Message
		r.Evidence = CapLines(slices.Concat(r.Evidence, other.Evidence))
	}
	for _, subject := range other.Subjects {
		if !slices.Contains(r.Subjects, subject) {
			r.Subjects = append(slices.Clip(r.Subjects), subject)
		}
	}
	return r
}

// orderedResults returns the results in the order of a whole run: by revision, then in the order of the catalogue, of
// which each shard has a section.
func (m *merger) orderedResults(revisions []RevisionInfo) (ordered []Result) {
	for _, secondary := range []bool{false, true} {
		for _, judged := range revisions {
			for _, r := range m.results {
				if r.Revision == judged.Revision && r.Secondary == secondary {
					ordered = append(ordered, r)
				}
			}
		}
	}
	for _, r := range m.results { // results of a server that could not be tested
		if !slices.ContainsFunc(revisions, func(x RevisionInfo) bool { return x.Revision == r.Revision }) {
			ordered = append(ordered, r)
		}
	}
	return ordered
}

// totalCoverage returns the sum of what all shards have covered. A requirement whose verdict was changed by another
// shard is counted with the new verdict.
func (m *merger) totalCoverage(reports []NamedReport) (sum []Coverage) {
	index := map[string]int{}
	type part struct {
		revision string
		shard    int
	}
	added := map[part]bool{}
	for _, r := range reports {
		for _, c := range r.Coverage {
			i, known := index[c.Revision]
			p := part{c.Revision, r.shard().Index}
			if !known {
				i, index[c.Revision] = len(sum), len(sum)
				sum = append(sum, Coverage{Revision: c.Revision})
			}
			if !added[p] {
				added[p] = true
				sum[i].add(c)
			}
		}
	}
	for i, r := range m.results {
		c, known := index[r.Revision]
		if was := m.assignedVerdicts[i]; known && was != "" && was != r.Verdict && r.Area() != Advice {
			*sum[c].count(was)--
			*sum[c].count(r.Verdict)++
		}
	}
	return sum
}

// removeExercised removes the capabilities that some shard has exercised from those that others have not.
func removeExercised(coverage []Coverage, results []Result, entries catalogue.Catalogue) {
	capability := map[string]string{}
	for _, r := range entries {
		capability[r.ID] = r.Capability
	}
	for i, c := range coverage {
		slices.Sort(c.Unexercised)
		coverage[i].Unexercised = slices.DeleteFunc(slices.Compact(c.Unexercised), func(name string) bool {
			return slices.ContainsFunc(results, func(r Result) bool {
				return r.Revision == c.Revision && capability[r.ID] == name && (r.Verdict == catalogue.Pass ||
					r.Verdict == catalogue.Fail)
			})
		})
	}
}
