package yamlfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// syntaxErrorText says where a text is not YAML, and what to do. The errors of the library have no column, and the line
// of what surrounds the mistake.
func syntaxErrorText(content []byte, err error) string {
	lines := strings.SplitAfter(string(content), "\n")
	broken := readableLines(lines)
	line := lines[min(broken, len(lines)-1)]
	indent := indentation(line, " ")
	problem := libraryPrefix.ReplaceAllString(err.Error(), "")
	switch {
	case strings.HasPrefix(line[indent:], "\t"):
		return fmt.Sprintf(":%d:%d: this begins with a tab; YAML is indented with spaces", broken+1, indent+1)
	case isMisindented(lines[:broken], line, problem):
		return fmt.Sprintf(":%d:%d: its indentation is wrong; indent it like the line above", broken+1, indent+1)
	}
	return fmt.Sprintf(":%d:%d: %s%s", broken+1, indent+1, problem, hints[problem])
}

// libraryPrefix matches what errors of the library begin with.
var libraryPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

// hints say what to do about problems that the library names.
var hints = map[string]string{
	"mapping values are not allowed in this context": `; quote a text that contains ": ", ` +
		"and write a colon after each key",
	"could not find expected ':'":                 "; write a colon and a space after each key",
	"found unexpected end of stream":              "; close the quote that begins here",
	"found character that cannot start any token": "; quote a text that begins with @, % or `",
}

// readableLines returns how many lines at the beginning of a text can be read without the rest. The mistake is in the
// line after them, or in what begins there. The steps are large at first, then small, since a list or text of several
// lines cannot be read in part.
func readableLines(lines []string) (readable int) {
	for step := len(lines) - 1; step > 0; {
		n := readable + step
		switch {
		case n < len(lines) && yaml.Unmarshal([]byte(strings.Join(lines[:n], "")), new(yaml.Node)) == nil:
			readable, step = n, len(lines)-1
		case step > longestValue:
			step /= 2
		default:
			step--
		}
	}
	return readable
}

// longestValue is how many lines a list or text is expected to have at most.
const longestValue = 32

// isMisindented reports whether a line is indented deeper than the one above, which begins nothing, or less deep than
// that where no map is continued.
func isMisindented(before []string, line, problem string) bool {
	for _, above := range slices.Backward(before) {
		above, _, _ = strings.Cut(above, " #")
		above = strings.TrimRight(above, " \r\n")
		if above == "" || strings.HasPrefix(strings.TrimLeft(above, " "), "#") {
			continue
		}
		// The keys of a map in a list are indented like the first one, which follows the dash.
		deeper := indentation(line, " -") - indentation(above, " -")
		return deeper > 0 && !strings.HasSuffix(above, ":") || deeper < 0 && problem == "did not find expected key"
	}
	return false
}

// indentation returns how many of the given characters a line begins with.
func indentation(line, chars string) int { return len(line) - len(strings.TrimLeft(line, chars)) }
