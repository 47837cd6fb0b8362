package target

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters/files"
)

// TestFindLauncher proves that a launcher is found by its words, with options between them.
func TestFindLauncher(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y weather":                   "npx",
		"/usr/bin/npx weather@1 --stdio":   "npx",
		"npx.cmd -y weather":               "npx",
		"npm exec --yes -- weather":        "npm exec",
		"npm --silent x weather":           "npm x",
		"npm start":                        "",
		"npm run exec":                     "",
		"pnpm dlx weather":                 "pnpm dlx",
		"yarn dlx weather":                 "yarn dlx",
		"bunx weather":                     "bunx",
		"uvx mcp-server-time":              "uvx",
		"uv --quiet tool run weather":      "uv tool run",
		"uv run server.py":                 "",
		"docker run -i --rm weather":       "docker run",
		"docker exec -i weather node a.js": "",
		"node npx":                         "",
		"pipx run mcp-server-time":         "pipx run",
		"pipx install mcp-server-time":     "",
		"env A=b C= npx -y weather":        "npx",
		"env -i npx weather":               "",
		"env":                              "",
		"env A=b":                          "",
		"cmd /c npx -y weather":            "npx",
		"cmd.exe /C npx.cmd weather":       "npx",
		"cmd /k npx weather":               "",
		"sh -c npx":                        "",
		"":                                 "",
	} {
		got := ""
		if l := findLauncher(strings.Fields(command)); l != nil {
			got = l.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// TestFindShellLauncher proves that a launcher is found at the beginning of a shell's script.
func TestFindShellLauncher(t *testing.T) {
	for script, want := range map[string]string{
		"npx -y weather":           "npx",
		"exec npx weather":         "npx",
		"A=b uvx weather":          "uvx",
		"cd server && npx weather": "",
		"node a.js":                "",
		"":                         "",
	} {
		for _, c := range []struct{ command, want string }{{"sh -c", want}, {"/bin/bash -c", want}, {"node -c", ""}} {
			got := ""
			if l := findShellLauncher(append(strings.Fields(c.command), script)); l != nil {
				got = l.String()
			}
			if got != c.want {
				t.Errorf("%s %q: got %q, want %q", c.command, script, got, c.want)
			}
		}
	}
}

// TestFindLaunchedProcess proves that the program is known only if exactly one process in the server's directory is not
// the launcher's own.
func TestFindLaunchedProcess(t *testing.T) {
	here := files.Abs("")
	const (
		server = `{"script": "/cache/bin/weather", "argv": ["node", "/cache/bin/weather", "a b"], "cwd": "HERE"}`
		npx    = `{"script": "/usr/bin/npx", "argv": ["node", "/usr/bin/npx"], "cwd": "HERE"}`
		npxCLI = `{"script": "/lib/npx-cli.js", "argv": ["node", "x"], "cwd": "HERE"}`
		yarn   = `{"script": "/a/yarn-4.5.0.cjs", "argv": ["node", "x"], "cwd": "HERE"}`
	)
	for name, tt := range map[string]struct {
		told  []string
		known bool
	}{
		"nothing":       {nil, false},
		"a server":      {[]string{server}, true},
		"two":           {[]string{server, server}, false},
		"npx":           {[]string{npx}, false},
		"npx and one":   {[]string{npxCLI, server}, true},
		"yarn and one":  {[]string{yarn, server}, true},
		"elsewhere":     {[]string{strings.ReplaceAll(server, "HERE", "/")}, false},
		"half a file":   {[]string{server, `{"script": "/cache/b`}, false},
		"without a one": {[]string{`{"argv": ["node"], "cwd": "HERE"}`}, false},
		"a long file":   {[]string{server, npxCLI + strings.Repeat(" ", maxProcessFileBytes)}, false},
		"many files":    {append(slices.Repeat([]string{npxCLI}, maxProcessFiles), server), false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, told := range tt.told {
				told = strings.ReplaceAll(told, "HERE", filepath.ToSlash(here))
				file := filepath.Join(dir, fmt.Sprint(i)+".json")
				if err := os.WriteFile(file, []byte(told), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			runs, known := findLaunchedProcess(dir, "")
			if err := os.Mkdir(filepath.Join(dir, "z.json"), 0o700); err != nil {
				t.Fatal(err)
			}
			if _, certain := findLaunchedProcess(dir, ""); certain {
				t.Error("a file that is not regular was accepted")
			}
			if known != tt.known || known && runs.Argv[2] != "a b" {
				t.Errorf("got %v, %v", runs, known)
			}
		})
	}
}

// TestProcessReportEnv proves that Node's own options, first those of --env and then those of the environment, come
// before that of mcpcheck.
func TestProcessReportEnv(t *testing.T) {
	t.Setenv("NODE_OPTIONS", "--inherited")
	for options, env := range map[string][]string{"--inherited": {"A=b"}, "--given": {"A=b", "NODE_OPTIONS=--given"}} {
		want := "NODE_OPTIONS=" + options + ` --require "`
		if got := processReportEnv(t.TempDir(), env); len(got) != 2 || !strings.HasPrefix(got[1], want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

// TestLauncherCost proves that an expensive launcher is named with its cost and a replacement.
func TestLauncherCost(t *testing.T) {
	for _, tt := range []struct {
		command string
		starts  int
		each    time.Duration
		want    string
	}{
		{"uvx weather", 18, 5100 * time.Millisecond,
			"18 starts by uvx took 5.1 s each; uv tool install the package, and give its program"},
		{"npx weather", 2, time.Second,
			"2 starts by npx took 1.0 s each; install the package, and give -- node and the file of its program"},
		{"npx weather", 20, 900 * time.Millisecond, ""},
		{"docker run weather", 1, time.Minute, ""},
		{"docker run weather", 0, 0, ""},
	} {
		if got := findLauncher(strings.Fields(tt.command)).costText(tt.starts, tt.each); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.command, got, tt.want)
		}
	}
}
