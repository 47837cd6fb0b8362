package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"github.com/mcpcheck/mcpcheck/suites/text"
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
	switch near := text.Nearest(name, names); {
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

// hostFile is a file in which a host keeps its servers.
type hostFile struct {
	path string
	dialect
}

// dialect is how a host treats the entries of its file.
type dialect struct {
	member string // of the file, that holds the servers by name; empty: whichever is there
	depth  int    // of the file in its project; 0: it belongs to none
	plain  bool   // ${VAR} and ${VAR:-default}
	editor bool   // ${env:VAR}, ${workspaceFolder} and the like, and the member envFile
	vsCode bool   // ${input:id}, a leading ~, and an env that adds to PATH
}

// The dialects, each as its host documents it, or does.
var (
	claudeCode = dialect{member: "mcpServers", depth: 1, plain: true}
	vsCode     = dialect{member: "servers", depth: 2, editor: true, vsCode: true}
	cursor     = dialect{member: "mcpServers", depth: 2, editor: true}
	desktop    = dialect{member: "mcpServers"}
	unknown    = dialect{plain: true, editor: true}
)

// projectFiles are the files of hosts in a project.
var projectFiles = []struct {
	path string
	dialect
}{
	{".mcp.json", claudeCode}, {".vscode/mcp.json", vsCode}, {".cursor/mcp.json", cursor},
}

const desktopName = "claude_desktop_config.json"

// dialectOf tells by its path whose file it is.
func dialectOf(path string) dialect {
	whole, err := filepath.Abs(path)
	if err != nil {
		return unknown
	}
	for _, known := range projectFiles {
		if strings.HasSuffix(filepath.ToSlash(whole), "/"+known.path) {
			return known.dialect
		}
	}
	if filepath.Base(whole) == desktopName {
		return desktop
	}
	return unknown
}

// project is the directory that a file belongs to; empty: the current one.
func (f hostFile) project() string {
	if f.depth == 0 {
		return ""
	}
	dir := f.path
	for range f.depth {
		dir = filepath.Join(dir, "..")
	}
	if dir == "." {
		return ""
	}
	return dir
}

// hostServer is an entry of such a file: the members that hosts agree on, as they
// are written.
type hostServer struct {
	file  hostFile
	name  string
	place string // file:line:column
	wrong error  // why the entry cannot be used

	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]any    `json:"env"` // strings; VS Code takes numbers, and null to unset a variable
	EnvFile  string            `json:"envFile"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// parse reads the servers of a file, in its order.
func (f hostFile) parse(source []byte) (servers []hostServer, err error) {
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	root, err := hujson.Parse(source)
	if err != nil {
		return nil, usage("%s%s", f.path, syntaxProblem(err))
	}
	list, err := f.list(&root)
	if err != nil {
		return nil, usage("%s: %w", f.path, err)
	}
	for i := range list {
		servers = append(servers, f.server(source, &list[i]))
	}
	return servers, nil
}

// list finds the entries of a file. A file that is known need not have any.
func (f *hostFile) list(root *hujson.Value) ([]hujson.ObjectMember, error) {
	if f.member != "" {
		return jsonMembers(jsonMember(root, f.member)), nil
	}
	if list := jsonMember(root, "mcpServers"); list != nil {
		return jsonMembers(list), nil
	}
	if list := jsonMember(root, "servers"); list != nil {
		f.dialect = vsCode
		f.depth = 0
		return jsonMembers(list), nil
	}
	return nil, errors.New("there is neither mcpServers nor servers, where hosts keep their servers")
}

// jsonMembers are those of an object, if it is one.
func jsonMembers(v *hujson.Value) []hujson.ObjectMember {
	if v != nil {
		if object, ok := v.Value.(*hujson.Object); ok {
			return object.Members
		}
	}
	return nil
}

// jsonMember is a member of an object; nil: there is none of that name.
func jsonMember(v *hujson.Value, name string) *hujson.Value {
	list := jsonMembers(v)
	for i := range list {
		if jsonName(list[i].Name) == name {
			return &list[i].Value
		}
	}
	return nil
}

// jsonName is the name of a member.
func jsonName(name hujson.Value) string {
	literal, _ := name.Value.(hujson.Literal)
	return literal.String()
}

// server reads one entry.
func (f hostFile) server(source []byte, entry *hujson.ObjectMember) hostServer {
	server := hostServer{file: f, name: jsonName(entry.Name), place: f.path + lineColumn(source, entry.Value.StartOffset)}
	plain := entry.Value.Clone()
	plain.Standardize()
	d := json.NewDecoder(bytes.NewReader(plain.Pack()))
	d.UseNumber()
	if err := d.Decode(&server); err != nil {
		server.wrong = f.typeProblem(source, entry, err)
	} else if _, err := server.transport(); err != nil {
		server.wrong = server.problem("%w", err)
	}
	return server
}

// problem is an error of use in an entry.
func (e hostServer) problem(format string, a ...any) error {
	return usage("%s: server %q: %w", e.place, e.name, fmt.Errorf(format, a...))
}

// transport is how the entry reaches its server; hosts guess it when no type is given.
func (e hostServer) transport() (string, error) {
	kinds := map[string]string{"stdio": "stdio", "http": "http", "streamable-http": "http", "streamableHttp": "http", "sse": "sse"}
	kind, known := kinds[e.Type]
	switch {
	case e.Type == "" && e.Command != "":
		kind = "stdio"
	case e.Type == "" && e.URL != "":
		kind = "http"
	case e.Type == "":
		return "", errors.New("there is neither command nor url")
	case !known:
		return "", fmt.Errorf("there is no type %q (have stdio, http, sse)", e.Type)
	}
	switch {
	case kind == "stdio" && e.Command == "":
		return "", errors.New("a server over stdio wants a command")
	case kind != "stdio" && e.URL == "":
		return "", fmt.Errorf("a server over %s wants a url", kind)
	}
	return kind, nil
}

// syntaxProblem says where a file is no JSON, and why.
func syntaxProblem(err error) string {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scan != nil {
		return ": " + err.Error()
	}
	return fmt.Sprintf(":%d:%d: %v", line, column, errors.Unwrap(err))
}

// typeProblem says which member of an entry is not what belongs there.
func (f hostFile) typeProblem(source []byte, entry *hujson.ObjectMember, err error) error {
	at, what := &entry.Value, "the entry wants an object"
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		name, _, _ := strings.Cut(typed.Field, ".")
		kinds := map[string]string{"args": "a list of texts", "env": "an object of texts", "headers": "an object of texts", "disabled": "true or false"}
		kind, ok := kinds[name]
		if !ok {
			kind = "a text"
		}
		what = name + " wants " + kind
		if value := jsonMember(at, name); value != nil {
			at = value
		}
	}
	return usage("%s%s: server %q: %s", f.path, lineColumn(source, at.StartOffset), jsonName(entry.Name), what)
}

// lineColumn is a place in a text, as :line:column.
func lineColumn(text []byte, offset int) string {
	before := text[:offset]
	return fmt.Sprintf(":%d:%d", 1+bytes.Count(before, []byte("\n")), offset-bytes.LastIndexByte(before, '\n'))
}

// row is a line of the list.
func (e hostServer) row() string {
	kind, err := e.transport()
	what := e.shown()
	if err != nil || e.wrong != nil {
		kind, what = "?", cmp.Or(e.wrong, err).Error()
	}
	if e.Disabled {
		what += "  (disabled)"
	}
	return "  " + strings.Join([]string{oneLine(e.name), kind, what}, "\t")
}

// shown is the command or URL as it is written, without what may be a secret.
func (e hostServer) shown() string {
	var s settings
	for _, value := range e.Env {
		s.hideWritten(fmt.Sprint(value))
	}
	for _, value := range e.Headers {
		s.hideWritten(value)
	}
	words := append([]string{e.Command}, e.Args...)
	if kind, _ := e.transport(); kind != "stdio" {
		words = []string{e.URL}
	}
	for i, word := range words {
		if i > 0 && secretFlag.MatchString(words[i-1]) && !strings.HasPrefix(word, "-") && !variable.MatchString(word) {
			words[i] = "[redacted]"
			continue
		}
		words[i] = withoutSecrets(word)
		if strings.ContainsAny(word, " \t\n") {
			words[i] = shellJoin(words[i : i+1])
		}
	}
	return redactor(s.hidden).Replace(oneLine(strings.Join(words, " ")))
}

// withoutSecrets leaves out of a word what looks like a secret.
func withoutSecrets(word string) string {
	word = login.ReplaceAllString(word, "$1[redacted]@")
	word = query.ReplaceAllString(word, "$1?…")
	if variable.MatchString(word) {
		return word
	}
	return secretWord.ReplaceAllString(word, "$1[redacted]")
}

// hideWritten hides a value of a file, unless it is one of the variables that stand
// for it.
func (s *settings) hideWritten(value string) {
	if !variable.MatchString(value) {
		s.hide(value)
	}
}

// What is a secret in a command, by how it looks.
var (
	login      = regexp.MustCompile(`(://[^\s/:@]*:)([^\s/@]+)@`)
	query      = regexp.MustCompile(`(https?://[^\s?]*)\?\S+`)
	secretFlag = regexp.MustCompile(`(?i)^-.*(?:key|token|secret|password)$`)
	secretWord = regexp.MustCompile(`(?i)((?:key|token|secret|password|authorization)[=:]).+`)
)

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
