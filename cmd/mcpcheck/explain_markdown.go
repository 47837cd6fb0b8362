package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// made is the first line of every page that is generated.
const made = "<!-- Made by mcpcheck explain --markdown from the YAML files; do not edit, run go generate " +
	"./suites. -->\n\n"

// explainIndex writes the page suites/README.md: the areas, and how their pages are to be read.
func explainIndex(w io.Writer) error {
	fmt.Fprintf(w, indexHead, made, len(suites.Built()), len(suites.All()))
	fmt.Fprint(w, "| area | checks | of requirements | |\n|---|---|---|---|\n")
	for _, area := range suites.Areas {
		all := area.Requirements()
		fmt.Fprintf(
			w,
			"| [%s](%s/README.md) | %d | %d | %s |\n",
			area.Name,
			area.Name,
			len(area.Checks),
			len(all),
			inMarkdown(area.About),
		)
	}
	_, err := fmt.Fprint(w, indexTail)
	return err
}

const indexHead = `%s# What mcpcheck checks

%d of %d requirements have a check. An area is a folder: ` +
	"`tools/unknown-tool-code` is in [tools](tools/README.md), its\n" +
	"entry in `tools/tools.yaml`, its check in the package beside it.\n\n"

const indexTail = `
How to read the pages:

- **Level:** MUST, SHOULD and MAY are those of the specification, by revision; ADVICE is good practice that no sentence
  of it asks for. ☑ marks the release checklist: in the profiles release and strict a failure blocks whatever the level.
- **Fails:** a minor violation is reported at a lower level than that of the requirement, as SHOULD or as ADVICE.
- **Not decided:** the requirement does not apply to the server (skipped), or could not be tested (inconclusive).
  Neither is a failure.
- **Alone:** ` + "`mcpcheck run --only ID -- COMMAND`" + ` tests one of them.

What nobody can observe from outside is in [untestable.yaml](untestable.yaml), with the reason. Beside the areas:
` +
	"`discovery` finds out what a server is, `kit` is what checks of several areas share, " +
	"`harness` says what a check,\na verdict and a run are, `driver` talks to servers.\n"

// explainArea writes the page of an area, suites/<area>/README.md. Each requirement is an anchor of its id:
// README.md#ping/empty-result.
func explainArea(w io.Writer, area suites.Area) error {
	fmt.Fprintf(
		w,
		"%s# %s\n\n%s. How to read this page: [all areas](../README.md).\n",
		made,
		area.Name,
		inMarkdown(area.About),
	)
	var planned []string
	for _, r := range area.Requirements() {
		if !suites.HasCheck(r) {
			planned = append(planned, "- `"+r.ID+"` "+inMarkdown(r.Title)+"\n")
			continue
		}
		fmt.Fprintln(w)
		if err := explainMarkdown(w, "##", r); err != nil {
			return err
		}
	}
	if planned == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n## Not tested yet\n\nA conforming server …\n\n%s", strings.Join(planned, ""))
	return err
}

// explainPages writes the page of each area that is named, and a section for each id.
func explainPages(w io.Writer, names []string) error {
	for _, name := range names {
		var err error
		if i := slices.Index(areaNames(), name); i >= 0 {
			err = explainArea(w, suites.Areas[i])
		} else if r, found := suites.Find(name); found {
			err = explainMarkdown(w, "#", r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// explainMarkdown writes one requirement, under a heading of so many #.
func explainMarkdown(w io.Writer, heading string, r *harness.Requirement) error {
	fmt.Fprintf(w, "%s <a id=%q></a>%s\n\n", heading, r.ID, inMarkdown(r.ID))
	fmt.Fprintf(w, "**A conforming server %s.** %s\n\n", inMarkdown(r.Title), inMarkdown(r.Statement))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "No check tests this requirement yet.\n\n")
	}
	for _, item := range []struct{ label, text string }{
		{"Level", levelsMarkdown(r)},
		{"Where", inMarkdown(scope(r))},
		{"How", inMarkdown(byEra(r.Stimulus))},
		{"Passes", inMarkdown(byEra(r.Pass))},
		{"Fails", inMarkdown(byEra(r.Fail))},
		{"Not decided", inMarkdown(byEra(r.Skip))},
		{"Yields to", inMarkdown(strings.Join(r.YieldsTo, ", "))},
		{"Fix", inMarkdown(r.Fix)},
		{"Notes", inMarkdown(r.Notes)},
		{"SDKs", inMarkdown(strings.Join(deviations(r), "\n"))},
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

// levelsMarkdown is the level with the revisions in which it holds, each a link to the sentence.
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

// inMarkdown is a text of the catalogue as Markdown shows it: nothing in it is markup, and GitHub sees no formula
// between dollar signs.
func inMarkdown(text string) string { return markdownEscapes.Replace(strings.TrimSpace(text)) }

var markdownEscapes = strings.NewReplacer(
	`\`,
	`\\`,
	"`",
	"\\`",
	"*",
	`\*`,
	"_",
	`\_`,
	"[",
	`\[`,
	"]",
	`\]`,
	"<",
	`\<`,
	">",
	`\>`,
	"|",
	`\|`,
	"~",
	`\~`,
	"&",
	`\&`,
	"$",
	"&#36;",
	"\n",
	"<br>",
)
