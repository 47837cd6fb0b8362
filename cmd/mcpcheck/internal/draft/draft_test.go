package draft

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// newTestDraft returns the draft for a server with tools, with flags and a secret.
func newTestDraft(t *testing.T, flags string, a config.Address, tools ...check.M) draft {
	t.Helper()
	v, err := config.Resolve(configtest.ParseFlags(t, flags+" -- server"), config.File{})
	if err != nil {
		t.Fatal(err)
	}
	s := redact.Secrets{Texts: []string{"s3cr3t"}}
	info := map[string]any{"name": "evil\nprofile: spec\u2028\x1b[31m", "version": "1 # \u0085x"}
	return newDraft(v, &target.Target{Address: a, Redactor: s.Redactor()}, &check.Server{
		Transport: "stdio", Revision: catalogue.NewestLegacy, ConnectResult: check.M{"serverInfo": info}, Tools: tools,
	})
}

func readOnlyTool(name string, properties map[string]any) check.M {
	var required []any
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		required = append(required, key)
	}
	return check.M{
		"name": name, "annotations": map[string]any{"readOnlyHint": true},
		"inputSchema": map[string]any{"type": "object", "properties": properties, "required": required},
	}
}

// TestDraft proves that the file is valid and has exactly the expected content, whatever the names and the schemas of
// the tools are.
func TestDraft(t *testing.T) {
	var tools []check.M
	want := map[string]check.M{}
	for _, word := range []string{
		"plain", "no", "null", "1.10", "2025-01-01", "a: b", "# a", "- a", "--a", "a b", "it's", `"`, `\`, "\n",
		"a\nprofile: nice", "\u0085", "\u2028", "é", "{port}", "[a]", "*a", "&a", "!a", "%a", "@a", "`a", "?", "~", "",
		"<<", "=", "日本",
	} {
		tools = append(tools, readOnlyTool(word, map[string]any{"of " + word: map[string]any{"const": word}}))
		want[word] = check.M{"of " + word: word}
	}
	tools = append(tools, readOnlyTool("values", map[string]any{
		"list": map[string]any{"const": []any{true, nil, 1.5, []any{}}},
		"map":  map[string]any{"const": map[string]any{"a": map[string]any{}}},
	}), readOnlyTool("plain", nil)) // listed twice
	want["values"] = check.M{"list": []any{true, nil, 1.5, []any{}}, "map": map[string]any{"a": map[string]any{}}}

	content := newTestDraft(t, "", config.Address{Command: []string{"./server", "--a b", "-1", ""}}, tools...).text()
	if err := configtest.Validate(t, []byte(content)); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	c, err := config.Parse(config.DefaultFile, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.Arguments); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"./server", "--a b", "-1", ""}, c.Command); diff != "" {
		t.Error(diff)
	}
	if c.Profile != "release" {
		t.Errorf("the server's name made profile %q", c.Profile)
	}
}

// TestDraftToolsNotCalled proves that tools that are not called are in comments, with the reason, and are called once
// the # is removed.
func TestDraftToolsNotCalled(t *testing.T) {
	named := func(name string, more map[string]any) check.M {
		tool := check.M{"name": name, "inputSchema": map[string]any{"type": "object"}}
		for key, value := range more {
			tool[key] = value
		}
		return tool
	}
	reads := map[string]any{"readOnlyHint": true}
	tools := []check.M{
		named("writes", nil),
		named("drops", map[string]any{"annotations": map[string]any{"destructiveHint": true}}),
		named("task", map[string]any{"annotations": reads, "execution": map[string]any{"taskSupport": "required"}}),
		named("impossible",
			map[string]any{"annotations": reads, "inputSchema": map[string]any{"not": map[string]any{}}}),
		readOnlyTool("secret", map[string]any{"key": map[string]any{"const": "s3cr3t"}}),
		{"inputSchema": map[string]any{"type": "object"}},
	}
	for calls, lines := range map[report.CallPolicy][]string{
		report.CallsSafe: {
			"# arguments:\n",
			"\n  # writes: {} # no readOnlyHint\n",
			"\n  # drops: {} # marked destructive\n",
			"\n  # task: {} # it only runs as a task\n",
			"\n  # impossible: {} # no arguments could be made: ",
			"\n  # secret: {key: [redacted]} # a secret is in it\n",
		},
		report.CallsNone: {"\n  # writes: {} # --calls none\n", "\n  # drops: {} # --calls none\n"},
		report.CallsAll: {
			"\narguments:\n  writes: {}\n  drops: {}\n  # Not called", "\n  # task: {} # it only runs as a task\n",
		},
	} {
		content := newTestDraft(t, "--calls "+string(calls), config.Address{Command: []string{"server"}},
			tools...).text()
		for _, line := range lines {
			if !strings.Contains(content, line) {
				t.Errorf("%s: no %q in\n%s", calls, line, content)
			}
		}
		if err := configtest.Validate(t, []byte(content)); err != nil {
			t.Errorf("%s: %v in\n%s", calls, err, content)
		}
		if strings.Contains(content, "s3cr3t") {
			t.Errorf("%s: a secret is in\n%s", calls, content)
		}
	}
}

// TestDraftTarget proves that the file says how to connect to the target again, and has no secrets.
func TestDraftTarget(t *testing.T) {
	d := newTestDraft(t, "--bearer-env TOKEN --insecure", config.Address{
		Command: []string{"serve", "{port}", "--key=s3cr3t"}, URL: "http://127.0.0.1:{port}/mcp",
		Env: []string{"PORT={port}", "KEY=s3cr3t"}, Dir: "sub",
		Headers: []string{"x-api-key: s3cr3t", "X-API-Key: s3cr3t"},
	})
	var got config.File
	if err := yaml.Unmarshal([]byte(d.text()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, d.text())
	}
	want := config.File{
		Command: []string{"serve", "{port}", "--key=[redacted]"}, URL: "http://127.0.0.1:{port}/mcp", Cwd: "sub",
		Env:     map[string]string{"PORT": "{port}"},
		Headers: map[string]string{"X-Api-Key": "HEADER_X_API_KEY"}, BearerEnv: "TOKEN", Profile: "release",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.File{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if content := d.text() + d.nextSteps("my.yaml"); strings.Contains(content, "s3cr3t") {
		t.Errorf("a secret is in\n%s", content)
	}
	next := "review it, put in what is [redacted], set KEY, HEADER_X_API_KEY in the environment, " +
		"then run mcpcheck run --config my.yaml --insecure"
	if got := d.nextSteps("my.yaml"); got != next {
		t.Errorf("next: %s, want %s", got, next)
	}
}
