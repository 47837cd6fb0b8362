package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the maximum length of a line in a help text.
const helpWidth = 100

// nameGroup is a list of commands or flags with a title.
type nameGroup struct {
	title string
	names []string
}

func newNameGroup(title, names string) nameGroup { return nameGroup{title, strings.Fields(names)} }

// commandGroups are the groups in the help of mcpcheck; commands in none of them come last.
var commandGroups = []nameGroup{
	newNameGroup("Test a server", "run explore init list explain"),
	newNameGroup("Gate on the results", "baseline diff merge"),
	newNameGroup("Test many servers", "fleet"),
	newNameGroup("Record real clients", "record judge"),
	newNameGroup("Build a client", "serve"),
}

// flagGroups are the groups in the help of run and similar commands; flags in none of them come last.
var flagGroups = []nameGroup{
	newNameGroup("Fleet", "out parallel from page resume fresh"),
	newNameGroup("Server", "url server servers-file demo env cwd config"),
	newNameGroup("HTTP", "header header-env bearer-env token-env contact-issuer sse-url insecure cacert"),
	newNameGroup("Checks", "protocol profile calls only skip quick last-failed shard set explore seed"),
	newNameGroup("What blocks", "baseline sdk tentative"),
	newNameGroup("Time and load", "timeout start-timeout budget max-message rate jobs isolate"),
	newNameGroup("Reports", "json junit markdown sarif html tap ctrf badge report-dir annotations trace wire"),
	newNameGroup("Console", "plan watch watch-path verbose quiet brief advice no-color help"),
}

// maxUngroupedFlags is the number of flags up to which a help text shows them without groups.
const maxUngroupedFlags = 12

// writeUsage writes the usage of a command, its subcommands and its flags.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
		writeCommands(w, cmd)
	}
	for _, g := range groupedFlags(cmd.LocalFlags()) {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	return nil
}

// writeCommands writes the subcommands of a command by groups.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	below := map[string]*cobra.Command{}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			below[c.Name()] = c
		}
	}
	for _, g := range groupNames(slices.Sorted(maps.Keys(below)), commandGroups, "Other commands") {
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, name := range g.names {
			fmt.Fprintf(w, "  %-12s %s\n", name, below[name].Short)
		}
	}
}

// flagGroup is a set of flags with a title.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groupedFlags returns the flags of a command, in groups if there are many.
func groupedFlags(flags *pflag.FlagSet) (grouped []flagGroup) {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	groups := flagGroups
	if len(names) <= maxUngroupedFlags {
		groups = nil
	}
	for _, g := range groupNames(names, groups, "Flags") {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.names {
			set.AddFlag(flags.Lookup(name))
		}
		grouped = append(grouped, flagGroup{g.title, set})
	}
	return grouped
}

// groupNames sorts names into groups and omits empty groups; names in none of them come last, under the title rest.
func groupNames(names []string, groups []nameGroup, rest string) (sorted []nameGroup) {
	left := nameGroup{title: rest}
	for _, name := range names {
		if !slices.ContainsFunc(groups, func(g nameGroup) bool { return slices.Contains(g.names, name) }) {
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
