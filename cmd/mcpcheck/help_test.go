package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachHelp calls a function with every command that the help shows, and its help text.
func eachHelp(t *testing.T, check func(t *testing.T, cmd *cobra.Command, help string)) {
	t.Helper()
	var below func(*cobra.Command)
	below = func(cmd *cobra.Command) {
		var content bytes.Buffer
		cmd.SetOut(&content)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) { check(t, cmd, content.String()) })
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				below(c)
			}
		}
	}
	below(newRootCommand())
}

// TestHelpWidth proves that no line of a help text is longer than helpWidth, and that globs are quoted for the shell.
func TestHelpWidth(t *testing.T) {
	eachHelp(t, func(t *testing.T, _ *cobra.Command, help string) {
		for _, line := range strings.Split(help, "\n") {
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%d columns: %s", n, line)
			}
			if strings.Contains(line, " tools/*") {
				t.Errorf("a glob without quotes: %s", line)
			}
		}
	})
}

// TestHelpNamesValues proves that the help names the value of a flag in capitals, rather than by its Go type.
func TestHelpNamesValues(t *testing.T) {
	eachHelp(t, func(t *testing.T, cmd *cobra.Command, _ string) {
		if cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return // commands of cobra
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.ToUpper(name) != name {
				t.Errorf("--%s %s: want a name in capitals", f.Name, name)
			}
		})
	})
}

// TestHelpGroups proves that every command and every flag of run is in one group, and that groups contain nothing else.
func TestHelpGroups(t *testing.T) {
	root := newRootCommand()
	var commands, flags []string
	for _, c := range root.Commands() {
		commands = append(commands, c.Name())
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	}
	for _, test := range []struct {
		groups []nameGroup
		known  []string
	}{{commandGroups, commands}, {flagGroups, flags}} {
		seen := map[string]bool{}
		for _, g := range test.groups {
			for _, name := range g.names {
				if seen[name] || !slices.Contains(test.known, name) {
					t.Errorf("%s: %s is there twice, or does not exist", g.title, name)
				}
				seen[name] = true
			}
		}
	}
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groupedFlags(run.LocalFlags()) {
		if g.title == "Flags" {
			t.Errorf("flags of run without a group:\n%s", g.flags.FlagUsages())
		}
	}
}

// TestHelpWords proves that the help calls failures that count against the exit code blocking.
func TestHelpWords(t *testing.T) {
	banned := regexp.MustCompile(`\b(([Aa]|the|known) fails?|gates|keeps the protocol|wait so long|DIRectory|` +
		`(come|comes|came) (to|of)|put together|tried|judged)\b`)
	eachHelp(t, func(t *testing.T, _ *cobra.Command, help string) {
		if found := banned.FindString(help); found != "" {
			t.Errorf("the help says %q", found)
		}
	})
}
