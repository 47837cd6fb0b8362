package config

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HostFlags select a server from a file of a host, which is an application that uses MCP servers.
type HostFlags struct {
	// server is the value of --server.
	server serverFlag
	// File is the path of the host's file; empty means that the known paths are searched.
	File string
	// ServerName is the name of the server, from the flag or from the argument after it.
	ServerName string
}

func (f *HostFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.server, "server",
		"test the server of this name in .mcp.json, .vscode/mcp.json, .cursor/mcp.json "+
			"or the configuration of Claude Desktop; without a name, list the servers there")
	flags.Lookup("server").NoOptDefVal = NoServerName
	flags.StringVar(&f.File, "servers-file", "", "`FILE` to look for --server in, instead")
}

// splitServerName returns the name for --server, which may be a separate argument, and the arguments without it.
func (f *HostFlags) splitServerName(cmd *cobra.Command, args []string) (name string, rest []string) {
	apart := cmd.ArgsLenAtDash() // number of arguments before --
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

// IsListRequest reports whether --server has no name, which lists the servers.
func (f *HostFlags) IsListRequest(cmd *cobra.Command, args []string) bool {
	name, rest := f.splitServerName(cmd, args)
	return cmd.Flags().Changed("server") && name == "" && len(rest) == 0
}

// Args returns the flags that select the same server again.
func (f *HostFlags) Args() []string {
	words := []string{"--server", f.ServerName}
	if f.File != "" {
		words = append(words, "--servers-file", f.File)
	}
	return words
}

// serverFlag is the value of --server, which may be omitted.
type serverFlag string

func (n *serverFlag) String() string         { return string(*n) }
func (n *serverFlag) Set(value string) error { *n = serverFlag(value); return nil }
func (n *serverFlag) Type() string           { return "" } // the help says --server[=NAME]

// NoServerName is the value of --server without a value.
const NoServerName = "NAME"
