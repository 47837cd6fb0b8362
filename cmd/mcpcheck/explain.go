package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a check: what is required, how it is tried, what to change",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("explain wants the id of one check; mcpcheck list shows them all")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return checkIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, ok := suites.Find(args[0])
			if !ok {
				_, err := harness.Select(suites.All, []string{args[0]}, nil)
				if err == nil {
					err = fmt.Errorf("%q is not the id of one check; mcpcheck list %s shows what it selects", args[0], args[0])
				}
				return usage("%w", err)
			}
			explain(cmd.OutOrStdout(), r)
			return nil
		},
	}
}

func checkIDs() (ids []string) {
	for _, r := range suites.All() {
		ids = append(ids, r.ID)
	}
	return ids
}

func explain(w io.Writer, r *harness.Requirement) {
	fmt.Fprintf(w, "%s\nA conforming server %s.\n\n%s\n", r.ID, r.Title, wrap(r.Statement, ""))
	if !suites.HasCheck(r) {
		fmt.Fprint(w, "\nNo check tries this requirement yet.\n")
	}
	section(w, "tried by", byEra(r.Stimulus))
	section(w, "pass", byEra(r.Pass))
	section(w, "fail", byEra(r.Fail))
	section(w, "else", byEra(r.Skip))
	section(w, "fix", r.Fix)
	section(w, "notes", r.Notes)
	fmt.Fprintf(w, "\n%-10s %s", "basis", r.Basis)
	if r.Checklist {
		fmt.Fprint(w, "; on the release checklist: a fail gates in the profiles release and strict")
	}
	fmt.Fprintf(w, "\n%-10s %s\n", "safety", safety[r.Safety])
	if len(r.Transports) > 0 {
		fmt.Fprintf(w, "%-10s %s\n", "transport", strings.Join(r.Transports, ", "))
	}
	if r.Capability != "" {
		fmt.Fprintf(w, "%-10s %s\n", "capability", r.Capability)
	}
	fmt.Fprintln(w)
	for _, revision := range r.In() {
		fmt.Fprintf(w, "%s %-6s %s\n", revision, r.Level.In(revision), r.URL(revision))
	}
}

var safety = map[string]string{
	"safe":               "reads only",
	"calls-tool-invalid": "calls tools with arguments that they must refuse",
	"calls-tool-valid":   "may execute tools",
	"kills-process":      "may end the server process, one of its own",
}

// byEra is a text that may differ between the eras of the protocol.
func byEra(text harness.ByEra) string {
	switch {
	case text.Legacy == text.Modern:
		return text.Legacy
	case text.Modern == "":
		return text.Legacy
	case text.Legacy == "":
		return harness.Modern + ": " + text.Modern
	}
	return text.Legacy + "\n" + harness.Modern + ": " + text.Modern
}

func section(w io.Writer, title, text string) {
	if text != "" {
		fmt.Fprintf(w, "\n%-10s %s\n", title, strings.TrimLeft(wrap(text, strings.Repeat(" ", 11)), " "))
	}
}

// wrap breaks a text into lines of at most 88 characters.
func wrap(text, indent string) string {
	var out strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		column := 0
		for _, word := range strings.Fields(paragraph) {
			switch {
			case column == 0:
				out.WriteString(indent)
				column = len(indent)
			case column+1+len(word) > 88:
				out.WriteString("\n" + indent)
				column = len(indent)
			default:
				out.WriteByte(' ')
				column++
			}
			out.WriteString(word)
			column += len([]rune(word))
		}
	}
	return out.String()
}
