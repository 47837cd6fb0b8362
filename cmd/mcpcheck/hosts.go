package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// hostFlags name a server that a host (an application that uses MCP servers) has in
// one of its files.
type hostFlags struct {
	server serverName
	file   string
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.server, "server", "judge the server of this name in .mcp.json, .vscode/mcp.json, .cursor/mcp.json or the configuration of Claude Desktop; without a name, list what is there")
	flags.Lookup("server").NoOptDefVal = noName
	flags.StringVar(&f.file, "servers-file", "", "look for --server in this `FILE` instead")
}

// serverName is the value of --server, which may be left out.
type serverName string

func (n *serverName) String() string         { return string(*n) }
func (n *serverName) Set(value string) error { *n = serverName(value); return nil }
func (n *serverName) Type() string           { return "" } // the help says --server[=NAME]

// noName is the value of a --server that stands alone.
const noName = "NAME"

// named is the name that belongs to --server, which may stand apart from it, and the
// arguments without it.
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

// read reads the files up to the first that is wrong. Of those that it looks for by
// itself, none has to be there.
func (f *hostFlags) read() (servers []hostServer, found []string, err error) {
	for _, file := range f.files() {
		text, err := os.ReadFile(file.path)
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
	switch near := harness.Nearest(name, names); {
	case err != nil:
		return hostServer{}, err
	case len(found) == 0:
		return hostServer{}, usage("no server %q: there is none of %s; name a file with --servers-file", name, f.places())
	case len(names) == 0:
		return hostServer{}, usage("no server %q: there are no servers in %s", name, strings.Join(found, ", "))
	case near != "":
		return hostServer{}, usage("no server %q in %s; did you mean %s?", name, strings.Join(found, ", "), near)
	}
	return hostServer{}, usage("no server %q in %s (have %s)", name, strings.Join(found, ", "), strings.Join(names, ", "))
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

// takeHost makes the server that --server names the target, in the place of that of
// mcpcheck.yaml; flags add to it. It returns the arguments without the name.
func (s *settings) takeHost(cmd *cobra.Command, args []string) ([]string, error) {
	f := &s.flags.hosts
	if !cmd.Flags().Changed("server") {
		if f.file != "" {
			return nil, usage("--servers-file wants --server NAME")
		}
		return args, nil
	}
	name, rest := f.named(cmd, args)
	switch {
	case s.flags.demo:
		return nil, usage("--server and --demo exclude each other")
	case s.flags.remote.url != "":
		return nil, usage("--server and --url exclude each other; the file says where the server is")
	case len(rest) > 0:
		return nil, usage("--server takes the command from a file; leave out %s", strings.Join(rest, " "))
	case name == "":
		return nil, usage("--server wants a name; mcpcheck run --server lists what there is")
	}
	server, err := f.find(name)
	if err != nil {
		return nil, err
	}
	if server.Disabled {
		fmt.Fprintf(s.stderr, "mcpcheck: server %q is disabled in %s; it is judged all the same\n", name, server.file.path)
	}
	return nil, s.adopt(server)
}

// adopted is what became of an entry.
type adopted struct {
	name   string      // empty: there is none
	cwd    string      // that the entry gave
	remote remoteFlags // as they were on the command line
}

// adopt makes an entry the target.
func (s *settings) adopt(e hostServer) error {
	s.host = adopted{name: e.name, remote: s.flags.remote}
	s.Command, s.URL, s.Env, s.Headers, s.BearerEnv = nil, "", nil, nil, ""
	if !s.given("cwd") {
		s.Cwd = ""
	}
	x := newExpansion(e)
	kind, err := e.transport()
	switch {
	case err != nil:
		return err
	case kind == "stdio":
		s.adoptCommand(e, x)
	default:
		s.adoptURL(e, x)
	}
	for _, secret := range x.secrets {
		s.hide(secret)
	}
	return x.problem
}

func (s *settings) adoptCommand(e hostServer, x *expansion) {
	given := map[string]bool{}
	for _, pair := range s.flags.env {
		key, _, _ := strings.Cut(pair, "=")
		given[key] = true
	}
	s.Command = []string{x.path(e.Command)}
	for _, arg := range e.Args {
		s.Command = append(s.Command, x.path(arg))
	}
	s.Env = x.environment(given)
	if s.Cwd == "" {
		s.host.cwd = x.directory()
		s.Cwd = s.host.cwd
	}
	for _, word := range s.Command {
		for _, match := range login.FindAllStringSubmatch(word, -1) {
			s.hide(match[2])
		}
	}
}

func (s *settings) adoptURL(e hostServer, x *expansion) {
	s.URL = x.url()
	given := append([]string{}, reserved...)
	if s.flags.remote.bearerEnv != "" {
		given = append(given, "Authorization")
	}
	for _, pair := range s.flags.remote.headers {
		name, _, _ := strings.Cut(pair, ":")
		given = append(given, name)
	}
	headers := slices.Clone(s.flags.remote.headers)
	for _, name := range sortedKeys(e.Headers) {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(given, same) {
			headers = append(headers, name+": "+x.header(name))
		}
	}
	s.flags.remote.headers = headers
}

// repeat is the flags that name the server again.
func (a adopted) repeat(f hostFlags, redact *strings.Replacer) []string {
	words := []string{"--server", a.name}
	if f.file != "" {
		words = append(words, "--servers-file", f.file)
	}
	return append(words, a.remote.repeat(redact)...)
}
