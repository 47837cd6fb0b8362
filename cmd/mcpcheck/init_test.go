package main

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// newTestDraft is the draft for a server with tools, made with some flags and a secret.
func newTestDraft(t *testing.T, flags string, a address, tools ...check.M) draft {
	t.Helper()
	v, err := resolveOptions(parseRunFlags(t, flags+" -- server"), config{})
	if err != nil {
		t.Fatal(err)
	}
	s := secrets{texts: []string{"s3cr3t"}}
	info := object{"name": "evil\nprofile: spec\u2028\x1b[31m", "version": "1 # \u0085x"}
	return newDraft(v, &target{address: a, redactor: s.redactor()}, &check.Server{
		Transport: "stdio", Revision: catalogue.NewestLegacy, ConnectResult: check.M{"serverInfo": info}, Tools: tools,
	})
}

func readOnlyTool(name string, properties object) check.M {
	var required []any
	for _, key := range sortedKeys(properties) {
		required = append(required, key)
	}
	return check.M{
		"name": name, "annotations": object{"readOnlyHint": true},
		"inputSchema": object{"type": "object", "properties": properties, "required": required},
	}
}

// TestDraft: whatever a server calls its tools, and whatever their schemas want, the file can be read and holds just
// that.
func TestDraft(t *testing.T) {
	var tools []check.M
	want := map[string]check.M{}
	for _, word := range []string{
		"plain", "no", "null", "1.10", "2025-01-01", "a: b", "# a", "- a", "--a", "a b", "it's", `"`, `\`, "\n",
		"a\nprofile: nice", "\u0085", "\u2028", "é", "{port}", "[a]", "*a", "&a", "!a", "%a", "@a", "`a", "?", "~", "",
		"<<", "=", "日本",
	} {
		tools = append(tools, readOnlyTool(word, object{"of " + word: object{"const": word}}))
		want[word] = check.M{"of " + word: word}
	}
	tools = append(tools, readOnlyTool("values", object{
		"list": object{"const": []any{true, nil, 1.5, []any{}}}, "map": object{"const": object{"a": object{}}},
	}), readOnlyTool("plain", nil)) // listed twice
	want["values"] = check.M{"list": []any{true, nil, 1.5, []any{}}, "map": object{"a": object{}}}

	text := newTestDraft(t, "", address{command: []string{"./server", "--a b", "-1", ""}}, tools...).text()
	if err := validateConfig(t, []byte(text)); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	c, err := parseConfig(defaultConfigFile, []byte(text))
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

// TestDraftToolsNotCalled: tools that are not called are in comments, with the reason; with
// the # taken away they are called.
func TestDraftToolsNotCalled(t *testing.T) {
	named := func(name string, more object) check.M {
		tool := check.M{"name": name, "inputSchema": object{"type": "object"}}
		for key, value := range more {
			tool[key] = value
		}
		return tool
	}
	reads := object{"readOnlyHint": true}
	tools := []check.M{
		named("writes", nil),
		named("drops", object{"annotations": object{"destructiveHint": true}}),
		named("task", object{"annotations": reads, "execution": object{"taskSupport": "required"}}),
		named("impossible", object{"annotations": reads, "inputSchema": object{"not": object{}}}),
		readOnlyTool("secret", object{"key": object{"const": "s3cr3t"}}),
		{"inputSchema": object{"type": "object"}},
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
		text := newTestDraft(t, "--calls "+string(calls), address{command: []string{"server"}}, tools...).text()
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%s: no %q in\n%s", calls, line, text)
			}
		}
		if err := validateConfig(t, []byte(text)); err != nil {
			t.Errorf("%s: %v in\n%s", calls, err, text)
		}
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("%s: a secret is in\n%s", calls, text)
		}
	}
}

// TestDraftTarget: the target is written so that it is reached again, and no secret
// with it.
func TestDraftTarget(t *testing.T) {
	d := newTestDraft(t, "--bearer-env TOKEN --insecure", address{
		command: []string{"serve", "{port}", "--key=s3cr3t"}, url: "http://127.0.0.1:{port}/mcp",
		env: []string{"PORT={port}", "KEY=s3cr3t"}, dir: "sub",
		headers: []string{"x-api-key: s3cr3t", "X-API-Key: s3cr3t"},
	})
	var got config
	if err := yaml.Unmarshal([]byte(d.text()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, d.text())
	}
	want := config{
		Command: []string{"serve", "{port}", "--key=[redacted]"}, URL: "http://127.0.0.1:{port}/mcp", Cwd: "sub",
		Env:     map[string]string{"PORT": "{port}"},
		Headers: map[string]string{"X-Api-Key": "HEADER_X_API_KEY"}, BearerEnv: "TOKEN", Profile: "release",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := d.text() + d.nextSteps("my.yaml"); strings.Contains(text, "s3cr3t") {
		t.Errorf("a secret is in\n%s", text)
	}
	next := "review it, put in what is [redacted], set KEY, HEADER_X_API_KEY in the environment, " +
		"then run mcpcheck run --config my.yaml --insecure"
	if got := d.nextSteps("my.yaml"); got != next {
		t.Errorf("next: %s, want %s", got, next)
	}
}
