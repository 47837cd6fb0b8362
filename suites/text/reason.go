package text

import (
	"regexp"
	"slices"
	"strings"
)

// Why is the line of a program's last words that says best why it has ended, with those just after it up to one that
// names a variable, if that is one of the next two; empty where there are no words.
func Why(lines []string) []string {
	at, _ := reason(lines)
	if at < 0 {
		return nil
	}
	const next = 2
	for i, line := range lines[at:min(at+1+next, len(lines))] {
		if strings.TrimSpace(line) == "" || usage.MatchString(line) {
			break
		}
		if Variable(line) != "" {
			return lines[at : at+i+1]
		}
	}
	return lines[at : at+1]
}

// Complains reports whether a program's last words say themselves why it has ended.
func Complains(lines []string) bool {
	_, plain := reason(lines)
	return plain
}

// reason is which line says why a program has ended, and whether it says so itself: whether it begins as an error does.
// Otherwise it is the last that names a variable, or the last one; -1 where there is none.
func reason(lines []string) (at int, plain bool) {
	for _, pattern := range []*regexp.Regexp{unpublished, complaint} {
		if i := slices.IndexFunc(lines, pattern.MatchString); i >= 0 {
			return i, true
		}
	}
	for _, pattern := range []*regexp.Regexp{exception, unset, anything} {
		for i, line := range slices.Backward(lines) {
			if pattern.MatchString(line) {
				return i, pattern == exception
			}
		}
	}
	return -1, false
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

// Opening are at most eight of the lines that a program wrote before it ended, beside Why: the trace of its stack, or
// the first three and the last five. Its usage goes where it says itself what is wrong.
func Opening(lines []string) []string {
	const first, last = 3, 5
	why := Why(lines)
	if i := slices.IndexFunc(lines, usage.MatchString); Complains(lines) && i >= 0 {
		lines = lines[:i]
	}
	if from, traced := trace(lines, first+last); traced {
		lines = lines[from : from+first+last]
	}
	others := without(lines, why)
	if left := len(others) - first - last; left > 0 {
		return slices.Concat(others[:first], []string{"…"}, others[first+left:])
	}
	return others
}

// Others are all lines that a program wrote before it ended, beside Why.
func Others(lines []string) []string { return without(lines, Why(lines)) }

// without are lines that are neither blank nor among these.
func without(lines, these []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.Contains(these, line) || strings.TrimSpace(line) == ""
	})
}

var usage = regexp.MustCompile(`(?i)^\s*usage\b`)
