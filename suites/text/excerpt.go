package text

import (
	"regexp"
	"slices"
	"strings"
)

// Excerpt is at most n of the lines that a program wrote before it ended: the last ones, or the first of the trace of
// its stack if that reaches further up, for there it says why.
func Excerpt(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	begin, traced := traceStart(lines, n)
	if !traced {
		begin = len(lines) - n
	}
	return lines[begin : begin+n]
}

// traceStart is where the trace of a stack begins that reaches further up than the last n lines, and whether one does.
func traceStart(lines []string, n int) (begin int, found bool) {
	for i := len(lines) - n - 1; i >= 0; i-- {
		if startsTrace(lines[i:]) {
			return i, true
		}
	}
	return 0, false
}

// How languages begin to say why a program ends, of itself or because nothing has caught an error.
var (
	fatalError    = regexp.MustCompile(`^\s*(?:panic: |fatal error: |Fatal Python error: |thread '.*' panicked )`)
	uncaughtError = regexp.MustCompile(
		`^\s*(?:Exception in thread |Unhandled |Uncaught )?[\w.$"' ]*(?:Error|Exception)\b.*: ?`)
)

// How the lines go on that follow: those of the trace, and those that are not indented and belong to it all the same.
var (
	stackFrame = regexp.MustCompile(`^\s*(?:goroutine \d|\[signal |(?:Current thread|Thread) 0x|stack backtrace:)|` +
		`^\s+(?:at |File ")`)
	traceEnd = regexp.MustCompile(`^\s*(?:$|\}|Caused by: |Node\.js v)`)
)

// startsTrace reports whether the first line says why a program ended, and the trace of its stack follows. An error
// that was caught has more after its trace.
func startsTrace(lines []string) bool {
	const near = 4
	if !slices.ContainsFunc(lines[1:min(near, len(lines))], stackFrame.MatchString) {
		return false
	}
	goesOn := func(line string) bool { return indentation(line) > indentation(lines[0]) || traceEnd.MatchString(line) }
	return fatalError.MatchString(lines[0]) ||
		uncaughtError.MatchString(lines[0]) && !slices.ContainsFunc(lines[1:],
			func(line string) bool { return !goesOn(line) })
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// CrashLines are the lines of a program's last words that tell most of a crash: what was wrong, and where in the
// program itself; of others the last one.
func CrashLines(lines []string) (told []string) {
	why := -1
	for i, line := range lines {
		if fatalError.MatchString(line) || uncaughtError.MatchString(line) && !stackFrame.MatchString(line) {
			why = i
		}
	}
	if why < 0 {
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				told = []string{strings.TrimSpace(line)}
			}
		}
		return told
	}
	told = []string{strings.TrimSpace(lines[why])}
	if where := programFrame(lines, why); where != "" {
		told = append(told, where)
	}
	return told
}

// programFrame is the nearest frame of a trace that is not one of a library: Python's stand before the error, those of
// others after it. It is empty where there is none.
func programFrame(lines []string, why int) string {
	nearest := func(line string) bool { return sourceLocation.MatchString(line) && !libraryFrame.MatchString(line) }
	for _, line := range slices.Backward(lines[:why]) {
		if nearest(line) && strings.HasPrefix(strings.TrimSpace(line), `File "`) {
			return strings.TrimSpace(line)
		}
	}
	if i := slices.IndexFunc(lines[why:], nearest); i >= 0 {
		return strings.TrimSpace(lines[why+i])
	}
	return ""
}

// place is a frame with its place in a source, library one of code that others wrote.
var (
	sourceLocation = regexp.MustCompile(`^\s+(?:at |File "|\S*\.(?:go|rs):\d)`)
	libraryFrame   = regexp.MustCompile(`/lib/python|site-packages|<frozen|node_modules|` +
		`node:|\(native\)|/rustc/|go/src/|pkg/mod/`)
)
