package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestExpand fills variables in as each host does.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOST_TOKEN", "s3cr3t-token")
	t.Setenv("HOST_EMPTY", "")
	t.Setenv("API_KEY_2", "s3cr3t-input")
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	sep := string(os.PathSeparator)
	const unset = "error"

	for _, test := range []struct {
		text                           string
		plain, code, cursor, none, any string // Claude ReasonCode, VS ReasonCode, Cursor, Claude Desktop, another host
	}{
		{"as it is", "as it is", "as it is", "as it is", "as it is", "as it is"},
		{"${HOST_TOKEN}", "s3cr3t-token", "${HOST_TOKEN}", "${HOST_TOKEN}", "${HOST_TOKEN}", "s3cr3t-token"},
		{
			"a${HOST_TOKEN}b${HOST_TOKEN}", "as3cr3t-tokenbs3cr3t-token",
			"a${HOST_TOKEN}b${HOST_TOKEN}", "a${HOST_TOKEN}b${HOST_TOKEN}", "a${HOST_TOKEN}b${HOST_TOKEN}",
			"as3cr3t-tokenbs3cr3t-token",
		},
		{"${HOST_NONE:-other}", "other", "${HOST_NONE:-other}", "${HOST_NONE:-other}", "${HOST_NONE:-other}", "other"},
		{"${HOST_NONE:-}", "", "${HOST_NONE:-}", "${HOST_NONE:-}", "${HOST_NONE:-}", ""},
		{"${HOST_EMPTY:-other}", "", "${HOST_EMPTY:-other}", "${HOST_EMPTY:-other}", "${HOST_EMPTY:-other}", ""},
		{
			"${HOST_TOKEN:-other}", "s3cr3t-token",
			"${HOST_TOKEN:-other}", "${HOST_TOKEN:-other}", "${HOST_TOKEN:-other}", "s3cr3t-token",
		},
		{"${HOST_NONE}", unset, "${HOST_NONE}", "${HOST_NONE}", "${HOST_NONE}", unset},
		{"$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN"},
		{"${name%.js}", "${name%.js}", "${name%.js}", "${name%.js}", "${name%.js}", "${name%.js}"},
		{"${env:HOST_TOKEN}", "${env:HOST_TOKEN}", "s3cr3t-token", "s3cr3t-token", "${env:HOST_TOKEN}", "s3cr3t-token"},
		{"${env:HOST_EMPTY}", "${env:HOST_EMPTY}", "", "", "${env:HOST_EMPTY}", ""},
		{"${env:HOST_NONE}", "${env:HOST_NONE}", unset, unset, "${env:HOST_NONE}", unset},
		{"${workspaceFolder}", unset, dir, dir, "${workspaceFolder}", dir},
		{
			"${workspaceFolderBasename}", unset,
			filepath.Base(dir), filepath.Base(dir), "${workspaceFolderBasename}", filepath.Base(dir),
		},
		{"${userHome}", unset, dir, dir, "${userHome}", dir},
		{
			"a${pathSeparator}b${/}c", unset,
			"a" + sep + "b" + sep + "c", "a" + sep + "b" + sep + "c",
			"a${pathSeparator}b${/}c", "a" + sep + "b" + sep + "c",
		},
		{
			"${input:api-key.2}", "${input:api-key.2}",
			"s3cr3t-input", "${input:api-key.2}", "${input:api-key.2}", "${input:api-key.2}",
		},
		{"${input:nothing}", "${input:nothing}", unset, "${input:nothing}", "${input:nothing}", "${input:nothing}"},
		{
			"${config:editor.tabSize}", "${config:editor.tabSize}",
			unset, "${config:editor.tabSize}", "${config:editor.tabSize}", "${config:editor.tabSize}",
		},
		{"${file}", unset, "${file}", "${file}", "${file}", unset},
	} {
		for _, host := range []struct {
			name string
			dialect
			want string
		}{
			{"Claude Code", claudeCode, test.plain}, {"VS Code", vsCode, test.code}, {"Cursor", cursor, test.cursor},
			{"Claude Desktop", claudeDesktop, test.none}, {"another", unknownHost, test.any},
		} {
			x := &expander{hostServer: hostServer{file: hostFile{"file", host.dialect}}, projectDir: dir, homeDir: dir}
			got := x.expand(test.text)
			if x.firstErr != nil {
				got = unset
			}
			if got != host.want {
				t.Errorf("%s: %s = %q, want %q", host.name, test.text, got, host.want)
			}
		}
	}
}

