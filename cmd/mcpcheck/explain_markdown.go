package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// explainPage writes all requirements that a check tries as one Markdown page, by
// area. Each is an anchor of its id: CHECKS.md#ping/empty-result. (suites/CHECKS.md)
func explainPage(w io.Writer) error {
	all := suites.Built()
	var areas []string
	in := map[string]harness.Catalogue{}
	for _, r := range all {
		if in[r.Area()] == nil {
			areas = append(areas, r.Area())
		}
		in[r.Area()] = append(in[r.Area()], r)
	}
	fmt.Fprintf(w, pageHead, len(all), harness.Modern)
	for _, area := range areas {
		fmt.Fprintf(w, "- [%s](#%s), %d\n", area, area, len(in[area]))
	}
	for _, area := range areas {
		fmt.Fprintf(w, "\n## %s\n", area)
		for _, r := range in[area] {
			fmt.Fprintln(w)
			if err := explainMarkdown(w, "###", r); err != nil {
				return err
			}
		}
	}
	return nil
}

const pageHead = `<!-- Made by mcpcheck explain --all --markdown from suites/*.yaml; do not edit, run go generate ./suites. -->

# What mcpcheck checks

%d requirements, by area. Those that no check tries yet are listed by ` + "`mcpcheck list --planned`" + `, and what is said
here of %s is not tried yet.

- **Level:** MUST, SHOULD and MAY are those of the specification, by revision; ADVICE is good practice that no sentence
  of it asks for. ☑ marks the release checklist: in the profiles release and strict a fail gates whatever the level.
- **Rules:** WARN is a lesser deviation, reported at SHOULD, INFO one at ADVICE. SKIP is a requirement that does not
  apply to the server, INCONCLUSIVE one that could not be tried; neither is a failure.
- **Alone:** ` + "`mcpcheck run --only ID -- COMMAND`" + ` tries one of them.

`

// explainMarkdown writes one requirement, under a heading of so many #.
func explainMarkdown(w io.Writer, heading string, r *harness.Requirement) error {
	fmt.Fprintf(w, "%s <a id=%q></a>%s\n\n", heading, r.ID, inMarkdown(r.ID))
	fmt.Fprintf(w, "**A conforming server %s.** %s\n\n", inMarkdown(r.Title), inMarkdown(r.Statement))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "No check tries this requirement yet.\n\n")
	}
	for _, item := range []struct{ label, text string }{
		{"Level", levelsMarkdown(r)},
		{"Where", inMarkdown(scope(r))},
		{"Tried by", inMarkdown(byEra(r.Stimulus))},
		{"Passes", inMarkdown(byEra(r.Pass))},
		{"Fails", inMarkdown(byEra(r.Fail))},
		{"Does not apply", inMarkdown(byEra(r.Skip))},
		{"Fix", inMarkdown(r.Fix)},
		{"Notes", inMarkdown(r.Notes)},
	} {
		if item.text == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "- **%s:** %s\n", item.label, item.text); err != nil {
			return err
		}
	}
	return nil
}

// levelsMarkdown is the level with the revisions in which it holds, each a link to
// the sentence.
func levelsMarkdown(r *harness.Requirement) string {
	var parts []string
	last := harness.Level(0)
	for _, revision := range r.In() {
		link := revision
		if url := r.URL(revision); url != "" {
			link = fmt.Sprintf("[%s](%s)", revision, url)
		}
		if level := r.Level.In(revision); level != last {
			link = level.String() + " in " + link
			last = level
		}
		parts = append(parts, link)
	}
	text := strings.Join(parts, ", ")
	if r.Checklist {
		text += " ☑ release checklist"
	}
	return text
}

// scope is which servers a requirement binds, and what trying it does to them.
func scope(r *harness.Requirement) string {
	text := "every transport"
	if len(r.Transports) > 0 {
		text = strings.Join(r.Transports, ", ")
	}
	if r.Capability != "" {
		text += "; servers with the capability " + r.Capability
	}
	return text + "; " + safety[r.Safety]
}

// inMarkdown is a text of the catalogue as Markdown shows it: nothing in it is
// markup, and GitHub sees no formula between dollar signs.
func inMarkdown(text string) string { return markdownEscapes.Replace(strings.TrimSpace(text)) }

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`, "~", `\~`, "&", `\&`,
	"$", "&#36;", "\n", "<br>",
)
