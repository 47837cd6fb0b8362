package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
)

// file is a file in which a host keeps its servers.
type file struct {
	path string
	dialect
}

// dialect is how a host treats the entries of its file.
type dialect struct {
	serversMember      string // of the file, that holds the servers by name; empty: whichever is there
	dirDepth           int    // of the file in its project; 0: it belongs to none
	hasShellVariables  bool   // ${VAR} and ${VAR:-default}
	hasEditorVariables bool   // ${env:VAR}, ${workspaceFolder} and the like, and the member readEnvFile
	isVSCode           bool   // ${input:id}, a leading ~, and an env that adds to PATH
}

// The dialects, each as its host documents it, or does.
var (
	claudeCode    = dialect{serversMember: "mcpServers", dirDepth: 1, hasShellVariables: true}
	vsCode        = dialect{serversMember: "servers", dirDepth: 2, hasEditorVariables: true, isVSCode: true}
	cursor        = dialect{serversMember: "mcpServers", dirDepth: 2, hasEditorVariables: true}
	claudeDesktop = dialect{serversMember: "mcpServers"}
	unknownHost   = dialect{hasShellVariables: true, hasEditorVariables: true}
)

// projectFiles are the files of hosts in a project.
var projectFiles = []struct {
	path string
	dialect
}{
	{".mcp.json", claudeCode}, {".vscode/mcp.json", vsCode}, {".cursor/mcp.json", cursor},
}

const claudeDesktopFile = "claude_desktop_config.json"

// dialectOf tells by its path whose file it is.
func dialectOf(path string) dialect {
	whole, err := filepath.Abs(path)
	if err != nil {
		return unknownHost
	}
	for _, known := range projectFiles {
		if strings.HasSuffix(filepath.ToSlash(whole), "/"+known.path) {
			return known.dialect
		}
	}
	if filepath.Base(whole) == claudeDesktopFile {
		return claudeDesktop
	}
	return unknownHost
}

// projectDir is the directory that a file belongs to; empty: the current one.
func (f file) projectDir() string {
	if f.dirDepth == 0 {
		return ""
	}
	dir := f.path
	for range f.dirDepth {
		dir = filepath.Join(dir, "..")
	}
	if dir == "." {
		return ""
	}
	return dir
}

// parse reads the servers of a file, in its order.
func (f file) parse(source []byte) (servers []Server, err error) {
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	if f.isList() {
		return f.parseList(source)
	}
	root, err := hujson.Parse(source)
	if err != nil {
		return nil, exit.Usagef("%s%s", f.path, syntaxErrorText(err))
	}
	if entries, ok := registryEntries(&root); ok && f.serversMember == "" {
		return f.parseRegistry(source, entries), nil
	}
	list, err := f.findEntries(&root)
	if err != nil {
		return nil, exit.Usagef("%s: %w", f.path, err)
	}
	for i := range list {
		servers = append(servers, f.parseServer(source, &list[i]))
	}
	return servers, nil
}

// findEntries finds the entries of a file. A file that is known need not have any.
func (f *file) findEntries(root *hujson.Value) ([]hujson.ObjectMember, error) {
	if f.serversMember != "" {
		return jsonMembers(jsonMember(root, f.serversMember)), nil
	}
	if list := jsonMember(root, "mcpServers"); list != nil {
		return jsonMembers(list), nil
	}
	if list := jsonMember(root, "servers"); list != nil {
		f.dialect = vsCode
		f.dirDepth = 0
		return jsonMembers(list), nil
	}
	return nil, ErrNoServers
}

// ErrNoServers is that of a file which is neither a host's nor a registry's.
var ErrNoServers = errors.New("there is neither mcpServers nor servers, where hosts keep their servers, " +
	"nor packages nor remotes, as in a server.json")

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
		if jsonString(list[i].Name) == name {
			return &list[i].Value
		}
	}
	return nil
}

// jsonString is the name of a member.
func jsonString(name hujson.Value) string {
	literal, _ := name.Value.(hujson.Literal)
	return literal.String()
}

// parseServer reads one entry.
func (f file) parseServer(source []byte, entry *hujson.ObjectMember) Server {
	place := f.path + offsetPosition(source, entry.Value.StartOffset)
	server := Server{file: f, Name: jsonString(entry.Name), location: place}
	plain := entry.Value.Clone()
	plain.Standardize()
	d := json.NewDecoder(bytes.NewReader(plain.Pack()))
	d.UseNumber()
	if err := d.Decode(&server); err != nil {
		server.EntryErr = f.typeError(source, entry, err)
	} else if _, err := server.transport(); err != nil {
		server.EntryErr = server.errorf("%w", err)
	}
	return server
}

// syntaxErrorText says where a file is not JSON, and why.
func syntaxErrorText(err error) string {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scan != nil {
		return ": " + err.Error()
	}
	return fmt.Sprintf(":%d:%d: %v", line, column, errors.Unwrap(err))
}

// typeError says which member of an entry is not what belongs there.
func (f file) typeError(source []byte, entry *hujson.ObjectMember, err error) error {
	at, what := &entry.Value, "the entry wants an object"
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Field != "" {
		name, _, _ := strings.Cut(typed.Field, ".")
		kinds := map[string]string{
			"args": "a list of texts", "env": "an object of texts", "headers": "an object of texts",
			"disabled": "true or false",
		}
		kind, ok := kinds[name]
		if !ok {
			kind = "a text"
		}
		what = name + " wants " + kind
		if value := jsonMember(at, name); value != nil {
			at = value
		}
	}
	return exit.Usagef("%s%s: server %q: %s", f.path, offsetPosition(source, at.StartOffset), jsonString(entry.Name),
		what)
}

// offsetPosition is a place in a text, as :line:column.
func offsetPosition(content []byte, offset int) string {
	before := content[:offset]
	return fmt.Sprintf(":%d:%d", 1+bytes.Count(before, []byte("\n")), offset-bytes.LastIndexByte(before, '\n'))
}
