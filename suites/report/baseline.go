package report

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// KnownFail is an entry of a baseline: failures that the operator accepts for now. Empty members match everything.
type KnownFail struct {
	// Check is the id of a check, or a glob of ids.
	Check string `yaml:"check"`
	// Revision is the revision in which the failure is accepted; empty is all.
	Revision string `yaml:"revision"`
	// Transport is the transport over which it is accepted; empty is all.
	Transport string `yaml:"transport"`
	// Subject is the tool, resource … for which it is accepted; empty is all.
	Subject string `yaml:"subject"`
	// Reason says why the failure is accepted.
	Reason string `yaml:"reason"`
	// Expires is the last day on which it is accepted, as 2026-12-31; empty is never.
	Expires string `yaml:"expires"`
	// Flaky says that the check may also pass.
	Flaky bool `yaml:"flaky"`

	// Line is the line of the entry in the file.
	Line int `yaml:"-"`
}

// SameAs reports whether two entries are about the same failures.
func (k KnownFail) SameAs(other KnownFail) bool {
	return k.Check == other.Check && k.Revision == other.Revision && k.Transport == other.Transport &&
		k.Subject == other.Subject
}

// KnownFails are the entries of a baseline. Apply is called for each result, Stale at the end of the run.
type KnownFails []KnownFail

// Apply marks a fail as known, so that it does not block, if an entry covers each of its subjects. today is the date
// for entries that expire.
func (all KnownFails) Apply(r *Result, transport string, today time.Time) {
	if r.Verdict != catalogue.Fail {
		return
	}
	subjects := r.Subjects
	if len(subjects) == 0 {
		subjects = []string{""}
	}
	first := -1
	for _, subject := range subjects {
		at := slices.IndexFunc(all, func(k KnownFail) bool {
			return !k.isExpired(today) && k.isAbout(*r, transport) && (k.Subject == "" || k.Subject == subject)
		})
		if at < 0 {
			return
		}
		if first < 0 {
			first = at
		}
	}
	k := all[first]
	r.Known = &KnownInfo{Reason: k.Reason, Expires: k.Expires, Flaky: k.Flaky, Line: k.Line}
	r.Gates, r.GatedBy = false, catalogue.NoGate
}

// Stale returns the entries that no longer apply after a complete run. entries is the whole catalogue; wanted selects
// what the run was to try, since an entry is judged only by what the run has tried.
func (all KnownFails) Stale(
	report *Report, today time.Time, entries catalogue.Catalogue, wanted catalogue.Selector,
) (stale []StaleEntry) {
	for _, k := range all {
		if why := k.staleReason(report, today, entries, wanted); why != "" {
			stale = append(stale, StaleEntry{Entry: k.Check, Line: k.Line, Reason: why})
		}
	}
	return stale
}

// staleReason says why the entry no longer applies; empty when it does, or when the run does not show it.
func (k KnownFail) staleReason(
	report *Report, today time.Time, entries catalogue.Catalogue, wanted catalogue.Selector,
) string {
	if !slices.ContainsFunc(entries, func(r *catalogue.Requirement) bool { return k.Matches(r.ID) }) {
		return k.unknownCheckReason(entries)
	}
	some, all := k.wasTested(report, entries, wanted)
	verdicts, open := k.verdicts(report)
	has := func(v catalogue.Verdict) bool { return slices.Contains(verdicts, v) }
	switch {
	case !some:
		return ""
	case k.isExpired(today):
		return "it expired on " + k.Expires
	case len(verdicts) == 0:
		return "no check tries it yet"
	case has(catalogue.Fail) || has(catalogue.Error) || k.Flaky || !all || !has(catalogue.Pass) || len(open) > 0 &&
		!k.isGlob():
		return ""
	case len(open) > 0:
		return "what could be tried of it passes now, but not " + strings.Join(open, ", ") + ", which could not be"
	}
	return "it passes now"
}

// isGlob reports whether the entry may be about several checks.
func (k KnownFail) isGlob() bool { return strings.ContainsAny(k.Check, `*?[\`) }

// unknownCheckReason says that the entry matches no check.
func (k KnownFail) unknownCheckReason(entries catalogue.Catalogue) string {
	const list = "; mcpcheck list shows them all"
	if k.isGlob() {
		return "it matches no check" + list
	}
	var names []string
	for _, r := range entries {
		if glob := r.Area() + "/*"; !slices.Contains(names, glob) {
			names = append(names, glob)
		}
		names = append(names, r.ID)
	}
	return "there is no such check" + text.Suggestion(k.Check, names, list)
}

// wasTested reports whether the run was to try some, and all, of the checks that the entry is about, in the run's
// revisions and over its transport.
func (k KnownFail) wasTested(report *Report, entries catalogue.Catalogue, wanted catalogue.Selector) (some, all bool) {
	all = true
	for _, r := range entries {
		if !k.Matches(r.ID) || !k.appliesTo(r, report) {
			continue
		}
		if wanted(r) {
			some = true
		} else {
			all = false
		}
	}
	return some, all
}

// appliesTo reports whether a requirement applies in a revision that was judged and that the entry is about, over the
// transport of both.
func (k KnownFail) appliesTo(r *catalogue.Requirement, report *Report) bool {
	transport := report.Target.Transport
	over := k.Transport == "" || k.Transport == transport
	return over && slices.ContainsFunc(report.Revisions, func(judged RevisionInfo) bool {
		_, applies := r.JudgingRevision(judged.Revision, transport)
		return applies && (k.Revision == "" || k.Revision == judged.Revision)
	})
}

// verdicts returns the verdicts of the results that the entry is about; open are the checks that had none on the
// server.
func (k KnownFail) verdicts(report *Report) (verdicts []catalogue.Verdict, open []string) {
	for _, r := range report.Results {
		if !k.isAbout(r, report.Target.Transport) {
			continue
		}
		v := k.verdict(r)
		verdicts = append(verdicts, v)
		if v == catalogue.Inconclusive && !slices.Contains(open, r.ID) {
			open = append(open, r.ID)
		}
	}
	return verdicts, open
}

// verdict returns the verdict of a result in view of the entry's subject: a fail of other subjects is a pass, and a
// fail that names no subjects is inconclusive.
func (k KnownFail) verdict(r Result) catalogue.Verdict {
	switch {
	case r.Verdict != catalogue.Fail || k.Subject == "" || slices.Contains(r.Subjects, k.Subject):
		return r.Verdict
	case len(r.Subjects) == 0:
		return catalogue.Inconclusive
	}
	return catalogue.Pass
}

// isAbout reports whether the entry is about the check, revision and transport of a result, whatever its verdict.
func (k KnownFail) isAbout(r Result, transport string) bool {
	return k.Matches(r.ID) &&
		(k.Revision == "" || k.Revision == r.Revision) && (k.Transport == "" || k.Transport == transport)
}

// Matches reports whether the entry is about the check with that id.
func (k KnownFail) Matches(id string) bool {
	ok, _ := path.Match(k.Check, id)
	return ok || k.Check == id
}

// isExpired reports whether the last day of the entry is over.
func (k KnownFail) isExpired(today time.Time) bool {
	return k.Expires != "" && today.Format(time.DateOnly) > k.Expires
}
