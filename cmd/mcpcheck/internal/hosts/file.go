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

// dialect is how a host interprets the entries of its file.
type dialect struct {
	// serversMember is the member that holds the servers by name; empty means whichever of the known ones is present.
	serversMember string
	// dirDepth is how many directories above the file its project is; 0 means that the file belongs to no project.
	dirDepth int
	// hasShellVariables says that the host replaces ${VAR} and ${VAR:-default}.
	hasShellVariables bool
	// hasEditorVariables says that the host replaces ${env:VAR}, ${workspaceFolder} and the like, and supports envFile.
	hasEditorVariables bool
	// isVSCode says that the host replaces ${input:id} and a leading ~, and that an env with PATH appends to it.
	isVSCode bool
}

// The dialects follow the documentation of the hosts or, where it says nothing, what the hosts do.
var (
	claudeCode    = dialect{serversMember: "mcpServers", dirDepth: 1, hasShellVariables: true}
	vsCode        = dialect{serversMember: "servers", dirDepth: 2, hasEditorVariables: true, isVSCode: true}
	cursor        = dialect{serversMember: "mcpServers", dirDepth: 2, hasEditorVariables: true}
	claudeDesktop = dialect{serversMember: "mcpServers"}
	unknownHost   = dialect{hasShellVariables: true, hasEditorVariables: true}
)

// projectFiles are the files that hosts have in a project.
var projectFiles = []struct {
	path string
	dialect
}{
	{".mcp.json", claudeCode}, {".vscode/mcp.json", vsCode}, {".cursor/mcp.json", cursor},
}

const claudeDesktopFile = "claude_desktop_config.json"

// dialectOf returns the dialect of a file, by its path.
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

// projectDir returns the directory of the project that the file belongs to; empty is the current directory.
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

// findEntries returns the entries of a file. The file of a known host may have none.
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

// ErrNoServers is the error for a file that is neither a host's nor a registry's.
var ErrNoServers = errors.New("there is neither mcpServers nor servers, where hosts keep their servers, " +
	"nor packages nor remotes, as in a server.json")

// jsonMembers returns the members of a value if it is an object.
func jsonMembers(v *hujson.Value) []hujson.ObjectMember {
	if v != nil {
		if object, ok := v.Value.(*hujson.Object); ok {
			return object.Members
		}
	}
	return nil
}

// jsonMember returns the value of a member of an object; nil means that there is none of that name.
func jsonMember(v *hujson.Value, name string) *hujson.Value {
	list := jsonMembers(v)
	for i := range list {
		if jsonString(list[i].Name) == name {
			return &list[i].Value
		}
	}
	return nil
}

// jsonString returns the name of a member.
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

// syntaxErrorText says why a file is not JSON, and at which place.
func syntaxErrorText(err error) string {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scan != nil {
		return ": " + err.Error()
	}
	return fmt.Sprintf(":%d:%d: %v", line, column, errors.Unwrap(err))
}

// typeError returns an error that names the member of an entry that has the wrong type.
func (f file) typeError(source []byte, entry *hujson.ObjectMember, err error) error {
	at, what := &entry.Value, "the entry needs an object"
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
		what = name + " needs " + kind
		if value := jsonMember(at, name); value != nil {
			at = value
		}
	}
	return exit.Usagef("%s%s: server %q: %s", f.path, offsetPosition(source, at.StartOffset), jsonString(entry.Name),
		what)
}

// offsetPosition returns a place in a text as :line:column. The offset is in bytes.
func offsetPosition(content []byte, offset int) string {
	before := content[:offset]
	return fmt.Sprintf(":%d:%d", 1+bytes.Count(before, []byte("\n")), offset-bytes.LastIndexByte(before, '\n'))
}
