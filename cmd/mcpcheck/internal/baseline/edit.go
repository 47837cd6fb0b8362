package baseline

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// A baseline is edited by whole lines, so that everything but the entries that come and go stays as people wrote it.

// baselineHeader is the comment that a new file begins with.
const baselineHeader = `# Known failures: mcpcheck run --baseline %s lets them pass, and fails
# when one no longer fails. mcpcheck baseline removes such entries, and adds new ones.
# Keys: check (id or glob), reason, revision, transport, subject, expires (2026-12-31), flaky (true).
`

// lineEditor edits the text of a baseline by whole lines. A line that was removed is the empty string.
type lineEditor struct {
	// lines are the lines of the text, each with its line ending.
	lines []string
	// entries are the lines of each entry, in the order of the file.
	entries []lineRange
	// hasBlankLines says that blank lines separate the entries.
	hasBlankLines bool
	// newline is the line ending of the file.
	newline string
}

// lineRange are the lines of an entry: start is its first line, end the one after its last, both counted from 0.
type lineRange struct{ start, end int }

// newLineEditor finds the lines of the entries.
func newLineEditor(content string) (*lineEditor, error) {
	p := &lineEditor{newline: "\n"}
	if strings.Contains(content, "\r\n") {
		p.newline = "\r\n"
	}
	if !strings.HasSuffix(content, "\n") {
		content += p.newline
	}
	p.lines = slices.Collect(strings.Lines(content))
	list, err := yamlfile.Read("", []byte(content), new(report.KnownFails))
	switch {
	case err != nil || list == nil:
		return p, err
	case list.Style&yaml.FlowStyle != 0:
		return p, p.removeEmptyList(list)
	}
	for _, entry := range slices.Backward(list.Content) {
		begin, end := p.dashLine(entry, list.Column-1), len(p.lines)
		if len(p.entries) > 0 {
			end = p.entries[0].start
		}
		for end > begin+1 && p.isBetweenEntries(end-1, list.Column-1) {
			end--
		}
		p.entries = slices.Insert(p.entries, 0, lineRange{begin, end})
	}
	if n := len(p.entries); n > 1 {
		p.hasBlankLines = slices.ContainsFunc(p.lines[p.entries[n-2].end:p.entries[n-1].start], isBlank)
	}
	return p, nil
}

// dashLine returns the line, counted from 0, of the dash before an entry.
func (p *lineEditor) dashLine(entry *yaml.Node, indent int) int {
	dash := strings.Repeat(" ", indent) + "-"
	for line := entry.Line - 1; line > 0; line-- {
		if strings.HasPrefix(p.lines[line], dash) {
			return line
		}
	}
	return 0
}

// removeEmptyList removes an empty list that is written as [].
func (p *lineEditor) removeEmptyList(list *yaml.Node) error {
	line := list.Line - 1
	if len(list.Content) > 0 || strings.TrimSpace(p.lines[line]) != "[]" {
		return errors.New("its list is written in brackets; begin each entry with a dash on a line of its own")
	}
	p.lines[line] = ""
	return nil
}

// isBetweenEntries reports whether a line belongs to no entry: it is blank, the end of the document, or a comment that
// is indented no deeper than the dashes.
func (p *lineEditor) isBetweenEntries(line, indent int) bool {
	content := strings.TrimRight(p.lines[line], " \t\r\n")
	rest := strings.TrimLeft(content, " ")
	return rest == "" || content == "..." || rest[0] == '#' && len(content)-len(rest) <= indent
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

// removeEntry removes an entry with the comment directly above it, and one blank line where two would be left.
func (p *lineEditor) removeEntry(entry int) {
	begin, end := p.entries[entry].start, p.entries[entry].end
	first := 0
	if entry > 0 {
		first = p.entries[entry-1].end
	}
	lead := begin
	for lead > first && isComment(p.lines[lead-1]) {
		lead--
	}
	if lead > 0 { // without lines before it, the comment is about the file
		begin = lead
	}
	if end == len(p.lines) || isBlank(p.lines[end]) {
		for begin > 0 && isBlank(p.lines[begin-1]) {
			begin--
		}
	}
	for begin == 0 && end < len(p.lines) && isBlank(p.lines[end]) {
		end++
	}
	for i := begin; i < end; i++ {
		p.lines[i] = ""
	}
}

// insertEntries inserts entries after the last one that is left, or at the end of the file.
func (p *lineEditor) insertEntries(entries report.KnownFails) {
	at, indent, gap := len(p.lines), "", p.endsInText()
	for _, e := range p.entries {
		if first := p.lines[e.start]; first != "" {
			at, indent, gap = e.end, first[:strings.Index(first, "-")], p.hasBlankLines
		}
	}
	var content strings.Builder
	for _, k := range entries {
		if gap {
			content.WriteString(p.newline)
		}
		for _, line := range entryLines(k) {
			content.WriteString(indent + line + p.newline)
		}
		gap = p.hasBlankLines
	}
	p.lines = slices.Insert(p.lines, at, content.String())
}

// endsInText reports whether the last line that is left has to be separated from a new entry by a blank line, as a
// comment about the file has.
func (p *lineEditor) endsInText() bool {
	for _, line := range slices.Backward(p.lines) {
		if line != "" {
			return !isBlank(line) && strings.TrimSpace(line) != "---"
		}
	}
	return false
}

// entryLines returns the lines of an entry.
func entryLines(k report.KnownFail) (lines []string) {
	lines = []string{"- check: " + k.Check}
	if k.Revision != "" {
		lines = append(lines, "  revision: "+strconv.Quote(k.Revision))
	}
	if k.Transport != "" {
		lines = append(lines, "  transport: "+k.Transport)
	}
	if k.Flaky {
		lines = append(lines, "  flaky: true")
	}
	return append(lines, "  reason: "+strconv.Quote(k.Reason))
}

// Write changes the entries of the file as the update says.
func (u Update) Write() error {
	content, err := u.editedText()
	if err != nil {
		return exit.Usagef("%w", err)
	}
	if content == u.text && content != "" {
		return nil
	}
	if err := files.Replace(u.Name, []byte(content)); err != nil {
		return exit.Usagef("cannot write the baseline: %w", err)
	}
	return nil
}

// editedText returns the text of the file after the update. It parses the text again to verify that the entries are
// those that were intended.
func (u Update) editedText() (string, error) {
	content := u.text
	if strings.TrimSpace(content) == "" {
		content = fmt.Sprintf(baselineHeader, filepath.Base(u.Name))
	}
	if len(u.added)+len(u.removed) == 0 {
		return content, nil
	}
	content, err := u.applyTo(content)
	if err != nil {
		return "", err
	}
	entries, err := parse(u.Name, []byte(content))
	same := func(a, b report.KnownFail) bool { a.Line, b.Line = 0, 0; return a == b }
	if err != nil || !slices.EqualFunc(entries, slices.Concat(u.unchanged, u.added), same) {
		return "", fmt.Errorf("cannot edit %s without a change to other parts of it, and has left it as it was: "+
			"write each entry on lines of its own, without anchors", u.Name)
	}
	return content, nil
}

// applyTo removes entries from a text and inserts others.
func (u Update) applyTo(content string) (string, error) {
	p, err := newLineEditor(content)
	if err != nil {
		return "", fmt.Errorf("cannot edit %s: %w", u.Name, err)
	}
	for i, k := range u.Entries {
		if u.isRemoved(k) {
			p.removeEntry(i)
		}
	}
	p.insertEntries(u.added)
	return strings.Join(p.lines, ""), nil
}
