package main

import (
	"io"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestValidateFlags proves that all commands refuse invalid combinations of flags in the same way.
func TestValidateFlags(t *testing.T) {
	for line, want := range map[string]string{
		"run --url= -- a":                  "--url is empty; give it a value, or leave it out",
		"run --only= -- a":                 "--only is empty; give it a value, or leave it out",
		"run --skip= -- a":                 "--skip is empty; give it a value, or leave it out",
		"run --only ping --env= -- a":      "--env is empty; give it a value, or leave it out",
		"run --header= --url=http://a/":    "--header is empty; give it a value, or leave it out",
		"run --bearer-env= --demo":         "--bearer-env is empty; give it a value, or leave it out",
		"run -v -q --demo":                 "--verbose and --quiet exclude each other",
		"run --brief -q --demo":            "--brief and --quiet exclude each other",
		"init --config= -- a":              "--config is empty; give it a value, or leave it out",
		"baseline --baseline= -- a":        "--baseline is empty; give it a value, or leave it out",
		"fleet --out= a.json":              "--out is empty; give it a value, or leave it out",
		"merge --json= a.json":             "--json is empty; give it a value, or leave it out",
		"merge -q -v a.json":               "--quiet and --verbose exclude each other",
		"judge --junit= a.jsonl":           "--junit is empty; give it a value, or leave it out",
		"judge -q --brief a.jsonl":         "--quiet and --brief exclude each other",
		"record --out= -- a":               "--out is empty; give it a value, or leave it out",
		"serve --fault=":                   "--fault is empty; give it a value, or leave it out",
		"list --revision=":                 "--revision is empty; give it a value, or leave it out",
		"list --set 2025-11-25 --json":     "--json and --set exclude each other",
		"list --profile spec --variations": "--profile and --variations exclude each other",
		"explain --json --markdown ping":   "--json and --markdown exclude each other",
		"diff --json --markdown a.json b":  "--json and --markdown exclude each other",
		"list --set 2025-11-25 --json a":   "--json and --set exclude each other",
	} {
		var said strings.Builder
		if code := run(strings.Fields(line), strings.NewReader(""), io.Discard, &said); code != report.ExitUsage ||
			said.String() != "mcpcheck: "+want+"\n" {
			t.Errorf("%s: exit code %d, %q, want %q", line, code, &said, want)
		}
	}
}
