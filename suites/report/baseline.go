package report

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// KnownFail is an entry of a baseline: fails that are accepted for now.
type KnownFail struct {
	Check     string `yaml:"check"`     // id, or glob of ids
	Revision  string `yaml:"revision"`  // in this one only; empty: in all
	Transport string `yaml:"transport"` // over this one only; empty: over all
	Subject   string `yaml:"subject"`   // of this tool, resource … only; empty: of all
	Reason    string `yaml:"reason"`    // why it is accepted
	Expires   string `yaml:"expires"`   // last day on which it is, as 2026-12-31; empty: never
	Flaky     bool   `yaml:"flaky"`     // it may pass as well

	Line int `yaml:"-"` // in the file
}

// SameAs reports whether two entries are about the same fails, whatever else they say.
func (k KnownFail) SameAs(other KnownFail) bool {
	return k.Check == other.Check && k.Revision == other.Revision && k.Transport == other.Transport &&
		k.Subject == other.Subject
}

// KnownFails are the entries of a baseline. Apply is for each result, StaleEntry for the end of the run.
type KnownFails []KnownFail

// Apply makes a fail a known one, which does not gate, if each of its subjects is covered by an entry.
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

// StaleEntry finds the entries that do not hold any more after a run that came to its end. The catalogue is every
// requirement, wanted what the run was to try of it: an entry is judged only by what the run tried.
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

// staleReason says why the entry does not hold any more; empty when it does, or when the run does not tell.
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

// unknownCheckReason says that there is nothing of that name.
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

// tried reports whether the run was to try some, and all, of what the entry is about in the revisions and over the
// transport of the run.
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

// appliesTo reports whether a requirement that the entry names holds in one of its revisions that was judged, over the
// transport.
func (k KnownFail) appliesTo(r *catalogue.Requirement, report *Report) bool {
	transport := report.Target.Transport
	over := k.Transport == "" || k.Transport == transport
	return over && slices.ContainsFunc(report.Revisions, func(judged RevisionInfo) bool {
		_, applies := r.JudgingRevision(judged.Revision, transport)
		return applies && (k.Revision == "" || k.Revision == judged.Revision)
	})
}

// verdicts are what the results say of the entry; open are the checks that they do not tell of.
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

// verdict is what a result says of the entry. For a subject that is not among those that failed a fail is a pass; one
// that names no subject does not tell.
func (k KnownFail) verdict(r Result) catalogue.Verdict {
	switch {
	case r.Verdict != catalogue.Fail || k.Subject == "" || slices.Contains(r.Subjects, k.Subject):
		return r.Verdict
	case len(r.Subjects) == 0:
		return catalogue.Inconclusive
	}
	return catalogue.Pass
}

// isAbout reports whether the entry says something of a result, be it a fail or not.
func (k KnownFail) isAbout(r Result, transport string) bool {
	return k.Matches(r.ID) &&
		(k.Revision == "" || k.Revision == r.Revision) && (k.Transport == "" || k.Transport == transport)
}

// Matches reports whether the entry is about the check of that id.
func (k KnownFail) Matches(id string) bool {
	ok, _ := path.Match(k.Check, id)
	return ok || k.Check == id
}

// isExpired reports whether the last day of the entry is over.
func (k KnownFail) isExpired(today time.Time) bool {
	return k.Expires != "" && today.Format(time.DateOnly) > k.Expires
}
