package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// TestRepeat: the command that tries a check again has what its verdict, and whether that gates, depend on.
func TestRepeat(t *testing.T) {
	const only = "mcpcheck run --only ping/prompt"
	for line, want := range map[string]string{
		"-- serve": only + " -- serve",
		"--jobs 1 --isolate --profile strict -- serve":     only + " --jobs 1 --isolate --profile strict -- serve",
		"--isolate=false -- serve":                         only + " --isolate=false -- serve",
		"--timeout 7s --start-timeout 1m -- serve":         only + " --timeout 7s --start-timeout 1m0s -- serve",
		"--budget 9m -- serve":                             only + " --budget 9m0s -- serve",
		"--max-message 1MiB --seed 3 --calls all -- serve": only + " --max-message 1MiB --seed 3 --calls all -- serve",
		"--config c.yaml --baseline b.yaml -- serve":       only + " --config c.yaml --baseline b.yaml -- serve",
		"--skip tools/*,must --skip http -- serve":         only + " --skip 'tools/*,must,http' -- serve",
		"--protocol auto -- serve":                         only + " -- serve",
		"--protocol all -- serve":                          only + " --protocol 2025-03-26 -- serve",
		"--protocol 2025-03-26 -- serve":                   only + " --protocol 2025-03-26 -- serve",
		"--only ping -v -q --brief --json r -- serve":      only + " -- serve",
	} {
		flags := flagsOf(t, line)
		v := values{config: merge(flags, config{}), flags: flags}
		target := &target{address: address{command: flags.keys.Command}, redact: (&secrets{}).redactor()}
		if got := repeat(v, target, harness.Result{ID: "ping/prompt", Revision: "2025-03-26"}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
	v := values{config: config{Protocol: "auto"}}
	for want, provokers := range map[string][]string{
		"mcpcheck run --only ping/server-ping-rate,ping/prompt,tools/list-works": {"ping/prompt", "tools/list-works"},
		"mcpcheck run": {harness.Everything},
	} {
		watch := harness.Result{ID: "ping/server-ping-rate", ProvokedBy: provokers}
		if got := repeat(v, &target{redact: (&secrets{}).redactor()}, watch); got != want {
			t.Errorf("a watch:\n got %s\nwant %s", got, want)
		}
	}
}

// TestEveryFlagIsRepeated: each flag of run is given again, says where the server is, or is known to make no difference
// to a verdict.
func TestEveryFlagIsRepeated(t *testing.T) {
	reaching := strings.Fields("url cwd env header header-env bearer-env token-env contact-issuer sse-url insecure " +
		"cacert demo server servers-file")
	chosen := strings.Fields("only protocol shard set last-failed quick")
	telling := strings.Fields("plan json junit markdown sarif html tap ctrf badge trace report-dir annotations " +
		"no-color verbose quiet brief advice watch watch-path")
	known := slices.Concat(repeatedFlags, reaching, chosen, telling)
	cmd := &cobra.Command{}
	new(runFlags).add(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) {
			t.Errorf("is --%s to be given again?", f.Name)
		}
	})
	for _, name := range known {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}
