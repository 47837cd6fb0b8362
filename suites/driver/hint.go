package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// ProcessOutput is what is known of a server whose output mcpcheck does not understand. A hint depends on nothing else.
type ProcessOutput struct {
	// Stdout is the beginning of what the server wrote to stdout, with its line endings.
	Stdout []byte
	// Stderr is the beginning of what the server wrote to stderr.
	Stderr []byte
	// Sent holds the first lines that mcpcheck sent.
	Sent [][]byte
	// SilentUntilEOF reports whether the server wrote nothing until its stdin was closed.
	SilentUntilEOF bool
}

// Hint returns what the output looks like and how to fix it, or "" if no rule matches. It is a guess: it accompanies
// the facts and never replaces them.
func (s ProcessOutput) Hint() string {
	for _, sent := range s.Sent {
		if len(sent) > 0 && bytes.HasPrefix(bytes.TrimSpace(s.Stdout), sent) {
			return "it sends back what it is sent: is the command an MCP server?"
		}
	}
	if hint := StdoutHint(s.Stdout); hint != "" {
		return hint
	}
	line, _, ended := bytes.Cut(s.Stdout, []byte("\n"))
	message := responsePattern.Match(s.Stdout)
	switch name := repeatedMember(line); {
	case name != "":
		return "its message has the member " + name + " more than once"
	case message && s.SilentUntilEOF:
		return "the answer came once stdin was closed: flush stdout after each message" +
			" (in Python: flush=True, or python -u), and answer each line when it comes; " +
			"a server that only starts slowly wants a longer --start-timeout"
	case message && !ended:
		return "there is no newline after its message: write one after each, and flush"
	case !message && responsePattern.Match(s.Stderr):
		return "its messages are on stderr: write them to stdout"
	}
	all := append(bytes.Clone(s.Stdout), s.Stderr...)
	if hint := matchingHint(outputRules, all); hint != "" {
		return hint
	}
	if usagePattern.Match(all) && !text.HasErrorLine(strings.Split(string(all), "\n")) {
		return "it printed its usage: an argument or a variable may be missing"
	}
	return ""
}

var usagePattern = regexp.MustCompile(`(?im)^\s*usage:`)

// StdoutHint returns the hint for a text on stdout that is not a message, or "" if no rule matches.
func StdoutHint(output []byte) string {
	if hint := matchingHint(stdoutRules, output); hint != "" {
		return hint
	}
	line, _, ended := bytes.Cut(output, []byte("\n"))
	err := json.NewDecoder(bytes.NewReader(line)).Decode(new(json.RawMessage))
	switch {
	case hasSeveralObjects(line):
		return "there are several messages in one line: write a newline after each"
	case err == io.ErrUnexpectedEOF && messageStartPattern.Match(line):
		return fmt.Sprintf("its message breaks off in the middle, after %d bytes", len(line))
	case err != nil && ended && objectPattern.Match(line):
		return "it is not JSON: " + err.Error()
	}
	return ""
}

var messageStartPattern = regexp.MustCompile(`^\s*\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:`)

// objectPattern matches a line that is probably meant as a message.
var objectPattern = regexp.MustCompile(`^\s*\{.*["']jsonrpc["']`)

// hintRule is a pattern in the output of a server with the hint for it. The hint may contain groups of the pattern,
// such as $1.
type hintRule struct {
	pattern *regexp.Regexp
	hint    string
}

func matchingHint(signs []hintRule, output []byte) string {
	for _, s := range signs {
		if m := s.pattern.FindSubmatchIndex(output); m != nil {
			return string(s.pattern.Expand(nil, []byte(s.hint), output, m))
		}
	}
	return ""
}

var responsePattern = regexp.MustCompile(`(?m)^\s*\{.*"(?:result|error)"\s*:`)

