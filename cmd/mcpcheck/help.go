package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpColumns is how wide the lines of a help text are at most.
const helpColumns = 100

// group is a titled list of names, of commands or of flags.
type group struct {
	title string
	names []string
}

func newGroup(title, names string) group { return group{title, strings.Fields(names)} }

// commandGroups are the commands as the help of mcpcheck shows them; what is in none of them comes last.
var commandGroups = []group{
	newGroup("Test a server", "run init list explain"),
	newGroup("Gate on the results", "baseline diff merge"),
	newGroup("Test many servers", "fleet"),
	newGroup("Record real clients", "record judge"),
	newGroup("Build a client", "serve"),
}

// flagGroups are the flags of run and of commands like it as their help shows them; what is in none of them comes last.
var flagGroups = []group{
	newGroup("Fleet", "out parallel from page resume fresh"),
	newGroup("Server", "url server servers-file demo env cwd config"),
	newGroup("HTTP", "header header-env bearer-env token-env contact-issuer sse-url insecure cacert"),
	newGroup("Checks", "protocol profile calls only skip quick last-failed shard set seed"),
	newGroup("What blocks", "baseline sdk tentative"),
	newGroup("Time and load", "timeout start-timeout budget max-message jobs isolate"),
	newGroup("Reports", "json junit markdown sarif html tap ctrf badge report-dir annotations trace wire"),
	newGroup("Console", "plan watch watch-path verbose quiet brief advice no-color help"),
}

// fewFlags is how many flags a help shows without groups.
const fewFlags = 12

// writeUsage writes how a command is used, and the commands and flags that it has.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
		writeCommands(w, cmd)
	}
	for _, g := range groupedFlags(cmd.LocalFlags()) {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(helpColumns))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	return nil
}

// writeCommands writes the commands below a command, by groups.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	below := map[string]*cobra.Command{}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			below[c.Name()] = c
		}
	}
	for _, g := range inGroups(sortedKeys(below), commandGroups, "Other commands") {
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, name := range g.names {
			fmt.Fprintf(w, "  %-12s %s\n", name, below[name].Short)
		}
	}
}

// flagGroup is flags under a title.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groupedFlags are the flags of a command: a few as they are, many in groups.
func groupedFlags(flags *pflag.FlagSet) (grouped []flagGroup) {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	groups := flagGroups
	if len(names) <= fewFlags {
		groups = nil
	}
	for _, g := range inGroups(names, groups, "Flags") {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.names {
			set.AddFlag(flags.Lookup(name))
		}
		grouped = append(grouped, flagGroup{g.title, set})
	}
	return grouped
}

// inGroups sorts names into groups, without those that stay empty; what is in none of them comes last, under rest.
func inGroups(names []string, groups []group, rest string) (sorted []group) {
	left := group{title: rest}
	for _, name := range names {
		if !slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(g.names, name) }) {
			left.names = append(left.names, name)
		}
	}
	for _, g := range append(slices.Clone(groups), left) {
		absent := func(name string) bool { return !slices.Contains(names, name) }
		g.names = slices.DeleteFunc(slices.Clone(g.names), absent)
		if len(g.names) > 0 {
			sorted = append(sorted, g)
		}
	}
	return sorted
}
