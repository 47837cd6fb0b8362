package text

import (
	"regexp"
	"slices"
	"strings"
)

// ErrorLines is the line of a program's last words that says best why it has ended, with those just after it up to one
// that names a variable, if that is one of the next two; empty where there are no words.
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

// HasErrorLine reports whether a program's last words say themselves why it has ended.
func HasErrorLine(lines []string) bool {
	_, plain := errorLine(lines)
	return plain
}

// errorLine is which line says why a program has ended, and whether it says so itself: whether it begins as an error
// does. Otherwise it is the last that names a variable, or the last one; -1 where there is none.
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

// envVariable is the name of an environment variable that holds a secret, or says where something is.
var envVariable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*` +
	`(?:KEY|TOKEN|PAT|SECRET|PASSWORD|CREDENTIALS?|URL|URI|DSN|HOST|USER|USERNAME|ID)\b`)

// EnvVariable is the first environment variable that a line names; empty when it names none.
func EnvVariable(line string) string { return envVariable.FindString(line) }

// OtherLinesExcerpt are at most eight of the lines that a program wrote before it ended, beside ErrorLines: the trace
// of its stack, or the first three and the last five. Its usage goes where it says itself what is wrong.
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

// OtherLines are all lines that a program wrote before it ended, beside ErrorLines.
func OtherLines(lines []string) []string { return without(lines, ErrorLines(lines)) }

// without are lines that are neither blank nor among these.
func without(lines, these []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.Contains(these, line) || strings.TrimSpace(line) == ""
	})
}

var usageLine = regexp.MustCompile(`(?i)^\s*usage\b`)
