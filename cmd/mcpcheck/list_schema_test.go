package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
)

// TestListSchema proves that the schema of a list and mcpcheck accept the same lists: those of the pages, the examples,
// the transcripts and this file.
func TestListSchema(t *testing.T) {
	schema, _ := configtest.CompileSchema(t, config.ListSchema())
	dir := t.TempDir()
	for name, list := range testLists(t) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		servers, _, program := hosts.ReadFiles(config.HostFlags{File: file})
		for _, s := range servers {
			// A schema cannot know which checks exist.
			if s.EntryErr != nil && !strings.Contains(s.EntryErr.Error(), "no check ") {
				program = s.EntryErr
			}
		}
		if said := configtest.ValidateYAML(schema, []byte(list)); (said == nil) != (program == nil) {
			t.Errorf("%s: the schema says %v, mcpcheck %v, of\n%s", name, said, program, list)
		}
	}
}

// testLists returns lists of servers.
func testLists(t *testing.T) map[string]string {
	lists := map[string]string{
		"one.yaml":      "servers: {one: {command: [a, 1, true], env: {N: 1.10}, timeout: 5s, skip: [ping]}}",
		"web.yaml":      "servers: {one: {url: 'https://a/mcp', headers: {X-Key: KEY}}}",
		"both.yaml":     "servers: {one: {url: 'http://127.0.0.1:{port}/', command: [a, '{port}']}}",
		"nowhere.yaml":  "servers: {one: {profile: spec}}",
		"nothing.yaml":  "servers: {one: }",
		"bare.yaml":     "servers: {one: a}",
		"sequence.yaml": "servers: [{command: [a]}]",
		"empty.yaml":    "{}",
		"more.yaml":     "{servers: {one: {command: [a]}}, server: {}}",
		"key.yaml":      "servers: {one: {command: [a], profil: spec}}",
		"profile.yaml":  "servers: {one: {command: [a], profile: nice}}",
		"words.yaml":    "servers: {one: {command: a b}}",
		"seconds.yaml":  "servers: {one: {command: [a], timeout: 5}}",
		"header.yaml":   "servers: {one: {url: 'http://a', headers: {X-Key: 'a b'}}}",
		"example.yaml":  kubeExample(t)["ConfigMap/mcpcheck-fleet"].Data["fleet.yaml"],
	}
	for _, s := range snippets(t) {
		if s.section == "Many servers" && s.language == "yaml" {
			lists["README.yaml"] = s.text
		}
	}
	const own = 16
	if len(lists) != own {
		t.Fatalf("%d lists, want %d: the reference has none", len(lists), own)
	}
	for _, file := range append(scriptFiles(t, "script"), scriptFiles(t, "inside")...) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if list := string(f.Data); strings.HasPrefix(list, "servers:") {
				lists[filepath.Base(file)+"."+f.Name] = list
			}
		}
	}
	if len(lists) < own+3 {
		t.Errorf("there are no lists in the transcripts")
	}
	return lists
}
