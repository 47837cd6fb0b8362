package reporters

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// HTML writes the report as one page that is complete in itself: nothing on it leads to a request, which its own
// Content Security Policy enforces. The template writes the head. The script of the page makes the rest from two blocks
// of JSON: an index of all requirements, and the details of each result, which it reads only when a reader opens the
// result.
//
// Text from a server is untrusted. The template escapes it, the blocks do not contain "<", and the script inserts it as
// text only: the policy forbids to make markup of text, by Trusted Types.
func HTML(w io.Writer, r report.Report, o Options) error {
	r = printableReport(r)
	if isUnreachable(r) {
		r.Coverage, r.Revisions, r.Results = nil, nil, nil
	}
	head := newPageHead(r, o) // before advice is removed, because other profiles may require it
	r = withoutHiddenAdvice(r)
	index, details, err := pageBlocks(r, o)
	if err != nil {
		return err
	}
	return pageTemplate.Execute(w, page{
		Policy: pagePolicy, Style: template.CSS(pageStyle), Scripts: pageScripts,
		Index: template.JS(index), Details: template.JS(details),
		Head: head, Failures: pageFailures(r),
	})
}

//go:embed html/page.html
var pageText string

//go:embed html/page.css
var pageStyle string

//go:embed html/common.js
var commonScript string

//go:embed html/page.js
var pageScript string

//go:embed html/evidence.js
var pageEvidence string

var (
	pageTemplate = template.Must(template.New("page").Parse(pageText))
	pageScripts  = []template.JS{template.JS(commonScript), template.JS(pageEvidence), template.JS(pageScript)}
	pagePolicy   = securityPolicy(pageStyle, pageScripts)
)

