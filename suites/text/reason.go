package text

import (
	"regexp"
	"slices"
	"strings"
)

// Reason is the line of a program's last words that says best why it has ended, and whether it says so itself: whether
// it begins as an error does. Otherwise it is the last that names a variable, or the last one; empty where there are
// none.
func Reason(lines []string) (line string, plain bool) {
	for _, pattern := range []*regexp.Regexp{unpublished, complaint} {
		if i := slices.IndexFunc(lines, pattern.MatchString); i >= 0 {
			return lines[i], true
		}
	}
	for _, pattern := range []*regexp.Regexp{exception, unset, anything} {
		for _, line := range slices.Backward(lines) {
			if pattern.MatchString(line) {
				return line, pattern == exception
			}
		}
	}
	return "", false
}

var (
	unpublished = regexp.MustCompile(`^npm .* is not in this registry`)
	complaint   = regexp.MustCompile(`^\W*(?i:error|fatal|panic)\b`)
	exception   = regexp.MustCompile(`^[\w.$]*(?:Error|Exception)\b`)
	unset       = regexp.MustCompile(`^\S.*` + variable.String())
	anything    = regexp.MustCompile(`\S`)
)

// variable is the name of an environment variable that holds a secret, or says where something is.
var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*` +
	`(?:KEY|TOKEN|PAT|SECRET|PASSWORD|CREDENTIALS?|URL|URI|DSN|HOST|USER|USERNAME|ID)\b`)

// Variable is the first environment variable that a line names; empty when it names none.
func Variable(line string) string { return variable.FindString(line) }

// Opening are at most eight of the lines that a program wrote before it ended, beside the Reason: the trace of its
// stack, or the first three and the last five. Its usage goes where it says itself what is wrong.
func Opening(lines []string) []string {
	const first, last = 3, 5
	reason, plain := Reason(lines)
	if i := slices.IndexFunc(lines, usage.MatchString); plain && i >= 0 {
		lines = lines[:i]
	}
	if from, traced := trace(lines, first+last); traced {
		lines = lines[from : from+first+last]
	}
	others := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return line == reason || strings.TrimSpace(line) == ""
	})
	if left := len(others) - first - last; left > 0 {
		return slices.Concat(others[:first], []string{"…"}, others[first+left:])
	}
	return others
}

var usage = regexp.MustCompile(`(?i)^\s*usage\b`)
