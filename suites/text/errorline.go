package text

import (
	"regexp"
	"slices"
	"strings"
)

// ErrorLines returns the line of a program's output that explains best why it ended. If one of the next two lines names
// an environment variable, the lines up to that one are included. It returns nil when there are no lines.
func ErrorLines(lines []string) []string {
	at, _ := errorLine(lines)
	if at < 0 {
		return nil
	}
	const next = 2
	for i, line := range lines[at:min(at+1+next, len(lines))] {
		if strings.TrimSpace(line) == "" || usageLine.MatchString(line) {
			break
		}
		if EnvVariable(line) != "" {
			return lines[at : at+i+1]
		}
	}
	return lines[at : at+1]
}

// HasErrorLine reports whether one of the lines is recognizable as an error message.
func HasErrorLine(lines []string) bool {
	_, plain := errorLine(lines)
	return plain
}

// errorLine returns the index of the line that explains why a program ended. plain reports whether it is recognizable
// as an error message. Otherwise the index is that of the last line that names an environment variable, or of the last
// line that is not blank; -1 if there is none.
func errorLine(lines []string) (at int, plain bool) {
	for _, pattern := range []*regexp.Regexp{npmNotFound, errorPrefix} {
		if i := slices.IndexFunc(lines, pattern.MatchString); i >= 0 {
			return i, true
		}
	}
	for _, pattern := range []*regexp.Regexp{exceptionName, variableLine, nonBlank} {
		for i, line := range slices.Backward(lines) {
			if pattern.MatchString(line) {
				return i, pattern == exceptionName
			}
		}
	}
	return -1, false
}

var (
	npmNotFound   = regexp.MustCompile(`^npm .* is not in this registry`)
	errorPrefix   = regexp.MustCompile(`^\W*(?i:error|fatal|panic)\b`)
	exceptionName = regexp.MustCompile(`^[\w.$]*(?:Error|Exception)\b`)
	variableLine  = regexp.MustCompile(`^\S.*` + envVariable.String())
	nonBlank      = regexp.MustCompile(`\S`)
)

// envVariable matches the name of an environment variable that holds a secret or an address.
var envVariable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*` +
	`(?:KEY|TOKEN|PAT|SECRET|PASSWORD|CREDENTIALS?|URL|URI|DSN|HOST|USER|USERNAME|ID)\b`)

// EnvVariable returns the first environment variable that a line names, or "" if it names none.
func EnvVariable(line string) string { return envVariable.FindString(line) }

// OtherLinesExcerpt returns at most eight of the lines that OtherLines returns: the beginning of the stack trace or, if
// there is none, the first three and the last five. Usage text is left out if an error message explains the end.
func OtherLinesExcerpt(lines []string) []string {
	const first, last = 3, 5
	why := ErrorLines(lines)
	if i := slices.IndexFunc(lines, usageLine.MatchString); HasErrorLine(lines) && i >= 0 {
		lines = lines[:i]
	}
	if from, traced := traceStart(lines, first+last); traced {
		lines = lines[from : from+first+last]
	}
	others := without(lines, why)
	if left := len(others) - first - last; left > 0 {
		return slices.Concat(others[:first], []string{"…"}, others[first+left:])
	}
	return others
}

// OtherLines returns all lines that a program wrote before it ended, except blank ones and those of ErrorLines.
func OtherLines(lines []string) []string { return without(lines, ErrorLines(lines)) }

// without returns the lines that are neither blank nor among these.
func without(lines, these []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.Contains(these, line) || strings.TrimSpace(line) == ""
	})
}

var usageLine = regexp.MustCompile(`(?i)^\s*usage\b`)