// stdoutRules are the rules for a text on stdout, the more certain ones first.
var stdoutRules = []hintRule{
	{regexp.MustCompile(`^[^ -~]{0,4}(?:\{\x00|\x00\{)`), "it looks like UTF-16: write UTF-8"},
	{regexp.MustCompile(`^\x{feff}`), "it begins with a byte order mark: write UTF-8 without one"},
	{regexp.MustCompile(`^[^{]*\{.*\}\x00`),
		"its messages end with a NUL byte: end each with a newline, and nothing else"},
	{regexp.MustCompile(`(?i)^\s*Content-Length:\s*\d`),
		"it has Content-Length headers, as the Language Server Protocol wants them:" +
			" write each message on a line of its own, without headers"},
	{regexp.MustCompile(`(?m)^\{\s*\n\s*"`), "its messages span several lines: write JSON without indentation"},
	{regexp.MustCompile(`(?m)^data:\s*\{.*"jsonrpc"`),
		"it is an event stream, as servers over HTTP write it:" +
			" write each message on a line of its own, and nothing else"},
	{regexp.MustCompile(`(?m)^[^{\n]*[^{\s][^{\n]*\{.*"(?:result|error)"\s*:.*\}$`),
		"there is a text before its message on the same line: write that to stderr"},
}

var outputRules = []hintRule{
	{regexp.MustCompile(`Need to install the following packages|Ok to proceed\?`),
		"npx asks before it installs: use npx -y"},
	{regexp.MustCompile(`(?i)(?:listening|running|serving|served|started|available|ready)\b[^\n]{0,60}?` +
		`(https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?:[^\s"',;)]*[^\s"',;).])?)`),
		"it looks like a server over HTTP: use --url $1"},
	{regexp.MustCompile(`(?i)\blistening (?:on|at) (?:port|:)\s*\d+`), "it looks like a server over HTTP: use --url"},
	{regexp.MustCompile(`(?m)^(?:\S*/)?env: .*(?:\r|\\r).{0,4}: No such file`),
		"its first line ends as lines of Windows do: save the script with LF, not CRLF"},
}

// repeatedMember returns the first member that a JSON object has more than once, or "" if there is none.
func repeatedMember(line []byte) string {
	d := json.NewDecoder(bytes.NewReader(line))
	if begin, _ := d.Token(); begin != json.Delim('{') {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		token, _ := d.Token()
		name, isName := token.(string)
		if isName && seen[name] && json.Valid(line) {
			return name
		}
		if !isName || d.Decode(new(json.RawMessage)) != nil {
			return ""
		}
		seen[name] = true
	}
	return ""
}

// hasSeveralObjects reports whether a line begins with a JSON object that another one follows.
func hasSeveralObjects(line []byte) bool {
	d := json.NewDecoder(bytes.NewReader(line))
	var first map[string]json.RawMessage
	return d.Decode(&first) == nil && bytes.HasPrefix(bytes.TrimSpace(line[d.InputOffset():]), []byte("{"))
}

// EndAndCollectOutput ends the session and returns what is known of its server. It ends the session first because a
// server that is not understood may write more then.
func (p *Stdio) EndAndCollectOutput() ProcessOutput {
	const most = 4 << 10
	mark := p.s.Mark()
	silent := len(p.s.ReceivedSince(0)) == 0 && p.PartialBytes() == 0
	p.CloseStdin()
	p.AwaitExit(timing.LastOutput)
	p.kill()
	p.AwaitExit(timing.LastOutput)
	stderr, _ := p.Stderr()
	s := ProcessOutput{Stderr: stderr, SilentUntilEOF: silent && len(p.s.ReceivedSince(mark)) > 0}
	for _, f := range p.s.FramesSince(0) {
		switch {
		case f.Side == FromClient && len(s.Sent) < 2:
			s.Sent = append(s.Sent, f.Raw.Bytes())
		case f.Side == FromServer && len(s.Stdout) < most:
			s.Stdout = append(s.Stdout, f.Raw.Bytes()...)
			if f.Complete {
				s.Stdout = append(s.Stdout, '\n')
			}
		}
	}
	return s
}

// StdoutLines returns the lines that the server wrote to stdout, or nil if it wrote nothing, no text, or a message.
func (s ProcessOutput) StdoutLines() []string {
	output := strings.TrimSpace(string(s.Stdout))
	if output == "" || !utf8.ValidString(output) || responsePattern.MatchString(output) {
		return nil
	}
	return strings.Split(output, "\n")
}
