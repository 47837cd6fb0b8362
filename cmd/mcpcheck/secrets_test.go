package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TestSecretsAreRedacted puts a secret into every place where an operator may give one, makes a server repeat its input
// wherever it can, and searches all output of mcpcheck for the secrets.
func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"header":    "s3cret-in+a/header=",
		"bearer":    "s3cret.bearer_token",
		"expired":   "s3cret-expired-token",
		"query":     "s3cret in a query&more",
		"password":  "s3cret:password",
		"env":       "s3cret \"in\" the\\environment",
		"inherited": "s3cret-inherited-key",
		"flag":      "s3cret-behind-a-flag",
	}
	secrets["altered"] = strings.TrimSuffix(secrets["bearer"], "n") // a check changes its last character
	echo := httptest.NewServer(http.HandlerFunc(serveRepeatingInput))
	t.Cleanup(echo.Close)
	u, err := url.Parse(echo.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("operator", secrets["password"])
	u.RawQuery = url.Values{"api_key": {secrets["query"]}}.Encode()

	targets := map[string][]string{
		"http": {
			"--url", u.String(), "--header", "X-Api-Key: " + secrets["header"],
			"--bearer-env", "TEST_BEARER", "--token-env", "expired=TEST_EXPIRED",
		},
		"stdio":       {"--env", "TOKEN=" + secrets["env"], "--", "badserver", "leak", "--api-key", secrets["flag"]},
		"stdio, dead": {"--env", "TOKEN=" + secrets["env"], "--", "badserver", "exit-3", "--key=" + secrets["env"]},
	}
	for name, server := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := slices.Concat(
				[]string{"run", "-v", "--report-dir", filepath.Join(dir, "reports"), "--annotations", "on",
					"--trace", filepath.Join(dir, "trace.jsonl"),
				}, onlyFlags("auth,http,lifecycle/initialize-succeeds,ping,tools"), server)
			cmd := exec.CommandContext(t.Context(), "mcpcheck", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TEST_BEARER="+secrets["bearer"], "TEST_EXPIRED="+secrets["expired"],
				"SERVICE_API_KEY="+secrets["inherited"])
			output, _ := cmd.CombinedOutput()
			dead := name == "stdio, dead"
			want := map[bool]int{false: report.ExitFails, true: report.ExitUntestable}[dead]
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Fatalf("exit code %d, want %d: %s", code, want, output)
			}
			written := map[string]string{
				"console": string(output), "trace.jsonl": readFile(t, filepath.Join(dir, "trace.jsonl")),
			}
			paths, err := os.ReadDir(filepath.Join(dir, "reports"))
			if err != nil || len(paths) < 9 {
				t.Fatalf("%d reports, %v", len(paths), err)
			}
			for _, f := range paths {
				said, err := os.ReadFile(filepath.Join(dir, "reports", f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				written[f.Name()] = string(said)
			}
			for file, said := range written {
				for kind, secret := range secrets {
					for _, form := range secretForms(secret) {
						if i := strings.Index(said, form); i >= 0 {
							t.Errorf(
								"%s holds the secret of %s: …%s…",
								file,
								kind,
								said[max(0, i-60):min(len(said), i+len(form)+20)],
							)
						}
					}
				}
			}
			if !dead && !strings.Contains(written["report.json"], "[redacted]") {
				t.Error("nothing was redacted: has the server repeated it?")
			}
		})
	}
}

// TestRecordSecretsAreRedacted proves that what a server writes about its command and its environment is redacted in a
// record, and forwarded unchanged.
func TestRecordSecretsAreRedacted(t *testing.T) {
	const flag, inherited = "s3cret-behind-a-flag", "s3cret-inherited-key"
	file := filepath.Join(t.TempDir(), "wire.jsonl")
	cmd := exec.CommandContext(t.Context(), "mcpcheck", "record", "--out", file, "--",
		"badserver", "leak", "--api-key", flag)
	cmd.Env = append(os.Environ(), "SERVICE_API_KEY="+inherited)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
	passed, _ := cmd.Output() // the exit status of that server does not matter
	if !strings.Contains(string(passed), flag) {
		t.Errorf("the client got\n%s", passed)
	}
	record := readFile(t, file)
	if !strings.Contains(record, "[redacted]") {
		t.Error("nothing was redacted")
	}
	for _, secret := range []string{flag, inherited} {
		if strings.Contains(record, secret) {
			t.Errorf("the record holds %s:\n%s", secret, record)
		}
	}
}

// secretForms returns the forms in which a secret may be written.
func secretForms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	escaped := strings.Trim(string(text.CompactJSON(secret)), `"`)
	return []string{
		secret,
		strings.Trim(string(quoted), `"`),
		escaped,
		html.EscapeString(secret),
		strings.ReplaceAll(html.EscapeString(secret), "+", "&#43;"), // as html/template does
		strings.ReplaceAll(secret, "'", "''"),                       // as YAML does
		url.QueryEscape(secret),
		url.PathEscape(secret),
		url.UserPassword("", secret).String()[1:],
	}
}

// serveRepeatingInput is an MCP server that repeats its input: in names, results, errors, headers and bodies of HTTP
// errors.
func serveRepeatingInput(w http.ResponseWriter, r *http.Request) {
	told := fmt.Sprint(r.Header, " ", r.URL, " ", r.URL.Query())
	body, _ := io.ReadAll(r.Body)
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	json.Unmarshal(body, &msg)
	w.Header().Set("Www-Authenticate", fmt.Sprintf("Bearer realm=%q", r.Header.Get("Authorization")))
	if r.Method != http.MethodPost || msg.ID == nil {
		http.Error(w, told, http.StatusBadRequest)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": msg.ID}
	switch msg.Method {
	case "initialize":
		answer["result"] = map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": told, "version": r.Header.Get("X-Api-Key")}, "instructions": told,
		}
	case "tools/list":
		answer["result"] = map[string]any{
			"tools": []any{
				map[string]any{"name": told, "description": told, "inputSchema": map[string]any{"type": told}},
			},
		}
	default:
		answer["error"] = map[string]any{"code": 1, "message": told}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}
