package text

import (
	"regexp"
	"slices"
	"strings"
)

// Excerpt returns at most n of the lines that a program wrote before it ended. These are the last n lines or, if a
// stack trace begins above them, the first n lines of that trace, since the reason is at its beginning.
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

// traceStart returns the index of the line at which a stack trace begins that reaches above the last n lines. found
// reports whether there is such a trace.
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
	// These patterns match the line in which programs of several languages report why they end, by themselves or
	// because of an error that nobody caught.
	fatalError    = regexp.MustCompile(`^\s*(?:panic: |fatal error: |Fatal Python error: |thread '.*' panicked )`)
	uncaughtError = regexp.MustCompile(
		`^\s*(?:Exception in thread |Unhandled |Uncaught )?[\w.$"' ]*(?:Error|Exception)\b.*: ?`)
)

// How the lines go on that follow: those of the trace, and those that are not indented and belong to it all the same.
var (
	// These patterns match the lines that follow: those of the trace, and those that belong to it although they are not
	// indented.
	stackFrame = regexp.MustCompile(`^\s*(?:goroutine \d|\[signal |(?:Current thread|Thread) 0x|stack backtrace:)|` +
		`^\s+(?:at |File ")`)
	traceEnd = regexp.MustCompile(`^\s*(?:$|\}|Caused by: |Node\.js v)`)
)

// startsTrace reports whether the first line reports why a program ended and a stack trace follows it. If the error was
// caught, other output follows the trace; such a trace does not count.
func startsTrace(lines []string) bool {
	const near = 4
	if !slices.ContainsFunc(lines[1:min(near, len(lines))], stackFrame.MatchString) {
		return false
	}
	continues := func(line string) bool {
		return indentation(line) > indentation(lines[0]) || traceEnd.MatchString(line)
	}
	return fatalError.MatchString(lines[0]) ||
		uncaughtError.MatchString(lines[0]) && !slices.ContainsFunc(lines[1:],
			func(line string) bool { return !continues(line) })
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// CrashLines returns the lines of a program's output that tell most about a crash: the error, and the nearest place in
// the program's own source. If there is no such error it returns the last line that is not blank.
func CrashLines(lines []string) (crash []string) {
	why := -1
	for i, line := range lines {
		if fatalError.MatchString(line) || uncaughtError.MatchString(line) && !stackFrame.MatchString(line) {
			why = i
		}
	}
	if why < 0 {
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				crash = []string{strings.TrimSpace(line)}
			}
		}
		return crash
	}
	crash = []string{strings.TrimSpace(lines[why])}
	if where := programFrame(lines, why); where != "" {
		crash = append(crash, where)
	}
	return crash
}

// programFrame returns the frame of a stack trace that is nearest to the error and not in a library. Python prints the
// frames before the error in line why, other languages after it. It returns "" if there is none.
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
	// sourceLocation matches a stack frame that names a place in a source file, libraryFrame one in code that is not
	// part of the program itself.
	sourceLocation = regexp.MustCompile(`^\s+(?:at |File "|\S*\.(?:go|rs):\d)`)
	libraryFrame   = regexp.MustCompile(`/lib/python|site-packages|<frozen|node_modules|` +
		`node:|\(native\)|/rustc/|go/src/|pkg/mod/`)
)
