package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// heading is a heading of the specification, with the sentences below it that have a keyword.
type heading struct {
	page, anchor string
	sentences    []catalogue.Sentence
}

// headings groups sentences, which are in order, by revision and heading.
func headings(sentences []catalogue.Sentence) (all []heading) {
	for i, s := range sentences {
		if i == 0 || s.Page != sentences[i-1].Page || s.Revision != sentences[i-1].Revision {
			page, anchor, _ := strings.Cut(s.Page, "#")
			all = append(all, heading{page: page, anchor: anchor})
		}
		h := &all[len(all)-1]
		h.sentences = append(h.sentences, s)
	}
	return all
}

// sentencesOf says which sentences a requirement judges, in a line for each heading: revision, page#anchor and which of
// the sentences with a keyword.
func sentencesOf(id string, all []catalogue.Sentence) string {
	own := slices.DeleteFunc(slices.Clone(all), func(s catalogue.Sentence) bool { return !slices.Contains(s.IDs, id) })
	var lines []string
	for _, h := range headings(own) {
		lines = append(lines, h.sentences[0].Revision+" "+h.sentences[0].Page+" "+ordinals(h.sentences))
	}
	return strings.Join(lines, "\n")
}

// ordinals returns the ordinals of sentences, in short: 1, 3-5.
func ordinals(sentences []catalogue.Sentence) string {
	var parts []string
	for i := 0; i < len(sentences); {
		end := i + 1
		for end < len(sentences) && sentences[end].Ordinal == sentences[end-1].Ordinal+1 {
			end++
		}
		part := strconv.Itoa(sentences[i].Ordinal)
		if end > i+1 {
			part += "-" + strconv.Itoa(sentences[end-1].Ordinal)
		}
		parts = append(parts, part)
		i = end
	}
	return strings.Join(parts, ", ")
}

// WriteSentencesPage writes the page suites/SENTENCES.md: what judges each sentence of the specification.
func WriteSentencesPage(w io.Writer) error {
	fmt.Fprint(w, sentencesPageHead)
	parts := specParts(suites.Sentences())
	for _, part := range parts {
		writeTotals(w, part)
	}
	for _, part := range parts {
		writeSpecPart(w, part)
	}
	named := map[string]bool{}
	for _, s := range suites.Sentences() {
		for _, id := range s.IDs {
			named[id] = true
		}
	}
	writeUntestable(w, named)
	return writeTargets(w, named)
}

const sentencesPageHead = "<!-- Made from sentences.yaml; do not edit, run go generate ./suites. -->\n\n" +
	`# The sentences of the specification

What judges each sentence of the specification that has a keyword, such as MUST or SHOULD: entries of the catalogue, or
nothing, with the reason. No sentence is copied here: the heading and the number say which one is meant, the second one
below a heading being 2. The head of [sentences.yaml](sentences.yaml) says how they are counted; it has the keyword of
each, and whom it binds.

A sentence is judged if an entry tries what it says, or a part of it. It is not testable if nobody can decide it from
outside a server; the reasons are at the end.

| | sentences | bind servers | judged | not testable | not judged | bind only others |
|---|---|---|---|---|---|---|
`

// specPart is a revision of the specification, or an extension.
type specPart struct {
	title     string
	sentences []catalogue.Sentence
}

// specParts returns the revisions, the newest first, and then the extensions.
func specParts(all []catalogue.Sentence) (parts []specPart) {
	isExtension := func(s catalogue.Sentence) bool { return strings.HasPrefix(s.Page, "ext-") }
	var extensions []specPart
	for _, revision := range slices.Backward(catalogue.Revisions) {
		part := specPart{title: revision}
		for _, h := range headings(all) {
			switch {
			case h.sentences[0].Revision != revision:
			case !isExtension(h.sentences[0]):
				part.sentences = append(part.sentences, h.sentences...)
			case len(extensions) > 0 && extensions[len(extensions)-1].title == h.page:
				last := &extensions[len(extensions)-1]
				last.sentences = append(last.sentences, h.sentences...)
			default:
				extensions = append(extensions, specPart{h.page, h.sentences})
			}
		}
		parts = append(parts, part)
	}
	return append(parts, extensions...)
}

