package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestSplitServerName covers the name of --server directly after the flag and elsewhere among the arguments.
func TestSplitServerName(t *testing.T) {
	for line, want := range map[string]string{
		"--server":                  "| |list",
		"--server=":                 "| |list",
		"--server x":                "x| |",
		"--server=x":                "x| |",
		"--server x --only ping":    "x| |",
		"--only ping --server x -q": "x| |",
		"--server -- cmd":           "|cmd|",
		"--server x -- cmd arg":     "x|cmd arg|",
		"--server x y":              "x|y|",
		"--server=x y":              "x|y|",
	} {
		var got string
		var f HostFlags
		cmd := &cobra.Command{RunE: func(cmd *cobra.Command, args []string) error {
			name, rest := f.splitServerName(cmd, args)
			got = name + "|" + strings.Join(rest, " ") + "|"
			if len(rest) == 0 {
				got = name + "| |"
			}
			if f.IsListRequest(cmd, args) {
				got += "list"
			}
			return nil
		}}
		cmd.Flags().String("only", "", "")
		cmd.Flags().BoolP("quiet", "q", false, "")
		f.add(cmd.Flags())
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.Execute(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
}

// TestEveryFlagIsRepeated proves that each flag of run is in a command that repeats a check, or says where the server
// is, or is known not to affect a verdict.
func TestEveryFlagIsRepeated(t *testing.T) {
	reaching := strings.Fields("url cwd env header header-env bearer-env token-env contact-issuer sse-url insecure " +
		"cacert demo server servers-file")
	chosen := append(strings.Fields("shard set last-failed"), selectionFlags...)
	telling := strings.Fields("plan json junit markdown sarif html tap ctrf badge trace report-dir annotations " +
		"no-color verbose quiet brief advice watch watch-path")
	known := slices.Concat(repeatedFlags, reaching, chosen, telling)
	cmd := &cobra.Command{}
	new(Flags).AddAll(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) {
			t.Errorf("is --%s a flag to repeat?", f.Name)
		}
	})
	for _, name := range known {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}
