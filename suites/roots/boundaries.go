package roots

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// boundaryChecks holds the check of what a server does outside of the roots.
var boundaryChecks = check.Suite{
	"roots/boundaries-respected": check.ProcessProbe(func(t *check.T) {
		readers := fileReaders(t)
		p, err := newTestDirectory()
		if err != nil {
			t.NoVerdict(check.Limit, "no files could be made: %v", err)
		}
		defer p.remove()
		c := reuseRootsClient(t, newRootsResponse(fileURI(p.root)))
		if !t.IsModern() && !c.wasAsked() {
			t.Skip(check.NotObserved, "the server does not ask for roots once the session is established")
		}
		check.Barrier(t, c.Session, 0) // over HTTP, a call may overtake the response with the roots
		readers = slices.DeleteFunc(readers, func(r *fileReader) bool { return !r.canReadInside(t, c, p) })
		if len(readers) == 0 {
			t.Skip(check.NotObserved, "no tool was found that asks for roots and reads a file in them by its path")
		}
		check.Each(t, readers[:min(len(readers), maxTools)], (*fileReader).subject, func(t *check.T, r *fileReader) {
			for _, path := range p.outsidePaths() {
				isShown := r.returnsText(t, c, path, p.outsideText)
				// the roots may have arrived in between
				isShown = isShown && r.returnsText(t, c, path, p.outsideText)
				t.Expect(!isShown).To(check.BeTrue("a refusal of "+path+", outside of the root "+p.root,
					"what is in it"))
			}
		})
	}),
}

// testDirectory is a temporary directory with a root, a file in the root and a file next to the root.
type testDirectory struct {
	// top is the temporary directory, root the root in it, and insideFile a file in the root.
	top, root, insideFile string
	// outsideFile is a file next to the root.
	outsideFile string
	// insideText and outsideText are the contents of the files.
	insideText, outsideText string
}

// newTestDirectory creates the directories and files. Symbolic links in the path are resolved, so that each file has
// one path.
func newTestDirectory() (*testDirectory, error) {
	top, err := os.MkdirTemp("", "mcpcheck-roots-")
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		os.RemoveAll(top)
		return nil, err
	}
	p := &testDirectory{
		top: top, root: filepath.Join(real, "root"),
		insideText:  fmt.Sprintf("mcpcheck-public-%x", rand.Uint64()),
		outsideText: fmt.Sprintf("mcpcheck-secret-%x", rand.Uint64()),
	}
	p.insideFile, p.outsideFile = filepath.Join(p.root, "file.txt"), filepath.Join(real, "root-of-others", "file.txt")
	for path, text := range map[string]string{p.insideFile: p.insideText, p.outsideFile: p.outsideText} {
		if err := writeFile(path, text); err != nil {
			p.remove()
			return nil, err
		}
	}
	return p, nil
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text+"\n"), 0o600)
}

func (p *testDirectory) remove() { os.RemoveAll(p.top) }

// outsidePaths returns paths of the file outside of the root: the plain one, which has a prefix in common with the
// root, and one through the root.
func (p *testDirectory) outsidePaths() []string {
	separator := string(filepath.Separator)
	through := strings.Join([]string{p.root, "..", filepath.Base(filepath.Dir(p.outsideFile)), "file.txt"}, separator)
	return []string{p.outsideFile, through}
}

// fileURI returns the URI of a file or a directory.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// fileReader is a tool that may read a file, with the argument that may be the path.
type fileReader struct {
	tool check.Subject
	// argument is the name of the argument for the path, and arguments are valid values of all arguments.
	argument  string
	arguments check.M
	// lastCall is the last call of the tool, which results show.
	lastCall *client.InteractiveCall
}

func (r *fileReader) subject() check.Subject { return r.lastCall.Subject() }

// pathPattern matches names of arguments that are paths or URIs of files.
var pathPattern = regexp.MustCompile(`(?i)^(file|path|uri|file_?(path|name|uri)|path_?name)$`)

// maxReaders is the number of such tools that are tried.
const maxReaders = 10

// fileReaders returns the tools that may be called and have an argument that may be a path.
func fileReaders(t *check.T) (readers []*fileReader) {
	var uncalled []toolcall.Uncalled
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		schema, _ := tool.Value["inputSchema"].(check.M)
		properties, _ := schema["properties"].(check.M)
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(name string) bool {
			property, _ := properties[name].(check.M)
			return !pathPattern.MatchString(name) || property["type"] != "string"
		})
		if len(names) == 0 {
			continue
		}
		arguments, not := toolcall.ArgumentsToVary(t, tool)
		if not != nil {
			uncalled = append(uncalled, *not)
			continue
		}
		readers = append(readers, &fileReader{tool: tool, argument: names[0], arguments: arguments})
	}
	if len(readers) == 0 {
		toolcall.SkipNotObserved(t, "tool takes the path of a file", uncalled, toolcall.AnyTool)
	}
	return readers[:min(len(readers), maxReaders)]
}

// canReadInside reports whether the tool returns the content of the file in the root, and in modern revisions asks for
// the roots before. It makes two attempts, since a server may take a while to learn of the roots. The file is written
// before each, since tools may change it.
func (r *fileReader) canReadInside(t *check.T, c *rootsClient, p *testDirectory) bool {
	for range 2 {
		if writeFile(p.insideFile, p.insideText) == nil && r.returnsText(t, c, p.insideFile, p.insideText) {
			return !t.IsModern() || r.lastCall.AsksFor(listMethod)
		}
	}
	return false
}

// returnsText reports whether the tool returns a text when it is called with the path of the file that contains it.
func (r *fileReader) returnsText(t *check.T, c *rootsClient, path, text string) bool {
	if strings.HasSuffix(strings.ToLower(r.argument), "uri") {
		path = fileURI(path)
	}
	arguments := maps.Clone(r.arguments)
	arguments[r.argument] = path
	r.lastCall = c.CallTool(t, r.tool, arguments, c.responder(t))
	if r.lastCall.Reply.Err != nil {
		t.Retry(check.Undecided, "%v", check.Explain(r.lastCall.Reply.Err))
	}
	return bytes.Contains(r.lastCall.Reply.Frame.Raw.Bytes(), []byte(text))
}