// securityPolicy returns the Content Security Policy of a page, which allows its own style and scripts and nothing
// else.
func securityPolicy(style string, scripts []template.JS) string {
	hashes := mapEach(scripts, func(script template.JS) string { return sourceHash(string(script)) })
	return strings.Join([]string{
		"default-src 'none'", "img-src data:", "style-src " + sourceHash(style),
		"script-src " + strings.Join(hashes, " "),
		"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}

// sourceHash returns the source expression by which a policy allows this script or style and no other. (Content
// Security Policy Level 3, section 2.3.1)
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is the data of the template.
type page struct {
	Policy         string
	Style          template.CSS
	Scripts        []template.JS
	Index, Details template.JS
	Head           pageHead
	Failures       []pageFailure
}

// pageHead is the outcome of the run.
type pageHead struct {
	Outcome    string // good, bad or odd
	Conclusion string
	Counts     string
	Server     string
	Target     string
	Facts      []pageFact
	Problem    string
	Stale      []string
	// Fix says what to do about stale entries.
	Fix      string
	Profiles []pageProfile
	Notes    []pageNote
}

// pageFact is a name and its value.
type pageFact struct{ Name, Value string }

// pageNote is what a reader needs to know of a run besides its results.
type pageNote struct {
	Head  string
	Lines []string
}

// pageProfile is the outcome of the run under a profile.
type pageProfile struct {
	Name string
	// Selected means that it is the profile of the run.
	Selected bool
	Passes   bool
	Summary  string
}

// pageFailure is a line for readers without scripts.
type pageFailure struct {
	ID, Spec, Level, Revision, Summary string
}

func newPageHead(r report.Report, o Options) pageHead {
	h := pageHead{
		Outcome: pageOutcome(r), Conclusion: withoutCommands(sentenceCase(conclusion(r))),
		Counts: pageCounts(r), Server: withoutCommands(serverText(r.Server)),
		Target:  withoutCommands(targetText(r.Target)),
		Problem: withoutCommands(r.Problem),
		Fix:     staleFix, Profiles: pageProfiles(r, o),
		Facts: []pageFact{
			{"transport", r.Target.Transport},
			{"revisions", strings.Join(revisionsOf(r.Revisions), ", ")},
			{"also supports", strings.TrimPrefix(alsoSupportsText(r), "also supports ")},
			{"took", duration(r.Seconds)},
			{"mcpcheck", r.Program.Version},
		},
	}
	if !r.Started.IsZero() {
		h.Facts = append(h.Facts, pageFact{"started", r.Started.Format("2006-01-02 15:04:05 -07:00")})
	}
	h.Facts = mapEach(h.Facts, func(f pageFact) pageFact { return pageFact{f.Name, withoutCommands(f.Value)} })
	for _, s := range staleBaseline(r) {
		h.Stale = append(h.Stale, withoutCommands(stalePosition(r, s)+": "+s.Entry+": "+s.Reason))
	}
	for _, c := range r.Coverage {
		h.addNote("Requirements", coverageText(c))
	}
	h.addNote("Set of requirements", nonEmpty(setsText(r))...)
	h.addNote("Not exercised", nonEmpty(unexercisedText(r.Coverage))...)
	h.addNote("Not judged", nonEmpty(undiscoveredText(r.Server))...)
	h.addNote("Sessions", nonEmpty(oneClientText(r.Server))...)
	h.addNote("Options", nonEmpty(optionsText(r.Options))...)
	calls, why := callsText(r.Coverage, r.Results)
	h.addNote(calls, why...)
	return h
}

// pageCounts returns how many results have each outcome.
func pageCounts(r report.Report) string {
	r.Problem = "" // The page shows it elsewhere.
	_, parts, more := verdict(r)
	return withoutCommands(joinParts(append(parts, more...)...))
}

// addNote adds a note unless it is empty.
func (h *pageHead) addNote(head string, lines ...string) {
	if len(lines) > 0 {
		h.Notes = append(h.Notes, pageNote{head, mapEach(lines, withoutCommands)})
	}
}

// pageOutcome returns the class of the run.
func pageOutcome(r report.Report) string {
	switch r.ExitCode {
	case report.ExitConforms:
		return "good"
	case report.ExitFails:
		return "bad"
	}
	return "odd"
}

// sentenceCase returns a sentence with a capital, unless it begins with the name of the program, which has none.
func sentenceCase(s string) string {
	if strings.HasPrefix(s, "mcpcheck") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// pageProfiles returns the outcome of the results under each profile.
func pageProfiles(r report.Report, o Options) (profiles []pageProfile) {
	for _, p := range shownProfiles(r) {
		n := 0
		for _, x := range r.Results {
			if gatesUnderProfile(p, r, x, o) {
				n++
			}
		}
		said := pageProfile{Name: string(p), Selected: p == r.Profile}
		switch {
		case len(r.Results) == 0:
			said.Summary = "nothing was tested"
		case n > 0:
			said.Summary = fmt.Sprintf("%d blocking", n)
		case len(staleBaseline(r)) > 0:
			said.Summary = staleText(r)
		case r.ExitCode != report.ExitConforms && r.ExitCode != report.ExitFails:
			said.Summary = "not tested to the end"
		default:
			said.Summary, said.Passes = "nothing blocks", true
		}
		profiles = append(profiles, said)
	}
	return profiles
}

// shownProfiles are all profiles; that of the run is one of them, if it is about a single directory.
func shownProfiles(r report.Report) []catalogue.Profile {
	if !r.Profile.IsDirectory() || r.Profile == catalogue.Directory {
		return catalogue.Profiles
	}
	return append(slices.Clone(catalogue.Profiles), r.Profile)
}

// gatesUnderProfile reports whether a result blocks under a profile, which may be another one than that of the run.
func gatesUnderProfile(p catalogue.Profile, r report.Report, x report.Result, o Options) bool {
	if p == r.Profile || x.Known != nil || x.Tentative {
		return x.Gates
	}
	checklist, rules := x.GatedBy == catalogue.GateChecklist, x.DirectoryRules
	if x.SDK != nil && p.IgnoresKnownDeviations() && (r.Options == nil || r.Options.SDK == "") {
		return false
	}
	if o.FindRequirement != nil {
		if q, ok := o.FindRequirement(x.ID); ok {
			checklist, rules = q.Checklist, q.DirectoryRules
		}
	}
	return p.Gate(x.Verdict, x.Level, x.EntryLevel, checklist, rules) != catalogue.NoGate
}

// pageFailures returns what made the run fail, for readers without scripts.
func pageFailures(r report.Report) (failures []pageFailure) {
	for _, g := range groupBy(filter(r.Results, isFailure), findingKey) {
		x := g.newest()
		failures = append(failures, pageFailure{
			ID: withoutCommands(x.ID), Spec: urlPattern.FindString(x.Spec), Level: markdownLevel(x),
			Revision: withoutCommands(revisionsText(r, g)), Summary: withoutCommands(resultTitle(x)),
		})
	}
	return failures
}

// jsonLines returns values as JSON, each on a line, for a script element: nothing in it ends the script, and no line is
// a command to GitHub's runner. If between is a comma, the lines are the elements of a JSON array.
func jsonLines[T any](values []T, between string) (string, error) {
	var b strings.Builder
	for i, v := range values {
		var line bytes.Buffer
		if err := encodeLine(&line, v); err != nil {
			return "", fmt.Errorf("value %d: %w", i, err)
		}
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString("\n" + strings.TrimSuffix(line.String(), "\n"))
	}
	return b.String() + "\n", nil
}
