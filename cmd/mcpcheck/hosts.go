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
	server serverName
	file   string
	name   string // that belongs to --server
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.server, "server",
		"test the server of this name in .mcp.json, .vscode/mcp.json, .cursor/mcp.json "+
			"or the configuration of Claude Desktop; without a name, list the servers there")
	flags.Lookup("server").NoOptDefVal = noName
	flags.StringVar(&f.file, "servers-file", "", "`FILE` to look for --server in, instead")
}

// serverName is the value of --server, which may be left out.
type serverName string

func (n *serverName) String() string         { return string(*n) }
func (n *serverName) Set(value string) error { *n = serverName(value); return nil }
func (n *serverName) Type() string           { return "" } // the help says --server[=NAME]

// noName is the value of a --server that stands alone.
const noName = "NAME"

// named is the name that belongs to --server, which may stand apart from it, and the arguments without it.
func (f *hostFlags) named(cmd *cobra.Command, args []string) (name string, rest []string) {
	apart := cmd.ArgsLenAtDash() // how many arguments stand before a --
	if apart < 0 {
		apart = len(args)
	}
	switch {
	case f.server != noName:
		return string(f.server), args
	case apart > 0:
		return args[0], args[1:]
	}
	return "", args
}

// lists reports whether --server is to list what there is.
func (f *hostFlags) lists(cmd *cobra.Command, args []string) bool {
	name, rest := f.named(cmd, args)
	return cmd.Flags().Changed("server") && name == "" && len(rest) == 0
}

// files are the files that are looked through, in this order.
func (f *hostFlags) files() []hostFile {
	if f.file != "" {
		return []hostFile{{f.file, dialectOf(f.file)}}
	}
	var files []hostFile
	for _, known := range projectFiles {
		files = append(files, hostFile{filepath.FromSlash(known.path), known.dialect})
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, hostFile{filepath.Join(dir, "Claude", desktopName), desktop})
	}
	return files
}

// read reads the files up to the first that is wrong. Of those that it looks for by itself, none has to be there.
func (f *hostFlags) read() (servers []hostServer, found []string, err error) {
	for _, file := range f.files() {
		text, err := readWhole(file.path, file.longest())
		if f.file == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return servers, found, usage("cannot read the servers: %w", err)
		}
		list, err := file.parse(text)
		if err != nil {
			return servers, found, err
		}
		servers, found = append(servers, list...), append(found, file.path)
	}
	return servers, found, nil
}

// places names the files that are looked through.
func (f *hostFlags) places() string {
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
			return server, server.wrong
		}
		names = append(names, server.name)
	}
	places := strings.Join(found, ", ")
	switch {
	case err != nil:
		return hostServer{}, err
	case len(found) == 0:
		return hostServer{}, usage("no server %q: there is none of %s; name a file with --servers-file",
			name, f.places())
	case len(names) == 0:
		return hostServer{}, usage("no server %q: there are no servers in %s", name, places)
	}
	return hostServer{}, usage("no server %q in %s%s", name, places, orHave(name, names))
}

// chosen is the server that --server names.
func (f *hostFlags) chosen(stderr io.Writer) (hostServer, error) {
	server, err := f.find(f.name)
	if err == nil && server.Disabled {
		fmt.Fprintf(stderr, "mcpcheck: server %q is disabled in %s; it is judged all the same\n",
			server.name, server.file.path)
	}
	return server, err
}

// list writes what servers there are, by file.
func (f *hostFlags) list(w io.Writer) error {
	servers, _, err := f.read()
	if len(servers) == 0 && err == nil {
		fmt.Fprintf(w, "no servers; looked for %s\n", f.places())
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, server := range servers {
		if i == 0 || server.file.path != servers[i-1].file.path {
			fmt.Fprintln(table, server.file.path)
		}
		fmt.Fprintln(table, server.row())
	}
	table.Flush()
	return err
}
