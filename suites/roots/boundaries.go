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

// boundaryChecks are the checks of what a server does outside of the roots.
var boundaryChecks = check.Suite{
	"roots/boundaries-respected": check.ProcessProbe(func(t *check.T) {
		readers := fileReaders(t)
		p, err := newTestDirectory()
		if err != nil {
			t.WithReason(check.Limit).Inconclusive("no files could be made: %v", err)
		}
		defer p.remove()
		c := reuseRootsClient(t, newRootsResponse(fileURI(p.root)))
		if !c.wasAsked() {
			t.WithReason(check.NotObserved).Skip("the server does not ask for roots once the session is established")
		}
		check.Barrier(t, c.Session, 0) // over HTTP a call may overtake the answer with the roots
		readers = slices.DeleteFunc(readers, func(r *fileReader) bool { return !r.canReadInside(t, c, p) })
		if len(readers) == 0 {
			t.WithReason(check.NotObserved).Skip("no tool was found that reads a file in the roots by its path")
		}
		check.Each(t, readers[:min(len(readers), maxTools)], (*fileReader).subject, func(t *check.T, r *fileReader) {
			for _, path := range p.outsidePaths() {
				isShown := r.returnsText(t, c, path, p.outsideText)
				isShown = isShown && r.returnsText(t, c, path, p.outsideText) // the roots may have come meanwhile
				t.Expect(!isShown).To(check.BeTrue("a refusal of "+path+", outside of the root "+p.root,
					"what is in it"))
			}
		})
	}),
}

// testDirectory is a directory that is a root, and one beside it.
type testDirectory struct {
	top, root, insideFile   string // a file in the root
	outsideFile             string // a file beside it
	insideText, outsideText string // what is in them
}

// newTestDirectory makes one. Where it is, no part of a path is a link, so that there is one path to each file.
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

// outsidePaths are paths of the file beside the root: its own, which begins like that of the root, and one through the
// root.
func (p *testDirectory) outsidePaths() []string {
	separator := string(filepath.Separator)
	through := strings.Join([]string{p.root, "..", filepath.Base(filepath.Dir(p.outsideFile)), "file.txt"}, separator)
	return []string{p.outsideFile, through}
}

// fileURI is the URI of a file or a directory.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// fileReader is a tool that may read a file, by the argument that may be its path.
type fileReader struct {
	tool      check.Subject
	argument  string
	arguments check.M
	lastCall  *client.InteractiveCall
}

func (r *fileReader) subject() check.Subject { return r.lastCall.Subject() }

// pathPattern are names of arguments that are paths or URIs of files.
var pathPattern = regexp.MustCompile(`(?i)^(file|path|uri|file_?(path|name|uri)|path_?name)$`)

// maxReaders is how many tools are tried that may read a file.
const maxReaders = 10

// fileReaders are the tools that may be called and that have an argument that may be a path.
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
		arguments, not := toolcall.ValidArguments(t, tool)
		if not == nil {
			not = toolcall.CheckMayVary(t, tool)
		}
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

// canReadInside reports whether the tool shows what is in the file in the root, at the second try if not at the first:
// a server may take a moment to learn of the roots. Tools may change the file, which is written anew.
func (r *fileReader) canReadInside(t *check.T, c *rootsClient, p *testDirectory) bool {
	for range 2 {
		if writeFile(p.insideFile, p.insideText) == nil && r.returnsText(t, c, p.insideFile, p.insideText) {
			return true
		}
	}
	return false
}

// returnsText reports whether the tool shows a text when it is called with the path of the file in which that is.
func (r *fileReader) returnsText(t *check.T, c *rootsClient, path, text string) bool {
	if strings.HasSuffix(strings.ToLower(r.argument), "uri") {
		path = fileURI(path)
	}
	arguments := maps.Clone(r.arguments)
	arguments[r.argument] = path
	r.lastCall = c.CallTool(t, r.tool, arguments, c.responder(t))
	if r.lastCall.Reply.Err != nil {
		t.Retry("%v", check.Explain(r.lastCall.Reply.Err))
	}
	return bytes.Contains(r.lastCall.Reply.Frame.Raw.Bytes(), []byte(text))
}
