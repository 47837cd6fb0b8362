package mcptest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/faults"
)

// builtInServer returns the built-in server over a pipe, with a fault or none.
func builtInServer(f fixtures.Fault) Server {
	return Pipe(func(ctx context.Context, in io.Reader, out io.Writer) error {
		if status := fixtures.Serve(ctx, fixtures.Stdio{In: in, Out: out, Err: io.Discard}, f); status != 0 {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
}

func faultOf(t *testing.T, check string) fixtures.Fault {
	t.Helper()
	for _, f := range faults.All() {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("there is no fault of %s", check)
	return fixtures.Fault{}
}

// TestConformingServer checks that a conforming server passes in both eras and over HTTP. The proofs of package
// fixtures show that for all requirements.
func TestConformingServer(t *testing.T) {
	t.Run("2025-06-18", func(t *testing.T) {
		t.Parallel()
		Run(t, builtInServer(fixtures.Fault{}), Revision("2025-06-18"), Profile("spec"))
	})
	t.Run("2026-07-28", func(t *testing.T) {
		t.Parallel()
		Run(t, builtInServer(fixtures.Fault{}), Revision("2026-07-28"), Profile("spec"), Only("discover", "tools"))
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(fixtures.Handler(t.Context(), fixtures.HTTPOptions{}, fixtures.Fault{}))
		defer web.Close()
		Run(t, URL(web.URL+"/mcp"), Revision("2025-11-25"), Only("tools", "http"))
	})
}

// TestScenario runs one of the scenarios of TestOutputOfScenarios, in a process of its own since some of them fail.
func TestScenario(t *testing.T) {
	name := os.Getenv("MCPTEST_SCENARIO")
	if name == "" {
		t.Skip("run by TestOutputOfScenarios")
	}
	ping := faultOf(t, "ping/empty-result")
	baseline := Baseline(os.Getenv("MCPTEST_BASELINE"))
	in := Revision("2025-11-25")
	switch name {
	case "conforming":
		Run(t, builtInServer(fixtures.Fault{}), in, Only("ping", "logging"))
	case "faulty":
		Run(t, builtInServer(ping), in, Only("ping"))
	case "known", "stale":
		f := map[string]fixtures.Fault{"known": ping}[name]
		Run(t, builtInServer(f), in, Only("ping"), baseline)
	case "panics":
		Run(t, Pipe(func(context.Context, io.Reader, io.Writer) error { panic("oh") }), Only("ping"))
	case "error":
		Run(t, Pipe(func(context.Context, io.Reader, io.Writer) error { return errors.New("no database") }))
	case "endless": // never ends
		Run(t, Pipe(func(context.Context, io.Reader, io.Writer) error { select {} }),
			Timeout(100*time.Millisecond), Budget(time.Second))
	case "nothing":
		Run(t, Server{})
	case "profile":
		Run(t, builtInServer(ping), Profile("lax"))
	case "check":
		Run(t, builtInServer(ping), Only("pings"))
	case "revision":
		Run(t, builtInServer(ping), Revision("2020-01-01"))
	case "file":
		Run(t, builtInServer(ping), Baseline("nowhere.yaml"))
	case "header":
		Run(t, builtInServer(ping), Header("X-A", "b"))
	}
}

// TestOutputOfScenarios checks the results and the output of go test for each scenario.
func TestOutputOfScenarios(t *testing.T) {
	baseline := filepath.Join(t.TempDir(), "known.yaml")
	text := "- check: ping/empty-result\n  reason: to be fixed in spring\n"
	if err := os.WriteFile(baseline, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fails bool
		says  []string
		tests map[string]string
	}{
		"conforming": {tests: map[string]string{
			"": "pass", "/ping": "pass", "/ping/empty-result": "pass",
		}},
		"faulty": {
			fails: true,
			says: []string{
				"MUST ping/empty-result: ", "expected ", "got ", `→ {"id":`, `← {`,
				"spec: https://modelcontextprotocol.io/", "fix: Answer ping with the result {}.",
			},
			tests: map[string]string{"": "fail", "/ping": "fail", "/ping/empty-result": "fail"},
		},
		"known": {
			says:  []string{"a known failure: to be fixed in spring"},
			tests: map[string]string{"": "pass", "/ping/empty-result": "skip"},
		},
		"stale":    {fails: true, says: []string{"the baseline is stale: ping/empty-result: "}},
		"panics":   {fails: true, says: []string{"mcptest: the server could not be tested: ", "status 2", "panic: oh"}},
		"error":    {fails: true, says: []string{"mcptest: the server could not be tested: ", "no database"}},
		"endless":  {fails: true, says: []string{"mcptest: "}},
		"nothing":  {fails: true, says: []string{"mcptest: there is no server; give that of Pipe or URL"}},
		"profile":  {fails: true, says: []string{`mcptest: unknown profile "lax"`}},
		"check":    {fails: true, says: []string{`mcptest: no check "pings"`}},
		"revision": {fails: true, says: []string{`mcptest: unknown protocol revision "2020-01-01" (have 2024-11-05, `}},
		"file":     {fails: true, says: []string{"mcptest: cannot read the baseline: open nowhere.yaml"}},
		"header":   {fails: true, says: []string{"mcptest: the option Header wants a server of URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tests, output, err := scenario(t, name, baseline)
			var exited *exec.ExitError
			if errors.As(err, &exited) != c.fails {
				t.Errorf("%v\n%s", err, output)
			}
			for _, want := range c.says {
				if !strings.Contains(output, want) {
					t.Errorf("the output does not contain %q:\n%s", want, output)
				}
			}
			for test, want := range c.tests {
				if got := tests["TestScenario"+test]; got != want {
					t.Errorf("TestScenario%s: %q, want %q\n%s", test, got, want, output)
				}
			}
		})
	}
}

// scenario runs a scenario as go test -v does, and returns the result of each test.
func scenario(t *testing.T, name, baseline string) (tests map[string]string, output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestScenario$", "-test.v=test2json")
	cmd.Env = append(os.Environ(), "MCPTEST_SCENARIO="+name, "MCPTEST_BASELINE="+baseline)
	text, err := cmd.CombinedOutput()
	tests = map[string]string{}
	for line := range bytes.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(string(line), "\x16", "")), ": ")
		test, _, _ := strings.Cut(rest, " ")
		switch word {
		case "--- PASS", "--- FAIL", "--- SKIP":
			tests[test] = strings.ToLower(strings.TrimPrefix(word, "--- "))
		}
	}
	return tests, string(text), err
}

// TestNoGinkgo checks that neither Ginkgo's flags nor its tree are part of an author's test.
func TestNoGinkgo(t *testing.T) {
	flag.VisitAll(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "ginkgo.") {
			t.Errorf("there is a flag -%s", f.Name)
		}
	})
}