// TestExpandErrors has errors name file, server and variable.
func TestExpandErrors(t *testing.T) {
	for text, want := range map[string]string{
		"${HOST_NONE}": `f.json:3:9: server "x": ${HOST_NONE} stands for the environment variable HOST_NONE, ` +
			`which is not set`,
		"${env:HOST_NONE}": `f.json:3:9: server "x": ${env:HOST_NONE} stands for the environment variable ` +
			`HOST_NONE, which is not set`,
		"${input:host-key}": `f.json:3:9: server "x": ${input:host-key} cannot be asked for here; set the ` +
			`environment variable HOST_KEY to it, or give the value with --env or --header`,
		"${command:pick}": `f.json:3:9: server "x": ${command:pick} is known to VS Code alone; write its value instead`,
	} {
		x := &expander{
			hostServer: hostServer{
				name:     "x",
				location: "f.json:3:9",
				file: hostFile{"f.json",
					dialect{hasShellVariables: true, hasEditorVariables: true, isVSCode: true}},
			},
		}
		x.expand(text + text)
		if x.firstErr == nil || x.firstErr.Error() != want {
			t.Errorf("%s: %v, want %s", text, x.firstErr, want)
		}
	}
}

// TestExpandSecrets keeps what came out of the environment as a secret, but what is plainly none.
func TestExpandSecrets(t *testing.T) {
	dir := t.TempDir()
	for value, secret := range map[string]bool{
		"s3cr3t-token":                       true,
		"https://user:s3cr3t@example.com/":   true,
		"https://example.com/mcp?key=s3cr3t": true,
		"https://example.com/mcp":            false,
		dir:                                  false,
		filepath.Join(dir, "not-there"):      true,
	} {
		t.Setenv("HOST_VALUE", value)
		x := &expander{hostServer: hostServer{file: hostFile{"f.json", claudeCode}}}
		x.expand("${HOST_VALUE:-default}")
		if got := len(x.secrets) == 1; got != secret {
			t.Errorf("%s is kept: %v, want %v", value, got, secret)
		}
	}
}

// TestServerEnvironment puts readEnvFile, env and the command line together.
func TestServerEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "my.env"), []byte("A=file\nB=file\nC=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOST_GONE", "here")
	t.Setenv("PATH", "before")
	e := hostServer{
		EnvFile: "${workspaceFolder}/my.env",
		Env:     map[string]any{"B": "env", "C": nil, "HOST_GONE": nil, "D": "${input:nobody-asks}", "PATH": "after"},
	}
	given := map[string]bool{"D": true}
	joined := "before" + string(os.PathListSeparator) + "after"
	for _, test := range []struct {
		name string
		dialect
		want map[string]string
	}{
		{"VS Code", vsCode, map[string]string{"A": "file", "B": "env", "PATH": joined}},
		{"Cursor", cursor, map[string]string{"A": "file", "B": "env", "PATH": "after"}},
		{"Claude Code", claudeCode, map[string]string{"B": "env", "PATH": "after"}},
	} {
		e.file.dialect = test.dialect
		x := &expander{hostServer: e, projectDir: dir}
		if diff := cmp.Diff(test.want, x.environment(given)); diff != "" || x.firstErr != nil {
			t.Errorf("%s: %v, differences:\n%s", test.name, x.firstErr, diff)
		}
	}
	if value, ok := os.LookupEnv("HOST_GONE"); ok {
		t.Errorf("HOST_GONE is %q still", value)
	}
}

func TestParseEnv(t *testing.T) {
	const text = "# comment\n\nA=1\r\nexport B = two words \nC=\"a # b\\nc\" # comment\nD='single \\n'\n" +
		"E=`back`\nF=x#comment\nG=\nH: colon\nI=\"open\nJ=a=b\n no assignment\n=nothing\n"
	want := map[string]string{
		"A": "1", "B": "two words", "C": "a # b\nc", "D": `single \n`, "E": "back", "F": "x",
		"G": "", "H": "colon", "I": `"open`, "J": "a=b",
	}
	if diff := cmp.Diff(want, parseEnv(text)); diff != "" {
		t.Error(diff)
	}
}

