package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	for name, c := range map[string]struct {
		before string // the first lines of the output
		after  string // a line that is repeated twelve times after them, with numbers
		first  string // the beginning of the excerpt
	}{
		"few lines":         {"one\ntwo", "", "one"},
		"a log":             {"starting", "request", "request 8"},
		"an error in a log": {"starting\nError: retrying", "request", "request 8"},
		"a caught error":    {"Error: one\n    at f\nserving", "request", "request 8"},

		"Go":                  {"starting\npanic: nil map\n\ngoroutine 1 [running]:\nf()", "r", "panic: nil"},
		"Go, a signal":        {"panic: nil pointer\n[signal SIGSEGV: violation]", "r", "panic: nil"},
		"Go, many goroutines": {"fatal error: all asleep\n\ngoroutine 1 [running]:", "goroutine", "fatal error"},
		"Python, a signal":    {"Fatal Python error: Aborted\n\nCurrent thread 0x7f (most recent):", "  File", "Fatal"},
		"Node":                {"x.js:3\n  throw e\n\nTypeError: no\n    at f (x.js:3:9)", "    at", "TypeError: no"},
		"Java":                {"Exception in thread \"main\" java.lang.Error: no\n\tat a.b()", "\tat", "Exception"},
		"Rust":                {"thread 'main' panicked at m.rs:2:5:\nno\nstack backtrace:", "   0:", "thread 'main'"},
		"the last of several": {"Error: one\n    at f\nError: two\n    at f", "    at", "Error: two"},
		"an indented trace":   {"  Error: one\n      at f", "      at", "  Error: one"},
		"an indented caught":  {"  Error: one\n      at f\n  serving", "  request", "  request 8"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(c.before, "\n")
			for i := range 12 {
				if c.after != "" {
					lines = append(lines, fmt.Sprint(c.after, " ", i))
				}
			}
			got := Excerpt(lines, 4)
			if len(got) != min(4, len(lines)) || !strings.HasPrefix(got[0], c.first) {
				t.Errorf("the excerpt is %q, want it to begin with %q", got, c.first)
			}
		})
	}
	many := slices.Repeat([]string{"a"}, 20)
	if got := Excerpt(many, 1000); len(got) != 20 {
		t.Errorf("got %d lines of 20, with a limit of 1000", len(got))
	}
}

func TestCrashLines(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"nothing": {"", ""},
		"a log":   {"starting\nout of disk\n\n", "out of disk"},
		"Python": {
			"Traceback (most recent call last):\n  File \"server.py\", line 9, in main\n    run()\n" +
				"  File \"/usr/lib/python3.11/json/decoder.py\", line 353, in raw_decode\n    scan()\nValueError: no",
			"ValueError: no\nFile \"server.py\", line 9, in main",
		},
		"Node": {
			"x.js:3\n  throw e\n\nTypeError: no\n    at parse (node:fs:1:1)\n    at f (x.js:3:9)\n    at g (x.js)",
			"TypeError: no\nat f (x.js:3:9)",
		},
		"Go": {
			"panic: nil map\n\ngoroutine 1 [running]:\nmain.f()\n\t/src/main.go:4 +0x1",
			"panic: nil map\n/src/main.go:4 +0x1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(CrashLines(strings.Split(c.said, "\n")), "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
