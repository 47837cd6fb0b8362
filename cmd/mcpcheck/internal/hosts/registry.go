package hosts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
)

// registryServer is a server.json, with which a server is published in a registry. It has only the members that say how
// to connect to the server. (github.com/modelcontextprotocol/registry, docs/reference/server-json)
type registryServer struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Packages []registryPackage `json:"packages"`
	Remotes  []registryRemote  `json:"remotes"`
}

// registryPackage is a package that contains the server.
type registryPackage struct {
	// Type is npm, pypi, oci, nuget or mcpb.
	Type             string          `json:"registryType"`
	Identifier       string          `json:"identifier"`
	Version          string          `json:"version"`
	Runtime          string          `json:"runtimeHint"`
	Transport        registryRemote  `json:"transport"`
	RuntimeArguments []registryInput `json:"runtimeArguments"`
	PackageArguments []registryInput `json:"packageArguments"`
	Env              []registryInput `json:"environmentVariables"`
}

// registryRemote is a transport of a package, or a server that is reached by its URL.
type registryRemote struct {
	// Type is stdio, streamable-http or sse.
	Type      string                   `json:"type"`
	URL       string                   `json:"url"`
	Headers   []registryInput          `json:"headers"`
	Variables map[string]registryInput `json:"variables"`
}

// registryInput is a value that the user of a server may have to give.
type registryInput struct {
	// Type is positional or named, for an argument.
	Type      string                   `json:"type"`
	Name      string                   `json:"name"`
	Hint      string                   `json:"valueHint"`
	Value     string                   `json:"value"`
	Default   string                   `json:"default"`
	Required  bool                     `json:"isRequired"`
	Variables map[string]registryInput `json:"variables"`
}

// registryEntries returns the entries of a registry's file: one server.json, a list of several, or a page of the
// registry's API. It returns false for another file.
func registryEntries(root *hujson.Value) (entries []*hujson.Value, ok bool) {
	list, _ := root.Value.(*hujson.Array)
	if servers := jsonMember(root, "servers"); list == nil && servers != nil {
		list, _ = servers.Value.(*hujson.Array)
	}
	if list == nil {
		isOne := jsonMember(root, "packages") != nil || jsonMember(root, "remotes") != nil
		return []*hujson.Value{root}, isOne && jsonMember(root, "mcpServers") == nil
	}
	for i := range list.Elements {
		entry := &list.Elements[i]
		if inner := jsonMember(entry, "server"); inner != nil {
			entry = inner
		}
		entries = append(entries, entry)
	}
	return entries, true
}

// parseRegistry reads the entries of a registry's file. The version becomes a part of the name where a name occurs more
// than once.
func (f file) parseRegistry(source []byte, entries []*hujson.Value) (servers []Server) {
	f.dialect = dialect{}
	times := map[string]int{}
	var versions []string
	for i, entry := range entries {
		e := Server{file: f, location: f.path + offsetPosition(source, entry.StartOffset), IsFromRegistry: true}
		plain := entry.Clone()
		plain.Standardize()
		e.Source = plain.Pack()
		var s registryServer
		err := json.Unmarshal(e.Source, &s)
		if e.Name = s.Name; e.Name == "" {
			e.Name = fmt.Sprintf("server %d of %s", i+1, f.path)
			err = cmp.Or(err, errors.New("it has no name"))
		}
		if err == nil {
			err = s.applyTo(&e)
		}
		if err != nil {
			e.EntryErr = e.errorf("%w", jsonTypeError(err))
		}
		times[e.Name]++
		versions = append(versions, s.Version)
		servers = append(servers, e)
	}
	for i := range servers {
		if times[servers[i].Name] > 1 && versions[i] != "" {
			servers[i].Name += "@" + versions[i]
		}
	}
	return servers
}

// jsonTypeError returns an error that names the member of a server.json that has the wrong type.
func jsonTypeError(err error) error {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return fmt.Errorf("its %s is a JSON %s, which does not belong there", cmp.Or(typed.Field, "entry"), typed.Value)
	}
	return err
}

