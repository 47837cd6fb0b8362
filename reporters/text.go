package reporters

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// printable escapes, as Go would, everything except visible characters, spaces and line feeds: control characters,
// bytes that are not UTF-8, characters that change the direction of text. The result controls no terminal and is valid
// in XML. Backslashes are not doubled, so that JSON stays readable.
func printable(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

// validUTF8 escapes only bytes that are not UTF-8.
func validUTF8(s string) string { return escape(s, func(rune) bool { return true }) }

// escape escapes bytes that are not UTF-8, and characters that keep rejects, as Go does in a literal. Visible ASCII
// characters, spaces and line feeds are always kept, which makes most texts fast.
func escape(s string, keep func(rune) bool) string {
	if isPlain(s) || utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !keep(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case keep(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[size:]
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && s[i] != '\n' {
			return false
		}
	}
	return true
}

// printableLine is printable for text that must stay on one line.
func printableLine(s string) string { return strings.ReplaceAll(printable(s), "\n", `\n`) }

// printableWords is printableLine for the output of programs, in which tabs indent.
func printableWords(s string) string { return printableLine(tabReplacer.Replace(s)) }

var tabReplacer = strings.NewReplacer("\t", "    ")

// sentence is printableLine for text that was written on several lines, such as a reason in YAML.
func sentence(s string) string { return printableLine(strings.Join(strings.Fields(s), " ")) }

// printableText is printable for text of several lines.
func printableText(s string) string {
	return strings.TrimRight(printable(strings.ReplaceAll(s, "\r\n", "\n")), "\n")
}

// printableResult returns a copy of the result with all texts printable, so that a server cannot use them against a
// terminal or a parser.
func printableResult(r report.Result) report.Result {
	r.ID = printableLine(r.ID)
	r.Title = printableLine(r.Title)
	r.Revision = printableLine(r.Revision)
	r.Message = printableText(r.Message)
	r.Spec = printableLine(r.Spec)
	r.Fix = printableText(r.Fix)
	r.Findings = mapEach(r.Findings, func(f report.Finding) report.Finding {
		return report.Finding{
			Subject: printableLine(f.Subject), Want: printableText(f.Want), Got: printableText(f.Got),
		}
	})
	r.Subjects = mapEach(r.Subjects, printableLine)
	if r.Known != nil {
		known := *r.Known
		known.Reason, known.Expires = sentence(known.Reason), printableLine(known.Expires)
		r.Known = &known
	}
	if r.SDK != nil {
		sdk := *r.SDK
		if !sdkNamePattern.MatchString(sdk.Name) {
			sdk.Name = "an SDK"
		}
		sdk.ID, sdk.Versions, sdk.Issue = printableLine(sdk.ID), printableLine(sdk.Versions), printableLine(sdk.Issue)
		r.SDK = &sdk
	}
	r.Evidence = mapEach(r.Evidence, func(l report.Line) report.Line {
		l.Session, l.Arrow = printableLine(l.Session), printableLine(l.Arrow)
		l.HTTP, l.Text, l.Stderr = printableLine(l.HTTP), printableLine(l.Text), mapEach(l.Stderr, printableWords)
		return l
	})
	return r
}

// sdkNamePattern matches valid names of SDKs. A report that was read from a file may contain any text.
var sdkNamePattern = regexp.MustCompile(`^[\w@/.() -]{1,40}$`)

// printableReport returns a copy of the report with all texts printable, so that a server cannot use them against a
// terminal or a parser.
func printableReport(r report.Report) report.Report {
	r.Program.Name, r.Program.Version = printableLine(r.Program.Name), printableLine(r.Program.Version)
	r.Target.Command = mapEach(r.Target.Command, printableLine)
	r.Target.Dir, r.Target.URL = printableLine(r.Target.Dir), printableLine(r.Target.URL)
	r.Server.Name, r.Server.Version = printableLine(r.Server.Name), printableLine(r.Server.Version)
	r.Server.DiscoverError = printableLine(r.Server.DiscoverError)
	r.Revisions = mapEach(r.Revisions, func(i report.RevisionInfo) report.RevisionInfo {
		i.Requested, i.Revision = printableLine(i.Requested), printableLine(i.Revision)
		i.Set = printableSet(i.Set)
		return i
	})
	r.Problem = printableText(tabReplacer.Replace(r.Problem))
	r.Options = printableOptions(r.Options)
	r.Coverage = mapEach(r.Coverage, func(c report.Coverage) report.Coverage {
		c.Unexercised = mapEach(c.Unexercised, printableLine)
		c.UncalledTools = mapEach(c.UncalledTools, func(u report.UncalledTool) report.UncalledTool {
			u.Name, u.Reason = printableLine(u.Name), sentence(u.Reason)
			return u
		})
		c.CalledTools = mapEach(c.CalledTools, func(u report.ToolUse) report.ToolUse {
			u.Name, u.Message = printableLine(u.Name), printableText(u.Message)
			return u
		})
		return c
	})
	if r.Baseline != nil {
		r.Baseline = &report.Baseline{
			File: printableLine(r.Baseline.File),
			Stale: mapEach(r.Baseline.Stale, func(s report.StaleEntry) report.StaleEntry {
				return report.StaleEntry{Entry: printableLine(s.Entry), Line: s.Line, Reason: sentence(s.Reason)}
			}),
		}
	}
	r.Results = mapEach(r.Results, printableResult)
	return r
}

func printableOptions(o *report.OptionsInfo) *report.OptionsInfo {
	if o == nil {
		return nil
	}
	printed := *o
	printed.Configuration, printed.Only = printableLine(o.Configuration), mapEach(o.Only, printableLine)
	printed.Skip = mapEach(o.Skip, func(s report.Exclusion) report.Exclusion {
		return report.Exclusion{Check: printableLine(s.Check), Reason: printableLine(s.Reason)}
	})
	printed.Set = printableSet(o.Set)
	return &printed
}

func printableSet(s *catalogue.SetInfo) *catalogue.SetInfo {
	if s == nil {
		return nil
	}
	return &catalogue.SetInfo{Name: printableLine(s.Name), Digest: printableLine(s.Digest)}
}

// workflowCommand matches workflow commands as GitHub's runner recognizes them in a log: "::error::" at the beginning
// of a line, and the older "##[error]" anywhere in a line. Our colours count as spaces. (actions/runner,
// ActionCommand.cs)
var workflowCommand = regexp.MustCompile("(?m)^((?: |\x1b\\[[0-9;]*m)*)::")

// withoutCommands returns a text in which the runner finds no command, so that text from a server cannot control a
// workflow whose log shows a report.
func withoutCommands(said string) string {
	return strings.ReplaceAll(workflowCommand.ReplaceAllString(said, `$1\::`), "##[", `##\[`)
}

// mapEach maps a slice. Nil stays nil, and an empty slice stays empty.
func mapEach[T, V any](in []T, f func(T) V) []V {
	if in == nil {
		return nil
	}
	out := make([]V, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// shorten cuts the middle out of a line of more than limit characters: the beginning shows what it is, the end whether
// it is complete.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	tail := limit / 4
	return text.Shorten(s, text.Characters, limit-tail-1, tail, "…")
}

// shortenJSON is shorten for a line that may contain a JSON object. Before it cuts, it removes uninformative members.
func shortenJSON(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return shorten(compactLine(s), limit)
}

// shortenLinesJSON cuts a text to one line of width characters, or returns up to lines lines if nothing has to be cut
// then.
func shortenLinesJSON(s string, lines, width int) []string {
	one := shortenJSON(s, width)
	if whole := compactLine(s); one != s && lines > 1 && utf8.RuneCountInString(whole) <= lines*width {
		return text.BreakLine(whole, width)
	}
	return []string{one}
}

// compactLine removes uninformative members from the JSON object in a line.
func compactLine(s string) string {
	i := strings.IndexByte(s, '{')
	if i < 0 {
		return s
	}
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(s[i:]))
	if d.UseNumber(); d.Decode(&v) != nil {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	writeEssential(&b, v)
	return b.String() + s[i+int(d.InputOffset()):]
}

// writeEssential writes a value without what every message contains. That a result is an error comes first.
func writeEssential(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		first := func(name string) bool { return name == "isError" || name == "error" }
		names = append(filter(names, first), slices.DeleteFunc(names, first)...)
		b.WriteByte('{')
		empty := true
		for _, name := range names {
			if isUninformative(v, name) {
				continue
			}
			if !empty {
				b.WriteByte(',')
			}
			empty = false
			b.WriteString(compactJSON(name) + ":")
			writeEssential(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeEssential(b, x)
		}
		b.WriteByte(']')
	default:
		b.WriteString(compactJSON(v))
	}
}

// isUninformative reports whether a member of an object adds nothing to the others.
func isUninformative(object map[string]any, name string) bool {
	has := func(name string) bool { return object[name] != nil }
	switch name {
	case "_meta":
		return len(object) > 1
	case "jsonrpc", "id":
		return has("jsonrpc") && (has("method") || has("result") || has("error"))
	case "type":
		return object["type"] == "text" && has("text")
	}
	return false
}

// shortenLines keeps at most limit lines of a text, each of at most width characters.
func shortenLines(s string, limit, width int) string {
	all := strings.Split(s, "\n")
	shown := mapEach(all[:min(len(all), limit)], func(line string) string { return shorten(line, width) })
	if left := len(all) - len(shown); left > 0 {
		shown = append(shown, fmt.Sprintf("… %s more", Plural(left, "line")))
	}
	return strings.Join(shown, "\n")
}

// labelled returns a text with a label before it, or "" if there is no text.
func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

// headline returns a message on one line: up to the first "got", so that it says what was expected and received, or
// else its first line.
func headline(message string) string {
	var said string
	for line := range strings.SplitSeq(message, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case said == "":
		case strings.HasSuffix(said, ":"): // a subject
			said += " "
		default:
			said += ", "
		}
		said += line
		if strings.HasPrefix(line, "got ") {
			said, _ = splitHeadline(said) // without the words that introduce more lines
			return said
		}
	}
	said, _ = splitHeadline(message)
	return said
}

// resultTitle returns a headline for tools that list results.
func resultTitle(r report.Result) string { return shorten(headline(r.Message), 300) }

// splitHeadline returns the first line of a text and the others. The part of the first line that introduces the others
// ("the server exited; its last lines:") goes with them.
func splitHeadline(said string) (head, rest string) {
	head, rest, _ = strings.Cut(said, "\n")
	if i := strings.LastIndex(head, "; "); i >= 0 && strings.HasSuffix(head, ":") {
		return head[:i], head[i+2:] + "\n" + rest
	}
	return strings.TrimSuffix(head, ":"), rest
}

// Plural returns a number with a noun: "1 failure", "2 failures", "2 processes".
func Plural(n int, noun string) string {
	ending := "s"
	switch {
	case n == 1:
		ending = ""
	case esPlural.MatchString(noun):
		ending = "es"
	}
	return fmt.Sprintf("%d %s%s", n, noun, ending)
}

// esPlural matches nouns whose plural ends with es.
var esPlural = regexp.MustCompile(`(s|x|z|ch|sh)$`)

// joinSome joins at most limit of the names: "a, b and 3 more".
func joinSome(names []string, limit int) string {
	if len(names) == limit+1 { // "and 1 more" is not shorter than the name.
		limit++
	}
	return joinFirst(names, limit)
}

// joinFirst joins the first of the names and says how many more there are.
func joinFirst(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

// duration returns seconds as people read them: "0.2 s", "1m15s".
func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// serverText returns the name and the version that a server declares.
func serverText(s report.ServerInfo) string { return strings.TrimSpace(s.Name + " " + s.Version) }

// targetText returns the target as one would type it.
func targetText(t report.TargetInfo) string {
	return strings.Join(nonEmpty(t.URL, text.Shell(t.Command...)), " ")
}

// wireLines returns the lines of evidence, at most limit lines of at most width characters. After the end of a process
// follow as many of its stderr lines, once if other processes wrote the same. If there are too many lines, the first
// ones show the setup, the last ones the problem. Each of several sessions has a heading. A session without decisive
// lines is there for comparison.
func wireLines(wire []report.Line, limit, width int) (shown []string) {
	var told []string
	headings, session := sessionHeadings(wire), ""
	for _, l := range report.ShortenEvidence(wire, limit) {
		if l.Direction == report.Event && l.Truncated && strings.HasSuffix(l.Text, " lines left out") {
			shown = append(shown, "… "+l.Text)
			continue
		}
		if l.Session != session {
			session = l.Session
			shown = append(shown, nonEmpty(headings[session])...)
		}
		shown = append(shown, shorten(wireLine(l), width))
		if slices.Equal(l.Stderr, told) {
			continue
		}
		told = l.Stderr
		for _, line := range text.Excerpt(l.Stderr, limit) {
			shown = append(shown, shorten("      stderr: "+line, width))
		}
	}
	return shown
}

// sessionHeadings returns the headings of the sessions in evidence; none for a single session.
func sessionHeadings(wire []report.Line) map[string]string {
	decided, headings := map[string]bool{}, map[string]string{}
	for _, l := range wire {
		headings[l.Session] = "session " + l.Session
		decided[l.Session] = decided[l.Session] || l.Decisive
	}
	if len(headings) < 2 {
		return map[string]string{}
	}
	known := slices.ContainsFunc(wire, func(l report.Line) bool { return l.Decisive })
	for session := range headings {
		if known && !decided[session] {
			headings[session] += ", to compare with"
		}
	}
	return headings
}

// wireLine returns one line of evidence. It says if the message is incomplete, and may have no time.
func wireLine(l report.Line) string {
	at, part := fmt.Sprintf("%.3f", l.Seconds), ""
	if l.Part {
		part = "(part of a message)"
		if l.Seconds == 0 {
			at = strings.Repeat(" ", len(at))
		}
	}
	return at + " " + strings.Join(nonEmpty(l.Arrow, l.HTTP, part, l.Text), " ")
}

// lineBuilder builds a text line by line.
type lineBuilder struct{ strings.Builder }

func (b *lineBuilder) add(line string) { b.WriteString(strings.TrimRight(line, " ") + "\n") }

// addIndented adds lines after a lead that is this number of columns wide, and indents the further ones by as much.
func (b *lineBuilder) addIndented(lead string, columns int, lines []string) {
	for _, line := range lines {
		b.add(lead + line)
		lead = strings.Repeat(" ", columns)
	}
}

// joinParts joins the parts that are not empty: "a · b".
func joinParts(parts ...string) string { return strings.Join(nonEmpty(parts...), " · ") }

func nonEmpty(parts ...string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}
