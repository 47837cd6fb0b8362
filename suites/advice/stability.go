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

// textComparison holds two readings of a text for models: the first one, and a later one that differs if any does.
type textComparison struct {
	// name describes the text in results.
	name          string
	first, second string
	// frames are the messages that brought the two texts.
	frames []*driver.Frame
}

func (r textComparison) subject() check.Subject {
	return check.Subject{Name: r.name, Value: check.M{"first": r.first, "second": r.second}, SourceFrames: r.frames}
}

// rereadTexts makes the server send the texts for models more than once. A slow server gets no additional requests.
func rereadTexts(t *check.T) {
	if check.SavesRequests(t) {
		return
	}
	// An unused session gets the instructions again.
	if !t.IsModern() && !t.Server.OneClient {
		handshake.PrepareUnusedSession(t)
	}
	for range 2 {
		check.TryNoOp(t, t.Session())
		protocol.AskLists(t)
	}
}

// maxResultBytes is the size in bytes up to which results are compared.
const maxResultBytes = 1 << 20

// textComparisons compares the instructions, and the descriptions of tools on the first page, between clients that
// asked for them in the same way with the same token. Texts do not count if they were received after the tools of the
// session changed.
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

// toolsChangedAt returns when the server first announced in a session that its tools have changed. If it never did, it
// returns a time that is later than any.
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

// clientKey returns what a server may base its texts on: how the client describes itself, and its token.
func clientKey(m check.Message) (said string) {
	params := protocol.RequestParams(m)
	// With a handshake, this belongs to the session.
	if m.Request.Method == "tools/list" {
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
