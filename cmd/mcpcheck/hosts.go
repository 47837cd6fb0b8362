package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// hostFlags name a server that a host (an application that uses MCP servers) has in one of its files.
type hostFlags struct {
	server     serverFlag
	file       string
	serverName string // that belongs to --server
}

func (f *hostFlags) addFlags(flags *pflag.FlagSet) {
	flags.Var(&f.server, "server",
		"test the server of this name in .mcp.json, .vscode/mcp.json, .cursor/mcp.json "+
			"or the configuration of Claude Desktop; without a name, list the servers there")
	flags.Lookup("server").NoOptDefVal = noServerName
	flags.StringVar(&f.file, "servers-file", "", "`FILE` to look for --server in, instead")
}

// serverFlag is the value of --server, which may be left out.
type serverFlag string

func (n *serverFlag) String() string         { return string(*n) }
func (n *serverFlag) Set(value string) error { *n = serverFlag(value); return nil }
func (n *serverFlag) Type() string           { return "" } // the help says --server[=NAME]

// noServerName is the value of a --server that stands alone.
const noServerName = "NAME"

// named is the name that belongs to --server, which may stand apart from it, and the arguments without it.
func (f *hostFlags) splitServerName(cmd *cobra.Command, args []string) (name string, rest []string) {
	apart := cmd.ArgsLenAtDash() // how many arguments stand before a --
	if apart < 0 {
		apart = len(args)
	}
	switch {
	case f.server != noServerName:
		return string(f.server), args
	case apart > 0:
		return args[0], args[1:]
	}
	return "", args
}

// isListRequest reports whether --server is to list what there is.
func (f *hostFlags) isListRequest(cmd *cobra.Command, args []string) bool {
	name, rest := f.splitServerName(cmd, args)
	return cmd.Flags().Changed("server") && name == "" && len(rest) == 0
}

// byFormat are the files that are looked through, in this order.
func (f *hostFlags) files() []hostFile {
	if f.file != "" {
		return []hostFile{{f.file, dialectOf(f.file)}}
	}
	var files []hostFile
	for _, known := range projectFiles {
		files = append(files, hostFile{filepath.FromSlash(known.path), known.dialect})
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, hostFile{filepath.Join(dir, "Claude", claudeDesktopFile), claudeDesktop})
	}
	return files
}

// read reads the files up to the first that is wrong. Of those that it looks for by itself, none has to be there.
func (f *hostFlags) read() (servers []hostServer, found []string, err error) {
	for _, file := range f.files() {
		text, err := readLimited(file.path, file.maxBytes())
		if f.file == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return servers, found, usageErrorf("cannot read the servers: %w", err)
		}
		list, err := file.parse(text)
		if err != nil {
			return servers, found, err
		}
		servers, found = append(servers, list...), append(found, file.path)
	}
	return servers, found, nil
}

// fileNames names the files that are looked through.
func (f *hostFlags) fileNames() string {
	var paths []string
	for _, file := range f.files() {
		paths = append(paths, file.path)
	}
	return strings.Join(paths, ", ")
}

// find finds a server by its name.
func (f *hostFlags) find(name string) (hostServer, error) {
	servers, found, err := f.read()
	var names []string
	for _, server := range servers {
		if server.name == name {
			return server, server.entryErr
		}
		names = append(names, server.name)
	}
	places := strings.Join(found, ", ")
	switch {
	case err != nil:
		return hostServer{}, err
	case len(found) == 0:
		return hostServer{}, usageErrorf("no server %q: there is none of %s; name a file with --servers-file",
			name, f.fileNames())
	case len(names) == 0:
		return hostServer{}, usageErrorf("no server %q: there are no servers in %s", name, places)
	}
	return hostServer{}, usageErrorf("no server %q in %s%s", name, places, suggestion(name, names))
}

// findSelected is the server that --server names.
func (f *hostFlags) findSelected(stderr io.Writer) (hostServer, error) {
	server, err := f.find(f.serverName)
	if err == nil && server.Disabled {
		fmt.Fprintf(stderr, "mcpcheck: server %q is disabled in %s; it is judged all the same\n",
			server.name, server.file.path)
	}
	return server, err
}

// list writes what servers there are, by file.
func (f *hostFlags) writeList(w io.Writer) error {
	servers, _, err := f.read()
	if len(servers) == 0 && err == nil {
		fmt.Fprintf(w, "no servers; looked for %s\n", f.fileNames())
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, server := range servers {
		if i == 0 || server.file.path != servers[i-1].file.path {
			fmt.Fprintln(table, server.file.path)
		}
		fmt.Fprintln(table, server.listLine())
	}
	table.Flush()
	return err
}