// TestHostFile knows files by their path.
func TestHostFile(t *testing.T) {
	for _, test := range []struct {
		path    string
		want    dialect
		project string
	}{
		{".mcp.json", claudeCode, ""},
		{"a/.mcp.json", claudeCode, "a"},
		{".vscode/mcp.json", vsCode, ""},
		{"a/b/.vscode/mcp.json", vsCode, "a/b"},
		{".cursor/mcp.json", cursor, ""},
		{"../.cursor/mcp.json", cursor, ".."},
		{"a/claude_desktop_config.json", claudeDesktop, ""},
		{"a/servers.json", unknownHost, ""},
		{"mcp.json", unknownHost, ""},
	} {
		f := hostFile{filepath.FromSlash(test.path), dialectOf(filepath.FromSlash(test.path))}
		if f.dialect != test.want {
			t.Errorf("%s is %+v, want %+v", test.path, f.dialect, test.want)
		}
		if got := filepath.ToSlash(f.projectDir()); got != test.project {
			t.Errorf("project of %s is %q, want %q", test.path, got, test.project)
		}
	}
	if got := (hostFile{"mcp.json", vsCode}).projectDir(); got != ".." {
		t.Errorf("in .vscode, the project of mcp.json is %q, want ..", got)
	}
}

// TestTransport takes the type of an entry, or guesses it.
func TestTransport(t *testing.T) {
	for _, test := range []struct {
		entry hostServer
		want  string
	}{
		{hostServer{Command: "x"}, "stdio"},
		{hostServer{URL: "x"}, "http"},
		{hostServer{Command: "x", URL: "x"}, "stdio"},
		{hostServer{Type: "stdio", Command: "x"}, "stdio"},
		{hostServer{Type: "http", URL: "x", Command: "x"}, "http"},
		{hostServer{Type: "streamable-http", URL: "x"}, "http"},
		{hostServer{Type: "streamableHttp", URL: "x"}, "http"},
		{hostServer{Type: "sse", URL: "x"}, "sse"},
		{hostServer{}, "there is neither command nor url"},
		{hostServer{Type: "ws", URL: "x"}, `unknown type "ws" (want stdio, http or sse)`},
		{hostServer{Type: "stdio", URL: "x"}, "a server over stdio wants a command"},
		{hostServer{Type: "sse", Command: "x"}, "a server over sse wants a url"},
	} {
		got, err := test.entry.transport()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf(
				"type %q, command %q, url %q: %s, want %s",
				test.entry.Type,
				test.entry.Command,
				test.entry.URL,
				got,
				test.want,
			)
		}
	}
}

