package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestErrorLines(t *testing.T) {
	for name, c := range map[string]struct {
		said, want string
		variable   string
	}{
		"nothing":               {},
		"blank lines":           {"\n \n", "", ""},
		"the last line":         {"starting\nstopped\n", "stopped", ""},
		"an error before usage": {"Error: set X_TOKEN\nUsage: a [b]\n  --c", "Error: set X_TOKEN", "X_TOKEN"},
		"the first of two":      {"fatal: one\nerror: two", "fatal: one", ""},
		"a prefix before it":    {"[ERROR] no key\nbye", "[ERROR] no key", ""},
		"a word that begins so": {"errors are logged\nbye", "bye", ""},
		"Python":                {"Traceback:\nKeyError: 'A_KEY'\n", "KeyError: 'A_KEY'", "A_KEY"},
		"the last exception":    {"ValueError: a\nDuring handling\nKeyError: b", "KeyError: b", ""},
		"Node":                  {"x.js:1\nTypeError: no\n    at f\n\nNode.js v20", "TypeError: no", ""},
		"npm": {
			"npm error code E404\nnpm error 404  'x@*' is not in this registry.",
			"npm error 404  'x@*' is not in this registry.", "",
		},
		"a variable, then a log line": {"please set ACME_API_KEY\nbye", "please set ACME_API_KEY", "ACME_API_KEY"},
		"an option of its usage":      {"usage: a\n  --key  also ACME_API_KEY\nbye", "bye", ""},
		"a variable on the next line": {
			"starting\nError: no token.\nRun `x login`, or set X_ACCESS_TOKEN.\nbye",
			"Error: no token.\nRun `x login`, or set X_ACCESS_TOKEN.", "X_ACCESS_TOKEN",
		},
		"a variable in the usage":  {"Error: no\nUsage: a\n --key X_KEY", "Error: no", ""},
		"a variable far below":     {"Error: no\na\nb\nset X_KEY", "Error: no", ""},
		"after a blank line":       {"Error: no\n\nenv X_KEY", "Error: no", ""},
		"a code is not a variable": {"code: 'MODULE_NOT_FOUND'", "code: 'MODULE_NOT_FOUND'", ""},
		"a value is not the name":  {"Error: ACME_TOKEN=abc is wrong", "Error: ACME_TOKEN=abc is wrong", "ACME_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(ErrorLines(strings.Split(c.said, "\n")), "\n")
			if got != c.want || EnvVariable(got) != c.variable {
				t.Errorf("got %q with variable %q, want %q with %q", got, EnvVariable(got), c.want, c.variable)
			}
		})
	}
}

func TestOtherLinesExcerpt(t *testing.T) {
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprint("line ", i))
	}
	trace := append([]string{"one", "two", "panic: nil map", "", "goroutine 1 [running]:"}, many...)
	for name, c := range map[string]struct{ lines, want []string }{
		"nothing":            {},
		"the reason":         {[]string{"bye"}, nil},
		"others":             {[]string{"a", "", "error: b", "c"}, []string{"a", "c"}},
		"without ErrorLines": {[]string{"a", "error: b", "set X_KEY", "c"}, []string{"a", "c"}},
		"usage":              {[]string{"a", "error: b", "Usage: c", "  -d"}, []string{"a"}},
		"usage alone":        {[]string{"Usage: c", "  -d"}, []string{"Usage: c"}},
		"first and last":     {many, append(append(slices.Clone(many[:3]), "…"), many[14:19]...)},
		"from the trace":     {trace, append([]string{"goroutine 1 [running]:"}, many[:5]...)},
		"a log and error": {
			append([]string{"error: x"}, many...), append(append(slices.Clone(many[:3]), "…"), many[15:]...),
		},
	} {
		if got := OtherLinesExcerpt(c.lines); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
