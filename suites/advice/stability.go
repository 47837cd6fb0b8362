package advice

import (
	"math"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// textComparison is a text for models that was read in two answers: the same one, or the first other one.
type textComparison struct {
	name          string
	first, second string
	frames        []*driver.Frame // that brought them
}

func (r textComparison) subject() check.Subject {
	return check.Subject{Name: r.name, Value: check.M{"first": r.first, "second": r.second}, SourceFrames: r.frames}
}

// rereadTexts sees to it that the server has said more than once what it says to models. One that takes its time is
// asked no more than it is anyway.
func rereadTexts(t *check.T) {
	if t.Server.IsSlow() {
		return
	}
	if !t.IsModern() && !t.Server.OneClient { // that is greeted anew
		handshake.PrepareUnusedSession(t)
	}
	for range 2 {
		check.TryNoOp(t, t.Session())
		protocol.AskLists(t)
	}
}

// maxResultBytes is how long an answer may be that is read once more, in bytes.
const maxResultBytes = 1 << 20

// textComparisons are the instructions, and the descriptions of tools on the first page, as clients were told that
// asked for them alike and bear the same token. What came in a session after its tools had changed tells nothing.
func textComparisons(t *check.T, w check.Wire) (again []textComparison) {
	first, known := map[string]textComparison{}, map[string]int{}
	note := func(m check.Message, what string, object check.M, member string) {
		text, isString := object[member].(string)
		if !isString {
			return
		}
		key := what + clientKey(m)
		before, seen := first[key]
		if !seen {
			first[key] = textComparison{name: what, first: text, frames: []*driver.Frame{m.Frame}}
			return
		}
		before.second, before.frames = text, append(slices.Clone(before.frames), m.Frame)
		if at, twice := known[key]; !twice {
			known[key], again = len(again), append(again, before)
		} else if again[at].second == again[at].first {
			again[at] = before
		}
	}
	change := map[*driver.Session]time.Duration{}
	for _, s := range w.Sessions {
		change[s] = toolsChangedAt(s)
	}
	for _, m := range w.Results().Negotiated(t.Revision).List {
		if m.Request == nil || m.Raw.Len() > maxResultBytes || m.At > change[m.Session] {
			continue
		}
		switch m.Request.Method {
		case "initialize", "server/discover":
			note(m, "instructions", protocol.ResultOf(m), "instructions")
		case "tools/list":
			if check.HasMember(protocol.RequestParams(m), "cursor") {
				continue
			}
			for _, tool := range protocol.ObjectsIn(protocol.ResultOf(m)["tools"]) {
				note(m, "description of "+check.Show(tool["name"]), tool, "description")
			}
		}
	}
	return again
}

// toolsChangedAt is when the server says in a session that its tools have changed; if it does not, later than anything.
func toolsChangedAt(s *driver.Session) time.Duration {
	record := s.FramesSince(0)
	i := slices.IndexFunc(record, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/tools/list_changed"
	})
	if i < 0 {
		return math.MaxInt64
	}
	return record[i].At
}

// clientKey is what a server may go by: what the client says of itself, and its token.
func clientKey(m check.Message) (said string) {
	params := protocol.RequestParams(m)
	if m.Request.Method == "tools/list" { // where there is a handshake, the session says it
		params = protocol.MetaOf(params)
	}
	for _, member := range []string{
		"protocolVersion", "capabilities", "clientInfo",
		driver.MetaRevision, driver.MetaClient, driver.MetaCapabilities,
	} {
		said += string(text.CompactJSON(params[member]))
	}
	if x := m.Request.RoundTrip; x != nil {
		said += x.Header.Get("Authorization")
	}
	return said
}
