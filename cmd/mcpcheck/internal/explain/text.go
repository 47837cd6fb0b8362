// Package explain writes what the catalogue says about requirements.
//
// WriteRequirement writes one for people, in lines for a terminal; WritePages, WriteIndexPage and WriteSentencesPage
// write the Markdown pages in suites, as go generate ./suites does; an Entry is a requirement as JSON, for mcpcheck
// explain --json and list --json: members are added to it, and none is removed. Nothing here runs a check or knows a
// server.
package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// AreaNames returns the names of all areas.
func AreaNames() (names []string) {
	for _, area := range suites.Areas {
		names = append(names, area.Name)
	}
	return names
}

// WriteRequirement writes a requirement for a terminal.
func WriteRequirement(w io.Writer, r *catalogue.Requirement) {
	fmt.Fprintf(w, "%s\nA conforming server %s.\n\n%s\n", r.ID, r.Title, HangingIndent(r.Statement, 0))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "\nNo check tests this requirement yet.\n")
	}
	writeSection(w, "how", eraText(r.Procedure))
	writeSection(w, "pass", eraText(r.Pass))
	writeSection(w, "fail", eraText(r.Fail))
	writeSection(w, "not decided", eraText(r.Skip))
	writeSection(w, "yields to", strings.Join(r.YieldsTo, ", "))
	writeSection(w, "fix", r.Fix)
	writeSection(w, "notes", r.Notes)
	for _, said := range sdkDeviations(r) {
		writeSection(w, "sdk", said)
	}
	for _, ask := range r.DirectoryRules {
		writeSection(w, "asked by", ask.Directory+" ("+ask.ID+", "+ask.Date+"): "+
			strings.Join(strings.Fields(ask.Rule+" "+ask.Reason+" "+ask.Source), " "))
	}
	fmt.Fprintf(w, "\n%-11s %s", "basis", r.Basis)
	if r.Checklist {
		fmt.Fprint(w, "; on the release checklist: a failure blocks in the profiles release and strict")
	}
	fmt.Fprintf(w, "\n%-11s %s\n", "safety", safetyTexts[r.Safety])
	if r.Since != "" {
		fmt.Fprintf(w, "%-11s mcpcheck %s, in which it does not block yet\n", "since", r.Since)
	}
	if len(r.Transports) > 0 {
		fmt.Fprintf(w, "%-11s %s\n", "transport", strings.Join(r.Transports, ", "))
	}
	if r.Capability != "" {
		fmt.Fprintf(w, "%-11s %s\n", "capability", r.Capability)
	}
	fmt.Fprintln(w)
	for _, revision := range r.ApplicableRevisions() {
		fmt.Fprintf(w, "%s %-6s %s\n", revision, r.Level.In(revision), r.URL(revision))
	}
	writeSection(w, "sentences", sentencesOf(r.ID, suites.Sentences()))
}

// sdkDeviations says which SDKs violate a requirement, and how to avoid that. It groups SDKs with the same text.
func sdkDeviations(r *catalogue.Requirement) (said []string) {
	var changes []string // in the order of the catalogue
	sdks := map[string][]string{}
	for _, d := range r.SDKs {
		change := strings.TrimSpace(d.Fix + " " + d.Issue)
		if sdks[change] == nil {
			changes = append(changes, change)
		}
		how := map[bool]string{true: " by its source, not run"}[d.FromSource]
		name := fmt.Sprintf("%s (known of %s%s)", suites.SDKName(d.SDK), d.Versions, how)
		sdks[change] = append(sdks[change], name)
	}
	for _, change := range changes {
		breaks := " breaks this, and does not"
		if len(sdks[change]) > 1 {
			breaks = " break this, and do not"
		}
		names := strings.Join(sdks[change], ", ")
		said = append(said, names+breaks+" block in the profiles release and spec. "+change)
	}
	return said
}

var safetyTexts = map[string]string{
	"safe":               "reads only",
	"calls-tool-invalid": "calls tools with invalid arguments",
	"calls-tool-valid":   "may execute tools",
	"kills-process":      "may end the server process, which is a separate one",
}

// eraText returns a text that may differ between the eras of the protocol.
func eraText(said catalogue.ByEra) string {
	switch {
	case said.Legacy == said.Modern:
		return said.Legacy
	case said.Modern == "":
		return said.Legacy
	case said.Legacy == "":
		return catalogue.ModernRevisions[0] + ": " + said.Modern
	}
	return said.Legacy + "\n" + catalogue.ModernRevisions[0] + ": " + said.Modern
}

func writeSection(w io.Writer, title, body string) {
	if body != "" {
		fmt.Fprintf(w, "\n%-11s %s\n", title, HangingIndent(body, 12))
	}
}

// HangingIndent wraps a text into lines of at most 88 characters and indents all but the first by a number of columns.
func HangingIndent(s string, columns int) string {
	lines := text.Wrap(strings.TrimSpace(s), 88-columns)
	return strings.Join(lines, "\n"+strings.Repeat(" ", columns))
}
