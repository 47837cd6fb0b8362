package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// fileChecks is the check of what tools do with a file whose path they are given.
var fileChecks = check.Suite{
	"advice/read-only-tool-writes": check.Probe(func(t *check.T) {
		check.RequireTime(t)
		tools, uncalled := toolcall.ToolsTaking(t, report.IsReadOnly, takesPath)
		if len(tools) == 0 {
			toolcall.SkipNotObserved(t, "tool with readOnlyHint takes the path of a file", uncalled, report.IsReadOnly)
		}
		check.RequireSharedFiles(t)
		dir, err := os.MkdirTemp("", "mcpcheck-")
		if err != nil {
			t.NoVerdict(check.Undecided, "%v", err)
		}
		defer os.RemoveAll(dir)
		t.Caveat("only the file that is named in the arguments is looked at")
		const most = 5
		t.Each(tools[:min(len(tools), most)], func(t *check.T, tool check.Subject) { expectFileKept(t, tool, dir) })
	}),
}

// fileText is the content of the files whose paths tools are given.
const fileText = "a document of mcpcheck\n"

// expectFileKept calls a tool with the path of a new file in a directory, which has to stay as it is.
func expectFileKept(t *check.T, tool check.Subject, dir string) {
	path := filepath.Join(dir, "document.txt")
	arguments := toolcall.ArgumentsWith(t, tool, takesPath, path)
	if arguments == nil {
		t.Skip(check.NotObserved, "the schema of %s does not allow the path of a file of mcpcheck", tool.Name)
	}
	if err := os.WriteFile(path, []byte(fileText), 0o600); err != nil {
		t.NoVerdict(check.Undecided, "%v", err)
	}
	s := t.Session()
	call := toolcall.ToolCall{Tool: tool, Arguments: arguments, Session: s}
	p := call.Repeat(s, nil)
	r := check.RequireServerReply(t, s.AwaitLongRunning(p))
	if !r.Answered() {
		s.Cancel(p, "mcpcheck waits no longer")
	}
	change := changeOf(path)
	t.DecidedBy(r).Expect(change == "").To(check.BeTrue(
		"no change of the file that "+tool.Name+" is given the path of, since it has readOnlyHint", "%s", change))
	if r.Result() == nil || r.IsFailure() || toolcall.IsInputRequired(t, r) {
		t.Skip(check.NotObserved, "%s has not succeeded with the path of a file of mcpcheck", tool.Name)
	}
}

// changeOf says how a file differs from what expectFileKept has written; empty if it does not. What is no ordinary file
// any more, or of another size, is not read: it may be a pipe, or have no end.
func changeOf(path string) string {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return "the file was removed"
	case err != nil:
		return ""
	case !info.Mode().IsRegular():
		return "the file was replaced: " + info.Mode().Type().String()
	case info.Size() != int64(len(fileText)):
		return fmt.Sprintf("the file was changed: %d bytes in place of %d", info.Size(), len(fileText))
	}
	if text, err := os.ReadFile(path); err == nil && string(text) != fileText {
		return fmt.Sprintf("the file was changed: it begins with %q", text[:min(len(text), 40)])
	}
	return ""
}

// pathName is the name of a property that may hold the path of a file. It only chooses what is tried.
var pathName = regexp.MustCompile(
	`^(path|file|filename|fileName|output|destination)$|_(path|file|filename)$|[a-z](Path|File|FileName|Filename)$`)

// takesPath reports whether a property may hold the path of a file by its name.
func takesPath(name string, _ check.M) bool { return pathName.MatchString(name) }
