package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIR]",
		Short: "Write the man pages",
		Long: `Write a man page for each command to a directory, man without one. The same
version of mcpcheck writes the same pages.

  mcpcheck man ~/.local/share/man/man1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("man needs one directory, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "man"
			if len(args) > 0 {
				dir = args[0]
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return exit.Usagef("cannot write the man pages: %w", err)
			}
			if err := writeManPages(cmd.Root(), dir); err != nil {
				return exit.Usagef("cannot write the man pages: %w", err)
			}
			return nil
		},
	}
}

// writeManPages writes a manual page for each command. Its date is that of the newest legacy revision, so that pages do
// not depend on the time of the build.
func writeManPages(root *cobra.Command, dir string) error {
	date, err := time.Parse(time.DateOnly, catalogue.NewestLegacy)
	if err != nil {
		return err
	}
	root.DisableAutoGenTag = true // the tag contains the time of the build
	prepareForMan(root)
	header := doc.GenManHeader{Date: &date, Source: "mcpcheck " + build.Version(), Manual: "mcpcheck manual"}
	return doc.GenManTree(root, &header, dir)
}

// prepareForMan converts the texts of a command and its subcommands to Markdown, from which cobra makes manual pages.
func prepareForMan(cmd *cobra.Command) {
	cmd.Long = manMarkdown(cmd.Long)
	groups := groupedFlags(cmd.Flags())
	cmd.ResetFlags()
	cmd.Flags().SortFlags = false
	for i, g := range groups {
		var last *pflag.Flag
		g.flags.VisitAll(func(f *pflag.Flag) {
			_, f.Usage = pflag.UnquoteUsage(f)
			f.Usage = manEscaper.Replace(f.Usage)
			cmd.Flags().AddFlag(f)
			last = f
		})
		if i+1 < len(groups) {
			last.Usage += "\n\n### " + groups[i+1].title // cobra writes no headings among flags
		}
	}
	for _, c := range cmd.Commands() {
		prepareForMan(c)
	}
}

// manMarkdown converts a help text to Markdown: indented lines become code, which needs a deeper indentation, and
// markup is escaped in other lines.
func manMarkdown(content string) string {
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "  "):
			lines[i] = "  " + line
		case !strings.HasPrefix(line, "\t"): // as in the texts of cobra
			lines[i] = manEscaper.Replace(line)
		}
	}
	return strings.Join(lines, "\n")
}

var manEscaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`)
