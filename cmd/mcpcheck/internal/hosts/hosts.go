// Package hosts finds servers in files: those of hosts, those of registries, and YAML lists of mcpcheck.
//
// A host is an application that uses MCP servers. Its file (file.go) names them, each with a command or a URL
// (server.go); variables are replaced in the way that host does (expander.go), according to its dialect. A server.json
// of a registry (registry.go) becomes an entry like a host's. A list (list.go) is YAML, and its entries have the keys
// of mcpcheck.yaml.
//
// ReadFiles reads all servers of the files that the flags select, FindSelected the one that they name. An entry that
// cannot be used is an error only when it is used. Server.AddTo makes an address of an entry: values from the
// environment become secrets, and flags take precedence.
package hosts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// findFiles returns the files that are searched, in this order.
func findFiles(f config.HostFlags) []file {
	if f.File != "" {
		return []file{{f.File, dialectOf(f.File)}}
	}
	var paths []file
	for _, known := range projectFiles {
		paths = append(paths, file{filepath.FromSlash(known.path), known.dialect})
	}
	if dir, err := os.UserConfigDir(); err == nil {
		paths = append(paths, file{filepath.Join(dir, "Claude", claudeDesktopFile), claudeDesktop})
	}
	return paths
}

// ReadFiles reads the servers of all files, and stops at the first file that is invalid. Files at the known paths need
// not exist.
func ReadFiles(f config.HostFlags) (servers []Server, found []string, err error) {
	for _, file := range findFiles(f) {
		content, err := files.ReadLimited(file.path, file.maxBytes())
		if f.File == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return servers, found, exit.Usagef("cannot read the servers: %w", err)
		}
		list, err := file.parse(content)
		if err != nil {
			return servers, found, err
		}
		servers, found = append(servers, list...), append(found, file.path)
	}
	return servers, found, nil
}

// fileNames returns the names of the files that are searched, for messages.
func fileNames(f config.HostFlags) string {
	var paths []string
	for _, file := range findFiles(f) {
		paths = append(paths, file.path)
	}
	return strings.Join(paths, ", ")
}

// findServer returns the server of a name.
func findServer(f config.HostFlags, name string) (Server, error) {
	servers, found, err := ReadFiles(f)
	var names []string
	for _, server := range servers {
		if server.Name == name {
			return server, server.EntryErr
		}
		names = append(names, server.Name)
	}
	places := strings.Join(found, ", ")
	switch {
	case err != nil:
		return Server{}, err
	case len(found) == 0:
		return Server{}, exit.Usagef("no server %q: there is none of %s; name a file with --servers-file",
			name, fileNames(f))
	case len(names) == 0:
		return Server{}, exit.Usagef("no server %q: there are no servers in %s", name, places)
	}
	return Server{}, exit.Usagef("no server %q in %s%s", name, places, text.NearestOrAll(name, names))
}

// FindSelected returns the server that --server names.
func FindSelected(f config.HostFlags, stderr io.Writer) (Server, error) {
	server, err := findServer(f, f.ServerName)
	if err == nil && server.Disabled {
		fmt.Fprintf(stderr, "mcpcheck: server %q is disabled in %s; it is judged all the same\n",
			server.Name, server.file.path)
	}
	return server, err
}

// WriteList writes which servers there are, by file.
func WriteList(f config.HostFlags, w io.Writer) error {
	servers, _, err := ReadFiles(f)
	if len(servers) == 0 && err == nil {
		fmt.Fprintf(w, "no servers; looked for %s\n", fileNames(f))
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

// These limits bound how much of a file is read, in bytes.
const (
	maxHostsBytes   = 64 << 20 // for a host's file, and a registry's with all its servers
	maxEnvFileBytes = 1 << 20  // for a file of variables
)
