package config

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HostFlags name a server that a host (an application that uses MCP servers) has in one of its files.
type HostFlags struct {
	server     serverFlag
	File       string
	ServerName string // that belongs to --server
}

func (f *HostFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.server, "server",
		"test the server of this name in .mcp.json, .vscode/mcp.json, .cursor/mcp.json "+
			"or the configuration of Claude Desktop; without a name, list the servers there")
	flags.Lookup("server").NoOptDefVal = NoServerName
	flags.StringVar(&f.File, "servers-file", "", "`FILE` to look for --server in, instead")
}

// splitServerName is the name that belongs to --server, which may stand apart from it, and the arguments without it.
func (f *HostFlags) splitServerName(cmd *cobra.Command, args []string) (name string, rest []string) {
	apart := cmd.ArgsLenAtDash() // how many arguments stand before a --
	if apart < 0 {
		apart = len(args)
	}
	switch {
	case f.server != NoServerName:
		return string(f.server), args
	case apart > 0:
		return args[0], args[1:]
	}
	return "", args
}

// IsListRequest reports whether --server is to list what there is.
func (f *HostFlags) IsListRequest(cmd *cobra.Command, args []string) bool {
	name, rest := f.splitServerName(cmd, args)
	return cmd.Flags().Changed("server") && name == "" && len(rest) == 0
}

// Args are the flags that name the server again.
func (f *HostFlags) Args() []string {
	words := []string{"--server", f.ServerName}
	if f.File != "" {
		words = append(words, "--servers-file", f.File)
	}
	return words
}

// serverFlag is the value of --server, which may be left out.
type serverFlag string

func (n *serverFlag) String() string         { return string(*n) }
func (n *serverFlag) Set(value string) error { *n = serverFlag(value); return nil }
func (n *serverFlag) Type() string           { return "" } // the help says --server[=NAME]

// NoServerName is the value of a --server that stands alone.
const NoServerName = "NAME"
