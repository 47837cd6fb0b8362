package reporters

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// pageRequirement is a requirement in the index of a page, with a result for each tested revision.
type pageRequirement struct {
	ID    string `json:"id"`
	Area  string `json:"area"`
	Title string `json:"title"`
	// Statement is the requirement as a sentence.
	Statement string       `json:"statement,omitempty"`
	Checklist bool         `json:"checklist,omitempty"`
	Results   []pageResult `json:"results"`
}

// pageResult is the part of a result in the index.
type pageResult struct {
	Revision string `json:"revision"`
	// Outcome is gating, fail, known, inconclusive, skip, pass or error.
	Outcome string `json:"outcome"`
	Verdict string `json:"verdict"`
	Level   string `json:"level"`
	Summary string `json:"said,omitempty"`
	// DetailIndex is the line of the result's details.
	DetailIndex int `json:"at"`
}

// pageDetail is the rest of a result.
type pageDetail struct {
	Level string `json:"level"`
	Gate  string `json:"gate"`
	// Profiles are the profiles under which the result blocks.
	Profiles []string         `json:"profiles"`
	Reason   report.Reason    `json:"reason,omitempty"`
	Message  string           `json:"message,omitempty"`
	Note     string           `json:"note,omitempty"`
	Findings []report.Finding `json:"findings,omitempty"`
	// Truncated means that there are more findings.
	Truncated   bool                      `json:"more,omitempty"`
	Subjects    []string                  `json:"subjects,omitempty"`
	Spec        string                    `json:"spec,omitempty"`
	Fix         string                    `json:"fix,omitempty"`
	Known       string                    `json:"known,omitempty"`
	Asked       []catalogue.DirectoryRule `json:"asked,omitempty"`
	TriggeredBy []string                  `json:"provokedBy,omitempty"`
	Seconds     float64                   `json:"seconds"`
	Wire        []report.Line             `json:"wire,omitempty"`
}

// pageIndex is the head of the first block of a page, before its requirements.
type pageIndex struct {
	Revisions []string            `json:"revisions"`
	Profile   catalogue.Profile   `json:"profile"`
	Profiles  []catalogue.Profile `json:"profiles"`
}

// pageBlocks returns the blocks of JSON in a page: the index, which is an array of a pageIndex and the requirements,
// and the details, which are one JSON value on each line.
func pageBlocks(r report.Report, o Options) (index, details string, err error) {
	about := pageIndex{append([]string{}, revisionsOf(r.Revisions)...), r.Profile, shownProfiles(r)}
	var requirements []any
	var all []pageDetail
	for _, g := range groupBy(r.Results, func(x report.Result) string { return x.ID }) {
		q := newPageRequirement(g.newest(), o)
		for _, x := range g {
			q.Results = append(q.Results, newPageResult(x, len(all)))
			all = append(all, newPageDetail(x, r, o))
		}
		requirements = append(requirements, q)
	}
	index, err = jsonLines(append([]any{about}, requirements...), ",")
	if err != nil {
		return "", "", err
	}
	details, err = jsonLines(all, "")
	return "[" + index + "]", details, err
}

func newPageRequirement(r report.Result, o Options) pageRequirement {
	q := pageRequirement{ID: r.ID, Area: r.Area(), Title: r.RequirementText()}
	if o.FindRequirement != nil {
		if entry, ok := o.FindRequirement(r.ID); ok {
			q.Statement, q.Checklist = sentence(entry.Statement), entry.Checklist
		}
	}
	return q
}

func newPageResult(r report.Result, at int) pageResult {
	said := ""
	if r.Verdict != catalogue.Pass {
		said = resultTitle(r)
	}
	return pageResult{
		Revision: r.Revision, Outcome: outcome(r), Verdict: string(r.Verdict), Level: r.Level.String(),
		Summary: said, DetailIndex: at,
	}
}

// outcome returns the verdict of a result, with a distinction of failures by whether they block.
func outcome(r report.Result) string {
	switch {
	case r.Verdict == catalogue.Error:
		return "error"
	case r.Gates:
		return "gating"
	case acceptedText(r) != "":
		return "known"
	}
	return string(r.Verdict)
}

func newPageDetail(r report.Result, rep report.Report, o Options) pageDetail {
	d := pageDetail{
		Level: levelText(r), Gate: countsText(r), Profiles: []string{}, Reason: r.Reason,
		Message: r.Message, Note: r.Note,
		Findings: r.Findings, Truncated: r.Truncated, Subjects: subjects(r), Spec: r.Spec, Fix: r.Fix,
		Asked:       r.DirectoryRules,
		TriggeredBy: r.TriggeredBy, Seconds: r.Seconds, Wire: r.Evidence,
	}
	d.Known = acceptedText(r)
	for _, p := range shownProfiles(rep) {
		if gatesUnderProfile(p, rep, r, o) {
			d.Profiles = append(d.Profiles, string(p))
		}
	}
	return d
}

// encodeLine writes a value as JSON on one line, with "<", ">", "&" and all invisible characters escaped.
func encodeLine(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	writeVisible(out, text)
	return out.Flush()
}