// applyTo fills a host's entry: from the first package that can be started, or else from the first URL. The error is
// the first that occurred.
func (s registryServer) applyTo(e *Server) (first error) {
	for _, p := range s.Packages {
		err := p.applyTo(e)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	for _, r := range s.Remotes {
		err := r.applyTo(e, nil)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return cmp.Or(first, errors.New("it has neither packages nor remotes"))
}

// applyTo sets the command that starts the package.
func (p registryPackage) applyTo(e *Server) error {
	runtime, before, after, err := p.launchCommand()
	if err != nil {
		return err
	}
	env := map[string]any{}
	var named []string // for docker
	for _, v := range p.Env {
		value, ok, err := v.resolve()
		switch {
		case err != nil:
			return fmt.Errorf("the environment variable %s: %w", v.Name, err)
		case ok:
			env[v.Name] = value
		case v.Required && os.Getenv(v.Name) == "":
			return fmt.Errorf("it needs the environment variable %s; set it", v.Name)
		}
		if ok || os.Getenv(v.Name) != "" {
			named = append(named, "-e", v.Name)
		}
	}
	forRuntime, err := inputArgs(p.RuntimeArguments)
	if err != nil {
		return err
	}
	arguments, err := inputArgs(p.PackageArguments)
	if err != nil {
		return err
	}
	if p.Type != "oci" {
		named = nil // the process inherits the environment
	}
	launched := *e
	launched.Command, launched.Env = runtime, env
	for _, words := range [][]string{before, forRuntime, named, after, arguments} {
		launched.Args = append(launched.Args, words...)
	}
	if p.Transport.Type != "" && p.Transport.Type != "stdio" {
		if err := p.Transport.applyTo(&launched, env); err != nil {
			return err
		}
		launched.commandServesURL = true
	}
	*e = launched
	return nil
}

// launchCommand returns the command that downloads and starts a package of its kind, and the arguments before and after
// those of the package.
func (p registryPackage) launchCommand() (command string, before, after []string, err error) {
	versioned := p.Identifier
	if p.Version != "" {
		versioned += "@" + p.Version
	}
	switch {
	case p.Identifier == "":
		return "", nil, nil, errors.New("its package has no identifier")
	case p.Type == "npm" && cmp.Or(p.Runtime, "npx") == "npx":
		return "npx", []string{"-y"}, []string{versioned}, nil
	case p.Type == "npm", p.Type == "pypi":
		return cmp.Or(p.Runtime, "uvx"), nil, []string{versioned}, nil
	case p.Type == "nuget":
		return cmp.Or(p.Runtime, "dnx"), nil, []string{versioned, "--yes", "--"}, nil
	case p.Type == "oci":
		image := p.Identifier
		if last := image[strings.LastIndexByte(image, '/')+1:]; p.Version != "" && !strings.ContainsAny(last, ":@") {
			image += ":" + p.Version
		}
		return cmp.Or(p.Runtime, "docker"), []string{"run", "-i", "--rm"}, []string{image}, nil
	}
	const problem = "a package of the kind %q cannot be started here (have npm, pypi, oci, nuget)"
	return "", nil, nil, fmt.Errorf(problem, p.Type)
}

// applyTo sets the URL of the entry and its headers. Given values replace variables as well.
func (r registryRemote) applyTo(e *Server, given map[string]any) error {
	kinds := map[string]string{"streamable-http": "http", "sse": "sse"}
	kind, ok := kinds[r.Type]
	if !ok {
		return fmt.Errorf("there is no transport %q (have stdio, streamable-http, sse)", r.Type)
	}
	variables := map[string]registryInput{}
	for name, value := range given {
		variables[name] = registryInput{Value: fmt.Sprint(value)}
	}
	for name, v := range r.Variables {
		variables[name] = v
	}
	url, err := expandPlaceholders(r.URL, variables)
	if err != nil {
		return fmt.Errorf("its URL: %w", err)
	}
	headers := map[string]string{}
	for _, h := range r.Headers {
		value, ok, err := h.resolve()
		switch {
		case err != nil:
			return fmt.Errorf("its header %s: %w", h.Name, err)
		case ok:
			headers[h.Name] = value
		case h.Required:
			return fmt.Errorf("it needs the header %s, for which server.json has no value; "+
				"judge it with mcpcheck run --url", h.Name)
		}
	}
	e.Type, e.URL, e.Headers = kind, url, headers
	return nil
}

// inputArgs returns the arguments that have a value.
func inputArgs(inputs []registryInput) (words []string, err error) {
	for _, in := range inputs {
		value, ok, err := in.resolve()
		called := cmp.Or(in.Name, in.Hint)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the argument %s: %w", called, err)
		case in.Type == "named" && ok && value != "":
			words = append(words, in.Name, value)
		case in.Type == "named" && (ok || in.Required):
			words = append(words, in.Name)
		case ok:
			words = append(words, value)
		case in.Required:
			return nil, fmt.Errorf("it needs the argument %s, for which server.json has no value; "+
				"judge it with mcpcheck run -- COMMAND", called)
		}
	}
	return words, nil
}

// resolve returns the value of an input, and whether it has one without the user.
func (in registryInput) resolve() (value string, ok bool, err error) {
	value = cmp.Or(in.Value, in.Default)
	if value == "" {
		return "", false, nil
	}
	if value, err = expandPlaceholders(value, in.Variables); err != nil && !in.Required {
		return "", false, nil // it is optional
	}
	return value, err == nil, err
}

// expandPlaceholders replaces {name} by the value of the variable, its default, or the environment variable of that
// name. {port} without a value stays, for a free port.
func expandPlaceholders(content string, variables map[string]registryInput) (string, error) {
	for name, v := range variables {
		mark := "{" + name + "}"
		if !strings.Contains(content, mark) {
			continue
		}
		value := cmp.Or(v.Value, v.Default, os.Getenv(name))
		if value == "" && mark != redact.PortPlaceholder {
			return "", fmt.Errorf("{%s} has no value in server.json; set the environment variable %[1]s to it", name)
		}
		content = strings.ReplaceAll(content, mark, cmp.Or(value, redact.PortPlaceholder))
	}
	return content, nil
}
