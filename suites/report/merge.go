package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"reflect"
	"slices"
	"strings"
	"time"
)

// NamedReport is a report and where it comes from.
type NamedReport struct {
	Name string // the file
	Report
}

// MergeReports puts reports together: the shards of one run, or runs of one server in several revisions. The exit code,
// the counts and what Problem says of the results are for who concludes the report. duplicates names the results that
// several reports have with the same verdict, of which the first stands. An error names what does not go together. The
// catalogue says which capability a requirement is about.
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
	for _, beside := range []bool{false, true} { // results stand where their requirements are at home
		for _, r := range reports {
			if err := m.add(r, beside); err != nil {
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

// shard is which part of a run the report is of; that of a whole run is 0/0.
func (r Report) shard() ShardInfo {
	if r.Options == nil || r.Options.Shard == nil {
		return ShardInfo{}
	}
	return *r.Options.Shard
}

// conflict says why two reports are not of one run; nil when they may be.
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

// comparableTarget is what has to be the same of how a server was reached. A command may serve at another port each
// time.
func comparableTarget(t TargetInfo) TargetInfo {
	if len(t.Command) > 0 {
		t.URL = ""
	}
	return t
}

// comparableOptions are the options that have to be the same.
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

// differences shows two values, of objects only the members that differ.
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

// timeSpan is when the first of the runs began, and how long it was until the last one ended.
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

// mergedOptions are those of a whole run that asks for all that the reports have.
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

// problems are why runs did not come to their end, each once; where not all say the same, with the report's name.
func problems(reports []NamedReport) (said []string) {
	alike := !slices.ContainsFunc(reports, func(r NamedReport) bool { return r.Problem != reports[0].Problem })
	if alike {
		return NonEmpty(reports[0].Problem)
	}
	for _, r := range reports {
		if r.Problem != "" {
			said = append(said, r.Name+": "+r.Problem)
		}
	}
	return said
}

func NonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// missingShards says which shards of the run are not there.
func missingShards(reports []NamedReport) (said []string) {
	have := map[int]bool{}
	for _, r := range reports {
		have[r.shard().Index] = true
	}
	for i := range reports[0].shard().Of {
		if !have[i+1] {
			said = append(said, fmt.Sprintf("shard %v is missing", ShardInfo{i + 1, reports[0].shard().Of}))
		}
	}
	return said
}

// resultKey is what only one result of a run has.
type resultKey struct{ revision, id string }

// merger puts the results of reports together, which come in the order of their shards.
type merger struct {
	results          []Result
	reportNames      []string // the report, by result
	assignedVerdicts []catalogue.Verdict
	index            map[resultKey]int
	duplicates       []duplicate
}

// duplicate is a result that two reports have.
type duplicate struct{ id, first, second string }

// Add adds the results of a report that are at home there, or those that are not.
func (m *merger) add(r NamedReport, beside bool) error {
	for _, x := range r.Results {
		if x.Secondary != beside {
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

// named are the duplicates, in one line for each pair of reports.
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
		said := ids[p][0]
		if n := len(ids[p]) - 1; n > 0 {
			said += fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, fmt.Sprintf("%s and %s both have %s; the first stands", p.first, p.second, said))
	}
	return lines
}

// assignedVerdict is what the coverage of the result's own shard counts; empty where it is of another one.
func assignedVerdict(r Result) catalogue.Verdict {
	if r.Secondary {
		return ""
	}
	return r.Verdict
}

// mergeWatch is what a watch comes to that two shards judged, each by what it had on the wire: a fail of one is a fail,
// and what one has seen is seen. Of two fails the stronger one is told, and of two alike what both found.
func mergeWatch(a, b Result) Result {
	beside, main, other := a.Secondary && b.Secondary, a, b
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
	main.Secondary = beside
	return main
}

// resultRank is how much a result tells of the whole run. That a watch could not judge what it had on the wire of
// another shard tells nothing, and that one saw nothing less than why another one left out what it saw.
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

// together is a fail with what another one found beside.
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

// orderedResults are the results as a whole run has them: by revision, then in the order of the catalogue, of which
// each shard has a piece.
func (m *merger) orderedResults(revisions []RevisionInfo) (ordered []Result) {
	for _, beside := range []bool{false, true} {
		for _, judged := range revisions {
			for _, r := range m.results {
				if r.Revision == judged.Revision && r.Secondary == beside {
					ordered = append(ordered, r)
				}
			}
		}
	}
	for _, r := range m.results { // of a server that could not be tested
		if !slices.ContainsFunc(revisions, func(x RevisionInfo) bool { return x.Revision == r.Revision }) {
			ordered = append(ordered, r)
		}
	}
	return ordered
}

// totalCoverage adds up what each shard has covered of its part of the catalogue. A requirement of which another shard
// has told more is counted as that.
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

// removeExercised takes out of the capabilities that a shard has not exercised those that another one has.
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
