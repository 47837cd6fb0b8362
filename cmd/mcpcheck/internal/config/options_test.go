package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
)

// TestMergeConfig proves that each flag takes precedence over the file, and each value of the file over the default.
func TestMergeConfig(t *testing.T) {
	file := parseTestFile(t, "command: [file]\nurl: http://file/\nenv: {A: file}\ncwd: .\nbearer-env: FILE\n"+
		"protocol: 2025-06-18\nprofile: spec\nsdk: gate\ncalls: none\nonly: [tools]\nskip: [ping]\n"+
		"timeout: 1s\nstart-timeout: 2s\nbudget: 3s\nmax-message: 4MiB\nrate: 9\njobs: 4\nseed: 5\n"+
		"baseline: file.yaml\n")
	for flag, want := range map[string]func(File) any{
		"--protocol=2025-03-26": func(c File) any { return c.Protocol },
		"--profile=strict":      func(c File) any { return c.Profile },
		"--sdk=show":            func(c File) any { return c.SDK },
		"--calls=all":           func(c File) any { return c.Calls },
		"--cwd=testdata":        func(c File) any { return c.Cwd },
		"--bearer-env=OTHER":    func(c File) any { return c.BearerEnv },
		"--only=stdio":          func(c File) any { return c.Only[0] },
		"--skip=stdio":          func(c File) any { return c.Skip[0].Check },
		"--timeout=7s":          func(c File) any { return c.Timeout },
		"--start-timeout=7s":    func(c File) any { return c.StartTimeout },
		"--budget=7s":           func(c File) any { return c.Budget },
		"--max-message=7KiB":    func(c File) any { return c.MaxMessage },
		"--rate=7":              func(c File) any { return c.Rate },
		"--jobs=7":              func(c File) any { return c.Jobs },
		"--seed=7":              func(c File) any { return c.Seed },
		"--baseline=other.yaml": func(c File) any { return c.Baseline },
		"--url=http://flag/":    func(c File) any { return c.URL },
	} {
		merged := Merge(parseTestFlags(t, flag), file)
		if _, value, _ := strings.Cut(flag, "="); fmt.Sprint(want(merged)) != value {
			t.Errorf("%s: %v is in force", flag, want(merged))
		}
	}
	if diff := cmp.Diff(file, Merge(parseTestFlags(t, ""), file), cmpopts.IgnoreUnexported(File{})); diff != "" {
		t.Errorf("without flags: %s", diff)
	}
	defaults := Merge(parseTestFlags(t, ""), File{})
	if defaults.Jobs != 8 || defaults.Profile != "release" || defaults.Protocol != "auto" {
		t.Errorf("without flags and file: %+v", defaults)
	}
}

// TestMergeConfigServer proves that the server that flags select replaces that of the file as a whole.
func TestMergeConfigServer(t *testing.T) {
	file := parseTestFile(t, "command: [file]\nurl: http://file/\nenv: {A: file}\ncwd: file\n"+
		"headers: {X-Key: FILE}\nbearer-env: FILE\n")
	type server struct {
		command, url, env, cwd, header, bearer string
	}
	whole := server{"file", "http://file/", "file", "file", "FILE", "FILE"}
	with := func(command, url string) server {
		s := whole
		s.command, s.url = command, url
		return s
	}
	for line, want := range map[string]server{
		"":                           whole,
		"-- a":                       with("a", ""),
		"--url http://flag/":         with("", "http://flag/"),
		"--url http://flag/ -- a":    with("a", "http://flag/"),
		"--demo":                     with("", ""),
		"--server=x":                 {},
		"--server x --cwd mine":      {cwd: "mine"},
		"--server=x --bearer-env=MY": {bearer: "MY"},
	} {
		c := Merge(parseTestFlags(t, line), file)
		got := server{strings.Join(c.Command, " "), c.URL, c.Env["A"], c.Cwd, c.Headers["X-Key"], c.BearerEnv}
		if got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
}

// TestResolveReports proves that a flag replaces the file's report of that format.
func TestResolveReports(t *testing.T) {
	file := parseTestFile(t, "command: [server]\nreports: {json: file.json, junit: file.xml, dir: file}\n")
	for line, want := range map[string]string{
		"":                                  "map[json:[file.json] junit:[file.xml]] file",
		"--json a.json --json b.json":       "map[json:[a.json b.json] junit:[file.xml]] file",
		"--badge b.svg --report-dir mine":   "map[badge:[b.svg] json:[file.json] junit:[file.xml]] mine",
		"--plan":                            "map[] ",
		"--plan --json - --report-dir mine": "map[json:[-]] mine",
	} {
		v, err := Resolve(parseTestFlags(t, line), file)
		if got := fmt.Sprint(v.ReportFiles, " ", v.ReportDir); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
}

// TestResolveJobs proves that asking for the default number of jobs counts as asking for a number.
func TestResolveJobs(t *testing.T) {
	for _, c := range []struct {
		line, file string
		want       int
	}{
		{"-- a", "", 0},
		{"--jobs 8 -- a", "", 8},
		{"-- a", "jobs: 8\n", 8},
		{"--jobs 3 -- a", "jobs: 8\n", 3},
	} {
		v, err := Resolve(parseTestFlags(t, c.line), parseTestFile(t, c.file))
		if err != nil || v.RequestedJobs != c.want {
			t.Errorf("%s, %q: %d, %v, want %d", c.line, c.file, v.RequestedJobs, err, c.want)
		}
	}
}

// TestResolveOptionsErrors covers invalid options that are found without looking at anything else.
func TestResolveOptionsErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "no server to check",
		"--only=ping --skip=ping/* -- a": "no check is left to run",
		"--servers-file=f -- a":          "--servers-file needs --server NAME",
		"--server=x --demo":              "--server and --demo exclude each other",
		"--server=x --url=http://a/":     "--server and --url exclude each other",
		"--server=x -- a b":              "leave out a b",
		"--server= --jobs=2":             "--server needs a name",
		"--demo --url=http://a/":         "--demo tests the built-in server over stdio",
		"--demo -- a b":                  "leave out the command a b",
		"--profile=nice -- a":            `unknown profile "nice"`,
		"--calls=some -- a":              `unknown call policy "some"`,
		"--protocol=1.0 -- a":            `unknown protocol revision "1.0"`,
		"--only=nothing -- a":            `no check "nothing"`,
		"--skip=nothing -- a":            `no check "nothing"`,
		"--jobs=0 -- a":                  "must be greater than 0",
		"--timeout=0s -- a":              "must be greater than 0",
		"--start-timeout=-1s --demo":     "must be greater than 0",
		"--budget=0s --url=http://a/":    "must be greater than 0",
	} {
		_, err := Resolve(parseTestFlags(t, line), File{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// parseTestFlags returns the flags of run on a command line.
func parseTestFlags(t *testing.T, line string) Flags {
	t.Helper()
	var f Flags
	cmd := &cobra.Command{}
	f.AddAll(cmd)
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return f.WithCommandLine(cmd, cmd.Flags().Args())
}

// parseTestFile parses a configuration file.
func parseTestFile(t *testing.T, content string) File {
	t.Helper()
	c, err := Parse(DefaultFile, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
