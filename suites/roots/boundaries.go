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

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// boundaries are the checks of what a server does outside of the roots.
var boundaries = Suite{
	"roots/boundaries-respected": Fresh(func(t *T) {
		readers := mayRead(t)
		p, err := newPlace()
		if err != nil {
			t.Because(Limit).Inconclusive("no files could be made: %v", err)
		}
		defer p.remove()
		c := clientAgain(t, tell(uriOf(p.root)))
		if !c.wasAsked() {
			t.Because(NotObserved).Skip("the server does not ask for roots once the session is established")
		}
		Settle(t, c.Session, 0) // over HTTP a call may overtake the answer with the roots
		readers = slices.DeleteFunc(readers, func(r *reader) bool { return !r.reads(t, c, p) })
		if len(readers) == 0 {
			t.Because(NotObserved).Skip("no tool was found that reads a file in the roots by its path")
		}
		Each(t, readers[:min(len(readers), mostTried)], (*reader).subject, func(t *T, r *reader) {
			for _, path := range p.outside() {
				isShown := r.shows(t, c, path, p.secret)
				isShown = isShown && r.shows(t, c, path, p.secret) // the roots may have come meanwhile
				t.Expect(!isShown).To(Hold("a refusal of "+path+", outside of the root "+p.root, "what is in it"))
			}
		})
	}),
}

// place is a directory that is a root, and one beside it.
type place struct {
	top, root, inside string // a file in the root
	beside            string // a file beside it
	public, secret    string // what is in them
}

// newPlace makes one. Where it is, no part of a path is a link, so that there is one path to each file.
func newPlace() (*place, error) {
	top, err := os.MkdirTemp("", "mcpcheck-roots-")
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		os.RemoveAll(top)
		return nil, err
	}
	p := &place{
		top: top, root: filepath.Join(real, "root"),
		public: fmt.Sprintf("mcpcheck-public-%x", rand.Uint64()),
		secret: fmt.Sprintf("mcpcheck-secret-%x", rand.Uint64()),
	}
	p.inside, p.beside = filepath.Join(p.root, "file.txt"), filepath.Join(real, "root-of-others", "file.txt")
	for path, text := range map[string]string{p.inside: p.public, p.beside: p.secret} {
		if err := write(path, text); err != nil {
			p.remove()
			return nil, err
		}
	}
	return p, nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text+"\n"), 0o600)
}

func (p *place) remove() { os.RemoveAll(p.top) }

// outside are paths of the file beside the root: its own, which begins like that of the root, and one through the root.
func (p *place) outside() []string {
	separator := string(filepath.Separator)
	through := strings.Join([]string{p.root, "..", filepath.Base(filepath.Dir(p.beside)), "file.txt"}, separator)
	return []string{p.beside, through}
}

// uriOf is the URI of a file or a directory.
func uriOf(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// reader is a tool that may read a file, by the argument that may be its path.
type reader struct {
	tool      Subject
	argument  string
	arguments M
	last      *kit.Inquiry
}

func (r *reader) subject() Subject { return r.last.Subject() }

// isPath are names of arguments that are paths or URIs of files.
var isPath = regexp.MustCompile(`(?i)^(file|path|uri|file_?(path|name|uri)|path_?name)$`)

// mostReaders is how many tools are tried that may read a file.
const mostReaders = 10

// mayRead are the tools that may be called and that have an argument that may be a path.
func mayRead(t *T) (readers []*reader) {
	var uncalled []kit.Uncalled
	for _, tool := range kit.Choice(t) {
		schema, _ := tool.Value["inputSchema"].(M)
		properties, _ := schema["properties"].(M)
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(name string) bool {
			property, _ := properties[name].(M)
			return !isPath.MatchString(name) || property["type"] != "string"
		})
		if len(names) == 0 {
			continue
		}
		arguments, not := kit.ValidArguments(t, tool)
		if not == nil {
			not = kit.MayVary(t, tool)
		}
		if not != nil {
			uncalled = append(uncalled, *not)
			continue
		}
		readers = append(readers, &reader{tool: tool, argument: names[0], arguments: arguments})
	}
	if len(readers) == 0 {
		kit.NothingSeen(t, "tool takes the path of a file", uncalled, kit.AnyTool)
	}
	return readers[:min(len(readers), mostReaders)]
}

// reads reports whether the tool shows what is in the file in the root, at the second try if not at the first: a server
// may take a moment to learn of the roots. Tools may change the file, which is written anew.
func (r *reader) reads(t *T, c *client, p *place) bool {
	for range 2 {
		if write(p.inside, p.public) == nil && r.shows(t, c, p.inside, p.public) {
			return true
		}
	}
	return false
}

// shows reports whether the tool shows a text when it is called with the path of the file in which that is.
func (r *reader) shows(t *T, c *client, path, text string) bool {
	if strings.HasSuffix(strings.ToLower(r.argument), "uri") {
		path = uriOf(path)
	}
	arguments := maps.Clone(r.arguments)
	arguments[r.argument] = path
	r.last = c.Call(t, r.tool, arguments, c.answering(t))
	if r.last.Reply.Err != nil {
		t.Again("%v", Explain(r.last.Reply.Err))
	}
	return bytes.Contains(r.last.Reply.Frame.Raw.Bytes(), []byte(text))
}
