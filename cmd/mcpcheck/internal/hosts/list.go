package hosts

import (
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
)

// serverList is a file that lists servers by name, each with the keys of mcpcheck.yaml.
type serverList struct {
	Servers map[string]config.File `yaml:"servers"`
}

// isList reports whether the file is a YAML list; files of hosts are JSON.
func (f file) isList() bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(f.path))
}

// maxBytes returns the size limit of the file.
func (f file) maxBytes() int {
	if f.isList() {
		return config.MaxBytes
	}
	return maxHostsBytes
}

// parseList reads the servers of a list, in its order.
func (f file) parseList(source []byte) (servers []Server, err error) {
	var list serverList
	root, err := yamlfile.Read(f.path, source, &list)
	if err != nil {
		return nil, err
	}
	if list.Servers == nil {
		return nil, exit.Usagef(
			"%s: there is no list of servers; give servers: and below it, by name, keys of mcpcheck.yaml",
			f.path)
	}
	for name, value := range yamlfile.Members(yamlfile.Find(root, "servers")) {
		if c, ok := list.Servers[name.Value]; ok {
			servers = append(servers, f.newListedServer(name.Value, c, value))
		}
	}
	return servers, nil
}

// newListedServer returns the entry of a list whose value is at the given place.
func (f file) newListedServer(name string, c config.File, value *yaml.Node) Server {
	c = c.AsListEntry(f.path, value)
	e := Server{file: f, Name: name, location: c.Location(), Config: &c, URL: c.URL, Cwd: c.Cwd,
		Env: map[string]any{}}
	if len(c.Command) > 0 {
		e.Command, e.Args = c.Command[0], c.Command[1:]
	}
	if c.URL != "" {
		e.Type, e.commandServesURL = "http", e.Command != ""
	}
	for key, value := range c.Env {
		e.Env[key] = value
	}
	if flaw := c.Validate(); flaw != nil {
		e.EntryErr = exit.Usagef("%s: server %q: %w", c.Location(flaw.Path...), name, flaw.Err)
	} else if _, err := e.transport(); err != nil {
		e.EntryErr = e.errorf("%w", err)
	}
	return e
}

// ReadConfig returns the configuration from a file, without flags: the entry of a list that --server names, or
// mcpcheck.yaml.
func ReadConfig(f config.Flags) (config.File, error) {
	if f.IsGiven("server") && f.Hosts.ServerName != "" && f.Hosts.File != "" && findFiles(f.Hosts)[0].isList() {
		if f.ConfigFile != "" {
			return config.File{}, exit.Usagef(
				"--config and the list %s exclude each other; an entry of it has the same keys",
				f.Hosts.File)
		}
		server, err := findServer(f.Hosts, f.Hosts.ServerName)
		if err != nil {
			return config.File{}, err
		}
		return *server.Config, nil
	}
	return config.Read(f.ConfigFile)
}