// TestDisplayText shows entries without their secrets.
func TestDisplayText(t *testing.T) {
	for _, test := range []struct {
		entry hostServer
		want  string
	}{
		{hostServer{Command: "node", Args: []string{"my server.js", "${KEY}"}}, "node 'my server.js' ${KEY}"},
		{
			hostServer{Command: "x", Args: []string{"s3cr3t-value"}, Env: map[string]any{"A": "s3cr3t-value"}},
			"x [redacted]",
		},
		{hostServer{Command: "x", Args: []string{"${A}"}, Env: map[string]any{"A": "${A}"}}, "x ${A}"},
		{hostServer{Command: "x", Args: []string{"postgres://me:s3cr3t@db/x"}}, "x postgres://me:[redacted]@db/x"},
		{
			hostServer{Command: "x", Args: []string{"--api-key", "s3cr3t", "--token=s3cr3t", "-v"}},
			"x --api-key [redacted] --token=[redacted] -v",
		},
		{hostServer{Command: "x", Args: []string{"--header", "Authorization: Bearer s3cr3t"}}, "x --header " +
			"'Authorization:[redacted]'"},
		{hostServer{Command: "x", Args: []string{"--token", "--verbose", "--key", "${KEY}"}}, "x --token " +
			"--verbose --key ${KEY}"},
		{hostServer{Command: "docker", Args: []string{"run", "-e", "API_KEY", "image"}}, "docker run -e API_KEY image"},
		{hostServer{URL: "https://me:s3cr3t@h/mcp?key=s3cr3t"}, "https://me:[redacted]@h/mcp?…"},
	} {
		if got := test.entry.displayText(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestSplitServerName finds the name of --server beside it or apart from it.
func TestSplitServerName(t *testing.T) {
	for line, want := range map[string]string{
		"--server":                  "| |list",
		"--server=":                 "| |list",
		"--server x":                "x| |",
		"--server=x":                "x| |",
		"--server x --only ping":    "x| |",
		"--only ping --server x -q": "x| |",
		"--server -- cmd":           "|cmd|",
		"--server x -- cmd arg":     "x|cmd arg|",
		"--server x y":              "x|y|",
		"--server=x y":              "x|y|",
	} {
		var got string
		var f hostFlags
		cmd := &cobra.Command{RunE: func(cmd *cobra.Command, args []string) error {
			name, rest := f.splitServerName(cmd, args)
			got = name + "|" + strings.Join(rest, " ") + "|"
			if len(rest) == 0 {
				got = name + "| |"
			}
			if f.isListRequest(cmd, args) {
				got += "list"
			}
			return nil
		}}
		cmd.Flags().String("only", "", "")
		cmd.Flags().BoolP("quiet", "q", false, "")
		f.addFlags(cmd.Flags())
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.Execute(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
}

// TestServerOverHTTP judges the built-in server, which wants a token, by its name in a file.
func TestServerOverHTTP(t *testing.T) {
	t.Parallel()
	serve := exec.CommandContext(t.Context(), "mcpcheck", "serve", "--http", "127.0.0.1:0", "--auth")
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	var address, token string
	for lines := bufio.NewScanner(stderr); address == "" || token == ""; {
		if !lines.Scan() {
			t.Fatal("the server told no address and no token")
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			address = rest
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "token good: "); ok {
			token = rest
		}
	}
	dir := t.TempDir()
	writeHostFile(t, dir, map[string]any{
		"api": map[string]any{
			"type": "http", "url": "${API_URL:-" + address + "}",
			"headers": map[string]string{"Authorization": "Bearer ${API_TOKEN}", "Content-Type": "application/json"},
		},
	})
	output := runInDir(
		t,
		dir,
		0,
		[]string{"API_TOKEN=" + token},
		"--only",
		"discover,auth",
		"--server",
		"api",
		"-v",
		"--json",
		"r.json",
	)
	if !strings.Contains(output, "http · ") || strings.Contains(output, token) {
		t.Error(output)
	}
	output = runInDir(t, dir, 2, nil, "--server", "api")
	if !strings.Contains(output, `.mcp.json:1:`) ||
		!strings.Contains(
			output,
			`server "api": ${API_TOKEN} stands for the environment variable API_TOKEN, which is not set`,
		) {
		t.Error(output)
	}
	runInDir(t, dir, 0, []string{"OTHER=" + token}, "--only", "discover", "--server", "api", "--bearer-env", "OTHER")
	runInDir(t, dir, 0, nil, "--only", "discover", "--server", "api", "--header", "authorization: Bearer "+token)
}

// TestHostSecretsAreRedacted has servers repeat the secrets of their entries wherever they can, and searches all
// that mcpcheck writes.
func TestHostSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(serveRepeatingInput))
	defer echo.Close()
	u, err := url.Parse(echo.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("operator", "s3cret-password")
	dir := t.TempDir()
	writeHostFile(t, dir, map[string]any{
		"web": map[string]any{
			"url":     u.String() + "?key=${HOST_SECRET}&other=s3cret-query",
			"headers": map[string]string{"X-Key": "s3cret-header", "Authorization": "Bearer ${HOST_SECRET}"},
		},
		"stdio": map[string]any{
			"command": "badserver",
			"args":    []string{"leak", "--key=${HOST_SECRET}"},
			"env":     map[string]string{"TOKEN": "s3cret-env"},
		},
		"dead": map[string]any{
			"command": "badserver",
			"args":    []string{"exit-3", "${HOST_SECRET}", "postgres://me:s3cret-login@db"},
		},
	})
	variables := []string{"HOST_SECRET=s3cret-of-the-host"}
	for name, codes := range map[string]struct{ run, plan int }{"web": {1, 0}, "stdio": {1, 0}, "dead": {3, 3}} {
		reports := filepath.Join(t.TempDir(), "reports")
		args := onlyFlags("http,lifecycle/initialize-succeeds,ping,tools")
		args = append(args, "-v", "--report-dir", reports, "--annotations", "on")
		written := runInDir(t, dir, codes.run, variables, append(args, "--server", name)...)
		files, err := os.ReadDir(reports)
		if err != nil || len(files) < 5 {
			t.Fatalf("%d reports, %v", len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(reports, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			written += string(text)
		}
		written += runInDir(t, dir, codes.plan, variables, "--plan", "--server", name)
		if i := strings.Index(written, "s3cret"); i >= 0 {
			t.Errorf("%s: …%s…", name, written[max(0, i-80):min(len(written), i+40)])
		}
		if !strings.Contains(written, "[redacted]") {
			t.Errorf("%s: nothing was redacted: did the server repeat nothing?", name)
		}
	}
	if list := runInDir(t, dir, 0, variables, "--server"); strings.Contains(list, "s3cret") {
		t.Error(list)
	}
}

func writeHostFile(t *testing.T, dir string, servers map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// runInDir is what mcpcheck run writes in a directory.
func runInDir(t *testing.T, dir string, code int, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "mcpcheck", append([]string{"run"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	output, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("mcpcheck run %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, output)
	}
	return string(output)
}
