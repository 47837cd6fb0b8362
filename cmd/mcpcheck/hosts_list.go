package main

import (
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// serverList is a file that lists servers by name, each with the keys of mcpcheck.yaml.
type serverList struct {
	Servers map[string]config `yaml:"servers"`
}

// isList reports whether the file is such a list: hosts write JSON.
func (f hostFile) isList() bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(f.path))
}

// maxBytes bounds what is read of the file.
func (f hostFile) maxBytes() int {
	if f.isList() {
		return maxConfigBytes
	}
	return maxHostsBytes
}

// parseList reads the servers of a list, in its order.
func (f hostFile) parseList(source []byte) (servers []hostServer, err error) {
	var list serverList
	if err := readYAML(f.path, source, &list); err != nil {
		return nil, err
	}
	all := findNode(firstDocument(source), "servers")
	if all == nil || all.Type() == ast.NullType {
		return nil, usageErrorf(
			"%s: there is no list of servers; give servers: and below it, by name, keys of mcpcheck.yaml",
			f.path)
	}
	for _, pair := range mapEntries(all) {
		name := pair.Key.GetToken().Value
		if c, ok := list.Servers[name]; ok {
			servers = append(servers, f.newListedServer(name, c, pair.Value))
		}
	}
	return servers, nil
}

// listed is an entry of a list, where its value stands.
func (f hostFile) newListedServer(name string, c config, value ast.Node) hostServer {
	c.name, c.root, c.isListEntry = f.path, value, true
	c.restoreWrittenNumbers()
	e := hostServer{file: f, name: name, location: c.location(), config: &c, URL: c.URL, Cwd: c.Cwd,
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
	if flaw := c.validate(); flaw != nil {
		e.entryErr = usageErrorf("%s: server %q: %w", c.location(flaw.path...), name, flaw.err)
	} else if _, err := e.transport(); err != nil {
		e.entryErr = e.errorf("%w", err)
	}
	return e
}

// readConfiguration is what a file says beside the flags: the entry of a list that --server names, or mcpcheck.yaml.
func (f runFlags) readConfiguration() (config, error) {
	if f.isGiven("server") && f.hosts.serverName != "" && f.hosts.file != "" && f.hosts.files()[0].isList() {
		if f.configFile != "" {
			return config{}, usageErrorf(
				"--config and the list %s exclude each other; an entry of it has the same keys",
				f.hosts.file)
		}
		server, err := f.hosts.find(f.hosts.serverName)
		if err != nil {
			return config{}, err
		}
		return *server.config, nil
	}
	return readConfig(f.configFile)
}
