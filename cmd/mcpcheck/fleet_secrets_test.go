package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFleetSecretsAreRedacted proves that secrets of a list, of its variables and of the environment are in no file of
// a fleet and not on the console, even if a server repeats them or does not start.
func TestFleetSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	const flag, value, query, header, inherited = "s3cret-behind-a-flag", "s3cret-in-the-env", "s3cret-in-a-query",
		"s3cret-in-a-header", "s3cret-inherited-key"
	echo := httptest.NewServer(http.HandlerFunc(serveRepeatingInput))
	defer echo.Close()
	type m = map[string]any
	list, err := json.Marshal(m{"mcpServers": m{
		"leak": m{"command": "badserver", "args": []string{"leak", "--api-key", flag}, "env": m{"TOKEN": value}},
		"dead": m{"command": "badserver", "args": []string{"exit-3", "--key=" + flag}, "env": m{"TOKEN": value}},
		"gone": m{"command": "no-such-command", "args": []string{"--key", flag}, "env": m{"TOKEN": value}},
		"web":  m{"url": echo.URL + "/mcp?api_key=" + query, "headers": m{"X-Api-Key": header}},
		"torn": m{"url": "https://me:" + flag + "@/?api_key=" + query},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"fleet", "--wire", "--start-timeout", "5s"}
	args = append(args, onlyFlags("http,lifecycle/initialize-succeeds,ping,tools")...)
	cmd := exec.CommandContext(t.Context(), "mcpcheck", append(args, ".mcp.json")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SERVICE_API_KEY="+inherited)
	output, _ := cmd.CombinedOutput()
	written := map[string]string{"the console": string(output)}
	err = filepath.WalkDir(filepath.Join(dir, "mcpcheck-fleet"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			written[path] = readFile(t, path)
		}
		return err
	})
	if err != nil || len(written) < 12 {
		t.Fatalf("%d files, %v\n%s", len(written), err, output)
	}
	redactions := 0
	for file, content := range written {
		redactions += strings.Count(content, "[redacted]")
		for _, secret := range []string{flag, value, query, header, inherited} {
			for _, form := range secretForms(secret) {
				if i := strings.Index(content, form); i >= 0 {
					t.Errorf("%s holds %s: …%s…", file, secret, content[max(0, i-60):min(len(content), i+60)])
				}
			}
		}
	}
	if redactions == 0 {
		t.Error("nothing was redacted: has a server repeated it?")
	}
}
