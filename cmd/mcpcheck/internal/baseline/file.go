// Package baseline reads, updates and writes files of known failures.
//
// A File holds the entries of such a file and its text. What an entry means for a result is decided by
// report.KnownFails; this package handles the file: Read is strict and bounded, and its errors name the line.
//
// UpdateFor compares a file with a report: it returns entries to add, for failures that are new, and entries to remove,
// for failures that no longer occur. Update.Write changes only the lines of these entries (edit.go): comments, order
// and spacing of everything else stay as a person wrote them.
package baseline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/yamlfile"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// File is a file of known failures. Entries that have expired are judged by its date Today.
type File struct {
	// Name is the path of the file; it is empty when there is none.
	Name string
	// text is the content of the file as it was read.
	text    string
	Entries report.KnownFails
	Today   time.Time
}

// Read reads a file of known failures. Its errors are of wrong usage and name the place.
func Read(name string) (b File, err error) {
	b = File{Name: name, Today: time.Now()}
	content, err := files.ReadAtMost(name, MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return b, exit.Usagef("cannot read the baseline: %w; mcpcheck baseline --baseline %s writes it", err, name)
	}
	if err != nil {
		return b, exit.Usagef("cannot read the baseline: %w", err)
	}
	b.text = string(content)
	b.Entries, err = parse(name, content)
	return b, err
}

// The limits keep the YAML parser fast, which is slow with deep nesting.
const (
	MaxBytes = 128 << 10
	maxDepth = 1000
)

// parse parses the text of a file of known failures. The name is for errors.
func parse(name string, content []byte) (entries report.KnownFails, err error) {
	switch {
	case len(content) > MaxBytes:
		return nil, exit.Usagef("%s is longer than %d KB; this is not a baseline, or too many entries: use globs",
			name, MaxBytes>>10)
	case nestingDepth(content) > maxDepth:
		return nil, exit.Usagef("%s is nested too deeply; this is not a baseline", name)
	}
	content = normalizeNewlines(content)
	list, err := readYAMLList(name, content)
	if err != nil || list.node == nil {
		return nil, err
	}
	if err := yamlfile.Read(name, content, &entries); err != nil {
		return nil, err
	}
	for i := range entries {
		begin := list.startToken(i)
		entries[i].Line = begin.Position.Line
		if key, err := validateEntry(entries[i]); err != nil {
			return nil, exit.Usagef("%s%s: %w", name, cmp.Or(list.position(i, key), yamlfile.TokenPosition(begin)), err)
		}
		same := func(k report.KnownFail) bool { return k.SameAs(entries[i]) }
		if first := slices.IndexFunc(entries[:i], same); first >= 0 {
			return nil, exit.Usagef("%s%s: %s is listed in line %d already; take one of them out",
				name, yamlfile.TokenPosition(begin), entries[i].Check, entries[first].Line)
		}
	}
	return entries, nil
}

// normalizeNewlines returns a text with the line endings that the YAML parser counts correctly.
func normalizeNewlines(content []byte) []byte {
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
}

// nestingDepth returns how deeply a text is nested at most: by brackets that are open at the same time, or by dashes at
// the beginning of a line.
func nestingDepth(content []byte) (deepest int) {
	open := 0
	for line := range bytes.Lines(content) {
		inner := bytes.TrimLeft(line, "- ")
		deepest = max(deepest, bytes.Count(line[:len(line)-len(inner)], []byte("-")))
		for _, c := range inner {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			}
			deepest = max(deepest, open)
		}
	}
	return deepest
}

// validateEntry returns what is wrong with an entry, and the key that is wrong.
func validateEntry(k report.KnownFail) (key string, err error) {
	_, badGlob := path.Match(k.Check, "")
	_, badDate := time.Parse(time.DateOnly, k.Expires)
	transports := []string{"stdio", "http", "sse"}
	switch {
	case strings.TrimSpace(k.Check) == "":
		return "check", errors.New("this entry has no check; give an id, or a glob such as tools/*")
	case badGlob != nil:
		return "check", fmt.Errorf("bad pattern %q", k.Check)
	case strings.TrimSpace(k.Reason) == "":
		return "reason", fmt.Errorf("the entry %s has no reason; say why the failure is accepted", k.Check)
	case k.Revision != "" && !slices.Contains(catalogue.Revisions, k.Revision):
		return "revision", fmt.Errorf("unknown protocol revision %q (have %s)",
			k.Revision, strings.Join(catalogue.Revisions, ", "))
	case k.Transport != "" && !slices.Contains(transports, k.Transport):
		return "transport", fmt.Errorf("unknown transport %q (have %s)",
			k.Transport, strings.Join(transports, ", "))
	case k.Expires != "" && badDate != nil:
		return "expires", fmt.Errorf("%q is not a date such as 2026-12-31", k.Expires)
	}
	return "", nil
}

// yamlList is the list of a baseline in its syntax tree; node is nil when the list is empty.
type yamlList struct{ node *ast.SequenceNode }

// readYAMLList finds the list in a text. It accepts only flat maps of scalars, since entries are removed by their
// lines.
func readYAMLList(name string, content []byte) (yamlList, error) {
	file, err := parser.ParseBytes(content, 0)
	if err != nil {
		return yamlList{}, exit.Usagef("%s%s", name,
			yamlfile.ErrorText(content, reflect.TypeFor[report.KnownFails](), err))
	}
	wrong := func(node ast.Node, want string) (yamlList, error) {
		return yamlList{}, exit.Usagef("%s%s: this is a %s where a %s belongs",
			name, yamlfile.TokenPosition(node.GetToken()), yamlfile.NodeKindText(node.Type()), want)
	}
	switch {
	case len(file.Docs) == 0:
		return yamlList{}, nil
	case len(file.Docs) > 1:
		return yamlList{}, exit.Usagef("%s%s: a second document begins here; keep all entries in one list",
			name, yamlfile.TokenPosition(file.Docs[1].Start))
	}
	var list *ast.SequenceNode
	switch body := file.Docs[0].Body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return yamlList{}, nil
	case *ast.SequenceNode:
		list = body
	default:
		return wrong(body, "list")
	}
	for _, entry := range list.Values {
		if kind := entry.Type(); kind != ast.MappingType && kind != ast.MappingValueType {
			return wrong(entry, "map")
		}
		for _, pair := range yamlfile.MapEntries(entry) {
			if !slices.Contains(scalarTypes, pair.Value.Type()) {
				return wrong(pair.Value, "text")
			}
		}
	}
	return yamlList{list}, nil
}

// scalarTypes are the types that a value of an entry may have.
var scalarTypes = []ast.NodeType{
	ast.StringType, ast.LiteralType, ast.BoolType, ast.IntegerType, ast.FloatType, ast.NullType,
}

// startToken returns the token that entry i begins with: its dash, or its first token in a list in brackets.
func (l yamlList) startToken(i int) *token.Token {
	if dash := l.node.Entries[i].Start; dash != nil {
		return dash
	}
	return l.node.Values[i].GetToken()
}

// position returns the place of the value under a key of entry i, as :line:column; it is empty when there is none.
func (l yamlList) position(i int, key string) string {
	if value := yamlfile.MapValue(l.node.Values[i], key); value != nil {
		return yamlfile.TokenPosition(value.GetToken())
	}
	return ""
}

// validateDirectory finds out before a server is started whether the file can be created.
func (b File) validateDirectory() error {
	if dir := filepath.Dir(b.Name); !files.IsDir(dir) {
		return exit.Usagef("cannot write %s: no directory %s; create it first", b.Name, dir)
	}
	return nil
}
