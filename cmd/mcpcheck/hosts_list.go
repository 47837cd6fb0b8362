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

// longest bounds what is read of the file.
func (f hostFile) longest() int {
	if f.isList() {
		return longestConfig
	}
	return longestHosts
}

// parseList reads the servers of a list, in its order.
func (f hostFile) parseList(source []byte) (servers []hostServer, err error) {
	var list serverList
	if err := readYAML(f.path, source, &list); err != nil {
		return nil, err
	}
	all := find(root(source), "servers")
	if all == nil || all.Type() == ast.NullType {
		return nil, usage("%s: there is no list of servers; give servers: and below it, by name, keys of mcpcheck.yaml",
			f.path)
	}
	for _, pair := range pairs(all) {
		name := pair.Key.GetToken().Value
		if c, ok := list.Servers[name]; ok {
			servers = append(servers, f.listed(name, c, pair.Value))
		}
	}
	return servers, nil
}

// listed is an entry of a list, where its value stands.
func (f hostFile) listed(name string, c config, value ast.Node) hostServer {
	c.name, c.value, c.listed = f.path, value, true
	c.asWritten()
	e := hostServer{file: f, name: name, place: c.place(), config: &c, URL: c.URL, Cwd: c.Cwd, Env: map[string]any{}}
	if len(c.Command) > 0 {
		e.Command, e.Args = c.Command[0], c.Command[1:]
	}
	if c.URL != "" {
		e.Type, e.launched = "http", e.Command != ""
	}
	for key, value := range c.Env {
		e.Env[key] = value
	}
	if flaw := c.flaw(); flaw != nil {
		e.wrong = usage("%s: server %q: %w", c.place(flaw.path...), name, flaw.what)
	} else if _, err := e.transport(); err != nil {
		e.wrong = e.problem("%w", err)
	}
	return e
}

// configuration is what a file says beside the flags: the entry of a list that --server names, or mcpcheck.yaml.
func (f runFlags) configuration() (config, error) {
	if f.given("server") && f.hosts.name != "" && f.hosts.file != "" && f.hosts.files()[0].isList() {
		if f.config != "" {
			return config{}, usage("--config and the list %s exclude each other; an entry of it has the same keys",
				f.hosts.file)
		}
		server, err := f.hosts.find(f.hosts.name)
		if err != nil {
			return config{}, err
		}
		return *server.config, nil
	}
	return readConfig(f.config)
}
