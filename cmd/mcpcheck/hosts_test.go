package main

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
)

// TestServerOverHTTP tests the built-in server, with a required token, by its name in a host's file.
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
			t.Fatal("the server printed no address and no token")
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			address = rest
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "token good: "); ok {
			token = rest
		}
	}
	dir := t.TempDir()
	configtest.WriteHostFile(t, dir, map[string]any{
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

// TestHostSecretsAreRedacted makes servers repeat the secrets of their entries wherever they can, and searches all
// output of mcpcheck for them.
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
	configtest.WriteHostFile(t, dir, map[string]any{
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
		paths, err := os.ReadDir(reports)
		if err != nil || len(paths) < 5 {
			t.Fatalf("%d reports, %v", len(paths), err)
		}
		for _, f := range paths {
			content, err := os.ReadFile(filepath.Join(reports, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			written += string(content)
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

// runInDir returns the output of mcpcheck run in a directory.
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