// writeTotals writes a line of the table at the head of the page.
func writeTotals(w io.Writer, part specPart) {
	if len(part.sentences) == 0 {
		fmt.Fprintf(w, "| %s | not counted yet | | | | | |\n", part.title)
		return
	}
	var servers, judged, untestable, reason int
	for _, s := range part.sentences {
		switch {
		case !s.BindsServers():
			continue
		case len(entriesOf(s)) > 0:
			judged++
		case len(s.IDs) > 0:
			untestable++
		default:
			reason++
		}
		servers++
	}
	all := len(part.sentences)
	fmt.Fprintf(w, "| [%s](#%s) | %d | %d | %d | %d | %d | %d |\n", part.title, part.title, all, servers, judged,
		untestable, reason, all-servers)
}

// entriesOf are the ids of a sentence that are entries of the catalogue.
func entriesOf(s catalogue.Sentence) (ids []string) {
	for _, id := range s.IDs {
		if _, isEntry := suites.Find(id); isEntry {
			ids = append(ids, id)
		}
	}
	return ids
}

// untestableOf are the ids of a sentence that no check can decide.
func untestableOf(s catalogue.Sentence) (ids []string) {
	for _, id := range s.IDs {
		if _, isEntry := suites.Find(id); !isEntry {
			ids = append(ids, id)
		}
	}
	return ids
}

// writeSpecPart writes a table for each page, with a row for each heading.
func writeSpecPart(w io.Writer, part specPart) {
	if len(part.sentences) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s\n", part.title)
	page := ""
	for _, h := range headings(part.sentences) {
		if h.page != page {
			page = h.page
			fmt.Fprintf(w, "\n### %s\n\n%s", page, pageTableHead)
		}
		title := "(at the top)"
		if h.anchor != "" {
			title = h.anchor
		}
		fmt.Fprintf(w, "| [%s](%s) | %d | %s | %s | %s | %s |\n", title, h.sentences[0].URL(), len(h.sentences),
			byText(h.sentences, func(s catalogue.Sentence) string { return links(entriesOf(s)) }),
			byText(h.sentences, func(s catalogue.Sentence) string { return links(untestableOf(s)) }),
			byText(h.sentences, notJudged),
			byText(h.sentences, otherParty))
	}
}

const pageTableHead = "| heading | sentences | judged by | not testable | not judged | bind others |\n" +
	"|---|---|---|---|---|---|\n"

// byText says what a function says of sentences, after the ordinals of those of which it says the same.
func byText(sentences []catalogue.Sentence, say func(catalogue.Sentence) string) string {
	var texts []string // in the order of the sentences
	said := map[string][]catalogue.Sentence{}
	for _, s := range sentences {
		text := say(s)
		if text == "" {
			continue
		}
		if said[text] == nil {
			texts = append(texts, text)
		}
		said[text] = append(said[text], s)
	}
	for i, text := range texts {
		texts[i] = ordinals(said[text]) + ": " + text
	}
	return strings.Join(texts, "<br>")
}

// links returns ids as links, the targets of which are written by writeTargets.
func links(ids []string) string {
	var linked []string
	for _, id := range ids {
		linked = append(linked, "["+id+"]")
	}
	return strings.Join(linked, ", ")
}

// notJudged says why nothing judges a sentence; it is empty where something does.
func notJudged(s catalogue.Sentence) string { return escapeMarkdown(s.Reason) }

// otherParty is whom a sentence binds that does not bind servers.
func otherParty(s catalogue.Sentence) string {
	if s.BindsServers() {
		return ""
	}
	return string(s.Binds)
}

// writeUntestable writes why the requirements that are named on the page cannot be tested.
func writeUntestable(w io.Writer, named map[string]bool) {
	fmt.Fprint(w, "\n## Not testable\n\n")
	for _, u := range suites.Untestable() {
		if named[u.ID] {
			fmt.Fprintf(w, "- <a id=%q></a>%s: %s %s\n", u.ID, escapeMarkdown(u.ID), escapeMarkdown(u.Statement),
				escapeMarkdown(u.Reason))
		}
	}
}

// writeTargets writes where the links to the ids on the page lead: to the page of the area, or to the reasons.
func writeTargets(w io.Writer, named map[string]bool) (err error) {
	fmt.Fprintln(w)
	for _, id := range slices.Sorted(maps.Keys(named)) {
		page := ""
		if _, isEntry := suites.Find(id); isEntry {
			page = catalogue.AreaOf(id) + "/README.md"
		}
		if _, err = fmt.Fprintf(w, "[%s]: %s#%s\n", id, page, id); err != nil {
			return err
		}
	}
	return nil
}
