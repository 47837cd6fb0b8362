package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// generatedNotice is the first line of every generated page.
const generatedNotice = "<!-- Made by mcpcheck explain --markdown from the YAML files; do not edit, run go generate " +
	"./suites. -->\n\n"

// WriteIndexPage writes the page suites/README.md, which lists the areas and says how to read their pages.
func WriteIndexPage(w io.Writer) error {
	// untestable counts requirements without a check, by area.
	untestable := map[string]int{}
	for _, u := range suites.Untestable() {
		untestable[catalogue.AreaOf(u.ID)]++
	}
	fmt.Fprintf(w, indexPageHead, generatedNotice, len(suites.Implemented()), len(suites.All()),
		len(suites.Untestable()))
	fmt.Fprint(w, "| area | checks | of requirements | not testable | |\n|---|---|---|---|---|\n")
	for _, area := range suites.Areas {
		all := area.Requirements()
		fmt.Fprintf(
			w,
			"| [%s](%s/README.md) | %d | %d | %s |\n",
			area.Name,
			area.Name,
			len(area.Checks),
			len(all),
			escapeMarkdown(area.Description),
		)
	}
	_, err := fmt.Fprint(w, indexPageTail)
	return err
}

const indexPageHead = `%s# What mcpcheck checks

%d of %d requirements have a check. An area is a folder: ` +
	"`tools/unknown-tool-code` is in [tools](tools/README.md), its\n" +
	"entry in `tools/tools.yaml`, its check in the Go files of the same folder. %d further requirements are not\n" +
	"testable: nobody can decide them from outside a server.\n\n"

const indexPageTail = `
How to read the pages:

- **Level:** MUST, SHOULD and MAY are those of the specification, by revision; ADVICE is good practice that no sentence
  of it asks for. ☑ marks the release checklist: in the profiles release and strict a failure blocks whatever the level.
- **Fails:** a minor violation is reported at a lower level than that of the requirement, as SHOULD or as ADVICE.
- **Not decided:** the requirement does not apply to the server (skipped), or could not be tested (inconclusive).
  Neither is a failure.
- **Alone:** ` + "`mcpcheck run --only ID -- COMMAND`" + ` tests one of them.

Which sentences of the specification the requirements judge, and which nothing does, is in [SENTENCES.md](SENTENCES.md).

What is not testable is in [untestable.yaml](untestable.yaml), with the reason; ` +
	"`mcpcheck list --untestable` shows\nit. Beside the areas: " +
	"`discovery` finds out what a server is, `kit` is what checks of several areas share, " +
	"`check`\nsays what a check and a run are, `catalogue` what a requirement is, `driver` talks to servers.\n"

// writeAreaPage writes the page of an area, suites/<area>/README.md. Each requirement has an anchor with its id:
// README.md#ping/empty-result.
func writeAreaPage(w io.Writer, area suites.Area) error {
	fmt.Fprintf(
		w,
		"%s# %s\n\n%s. How to read this page: [all areas](../README.md).\n",
		generatedNotice,
		area.Name,
		escapeMarkdown(area.Description),
	)
	for _, r := range area.Requirements() {
		fmt.Fprintln(w)
		if err := writeMarkdownRequirement(w, "##", r); err != nil {
			return err
		}
	}
	return nil
}

// WritePages writes the page of each area that is named, and a section for each id.
func WritePages(w io.Writer, names []string) error {
	for _, name := range names {
		var err error
		if i := slices.Index(AreaNames(), name); i >= 0 {
			err = writeAreaPage(w, suites.Areas[i])
		} else if r, found := suites.Find(name); found {
			err = writeMarkdownRequirement(w, "#", r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeMarkdownRequirement writes one requirement under the given heading marks, such as ##.
func writeMarkdownRequirement(w io.Writer, heading string, r *catalogue.Requirement) error {
	fmt.Fprintf(w, "%s <a id=%q></a>%s\n\n", heading, r.ID, escapeMarkdown(r.ID))
	fmt.Fprintf(w, "**A conforming server %s.** %s\n\n", escapeMarkdown(r.Title), escapeMarkdown(r.Statement))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "No check tests this requirement yet.\n\n")
	}
	for _, item := range []struct{ label, text string }{
		{"Level", markdownLevels(r)},
		{"Where", escapeMarkdown(scopeText(r))},
		{"How", escapeMarkdown(eraText(r.Procedure))},
		{"Passes", escapeMarkdown(eraText(r.Pass))},
		{"Fails", escapeMarkdown(eraText(r.Fail))},
		{"Not decided", escapeMarkdown(eraText(r.Skip))},
		{"Yields to", escapeMarkdown(strings.Join(r.YieldsTo, ", "))},
		{"Fix", escapeMarkdown(r.Fix)},
		{"Notes", escapeMarkdown(r.Notes)},
		{"SDKs", escapeMarkdown(strings.Join(sdkDeviations(r), "\n"))},
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

// markdownLevels returns the level with the revisions in which it holds, each with a link to the sentence.
func markdownLevels(r *catalogue.Requirement) string {
	var parts []string
	last := catalogue.Level(0)
	for _, revision := range r.ApplicableRevisions() {
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
	content := strings.Join(parts, ", ")
	if r.Checklist {
		content += " ☑ release checklist"
	}
	return content
}

// scopeText says which servers a requirement applies to, and what testing it does to them.
func scopeText(r *catalogue.Requirement) string {
	content := "every transport"
	if len(r.Transports) > 0 {
		content = strings.Join(r.Transports, ", ")
	}
	if r.Capability != "" {
		content += "; servers with the capability " + r.Capability
	}
	return content + "; " + safetyTexts[r.Safety]
}

// escapeMarkdown escapes a text of the catalogue so that Markdown shows it unchanged: nothing in it is markup, and
// GitHub finds no formula between dollar signs.
func escapeMarkdown(content string) string {
	return markdownEscaper.Replace(strings.TrimSpace(content))
}

var markdownEscaper = strings.NewReplacer(
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
