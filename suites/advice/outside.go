package advice

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// outsideChecks are the checks of what the process of the server does besides its messages.
var outsideChecks = check.Suite{
	"advice/read-only-tool-writes": check.SerialProbe(func(t *check.T) {
		check.RequireTime(t)
		w := &fileWatch{t: t, last: check.Files(t)} // it ends the check where they cannot be looked at
		calls := readOnlyCalls(t)
		w.session = t.Session(check.Exclusive)
		w.changes() // of the start of its process
		if len(w.last.Truncated) > 0 {
			t.Caveat("only %d files were looked at below %v", driver.MaxFiles, w.last.Truncated)
		}
		if w.callAll(calls); len(w.changes()) == 0 {
			return
		}
		w.repeatAll(calls)
		shared := changedByAll(calls)
		check.Each(t, calls, (*watchedCall).subject, func(t *check.T, c *watchedCall) {
			if first := w.withoutIgnored(c.changed, shared); len(first) > 0 {
				reply := w.repeatAll([]*watchedCall{c})
				isOnce := func(path string) bool { return !slices.Contains(c.changed, path) }
				both := slices.DeleteFunc(w.withoutIgnored(first, nil), isOnce)
				t.DecidedBy(reply).Expect(both).To(check.BeEmptyList[string](
					"no file that changes each time while " + c.Tool.Name + " is called"))
			}
		})
	}),
}

// watchedCall is a call during which files are looked at.
type watchedCall struct {
	toolcall.ToolCall
	// changed are the files that changed while it was made the last time.
	changed []string
}

func (c *watchedCall) subject() check.Subject { return c.ToolCall.Subject() }

// readOnlyCalls returns the quickest calls of tools with readOnlyHint that have succeeded, without long ones, since
// other programs may write files meanwhile. It ends the check if there are none.
func readOnlyCalls(t *check.T) (calls []*watchedCall) {
	const most = 10
	all := toolcall.ValidCalls(t)
	for _, c := range toolcall.RepeatableCalls(all) {
		if report.IsReadOnly(c.Tool.Value) && c.Duration < timing.LongCall && len(calls) < most {
			calls = append(calls, &watchedCall{ToolCall: c})
		}
	}
	if len(calls) == 0 {
		toolcall.SkipNotObserved(t, "tool with readOnlyHint has succeeded", all.Uncalled, report.IsReadOnly)
	}
	return calls
}

// changedByAll returns the files that changed with each of several calls, such as a log of all calls.
func changedByAll(calls []*watchedCall) []string {
	if len(calls) == 1 {
		return nil
	}
	changed := slices.Clone(calls[0].changed)
	for _, c := range calls[1:] {
		changed = slices.DeleteFunc(changed, func(path string) bool { return !slices.Contains(c.changed, path) })
	}
	return changed
}

// fileWatch tells which files change.
type fileWatch struct {
	t       *check.T
	session *driver.Session
	// last are the files as they were looked at the last time.
	last driver.FileStates
	// ignored are the entries of the directories in which a file has changed while no tool was called.
	ignored []string
}

// callAll makes calls, one after the other. It returns the last reply.
func (w *fileWatch) callAll(calls []*watchedCall) (reply driver.Reply) {
	for _, c := range calls {
		reply = check.RequireServerReply(w.t, w.session.AwaitLongRunning(c.Repeat(w.session, nil)))
	}
	return reply
}

// repeatAll makes calls again, one after the other, looks at the files after each, and then for as long at what changes
// without them. It returns the last reply.
func (w *fileWatch) repeatAll(calls []*watchedCall) (reply driver.Reply) {
	begin := time.Now()
	for _, c := range calls {
		reply = w.callAll([]*watchedCall{c})
		c.changed = w.changes()
	}
	check.RequestNoOp(w.t, w.session)
	if check.MayCallUnknown(w.t) {
		params := check.M{"name": protocol.UnknownToolName(w.t), "arguments": check.M{}}
		w.t.Send(w.session, "tools/call", toolcall.WithAllCapabilities(w.t, params), check.AllowSilence)
	}
	w.session.Sleep(time.Since(begin))
	for _, path := range w.changes() {
		w.ignored = append(w.ignored, w.last.ByPath[path].Entry)
	}
	return reply
}

// changes returns the files that have changed since the last time.
func (w *fileWatch) changes() []string {
	now := check.Files(w.t)
	changed := now.ChangesSince(w.last)
	w.last = now
	return changed
}

// withoutIgnored returns the paths that are neither among others nor below ignored entries.
func (w *fileWatch) withoutIgnored(paths, others []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.Contains(others, path) || slices.Contains(w.ignored, w.last.ByPath[path].Entry)
	})
}
