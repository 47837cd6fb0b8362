package check

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// conversation finds what a check sends in recorded sessions, and how the server reacted there. It goes on where it
// was; or else later in that session, or in another one, since what checks share is sent once in a run. What is not
// recorded ends the check.
type conversation struct {
	t    *T
	kind recordedKind
	// last has the line that was sent last, in each recorded session in which the conversation may go on.
	last map[*driver.Session]recordedLine
	// received has what was received since the conversation went on elsewhere.
	received map[*driver.Frame]bool
	// jumps counts how often it went on elsewhere.
	jumps int
	// lists has the number of jumps when a list was read, by its method.
	lists map[string]int
}

// recordedKind says which part of recorded sessions a conversation is.
type recordedKind int

const (
	// recordedCalls are requests that any client may have sent, with their responses.
	recordedCalls recordedKind = iota
	// recordedLines are lines that a run has sent in a session that checks share.
	recordedLines
	// recordedWhole are the lines of a session from the first one on, without a gap.
	recordedWhole
)

// replayedSession returns a session without a server and before its handshake.
func replayedSession(t *T, kind recordedKind) *driver.Session {
	c := &conversation{t: t, kind: kind, received: map[*driver.Frame]bool{}, lists: map[string]int{}}
	return driver.Recorded(t.attempt.Run.WatchedSessions[0], t.Server.Era, kind == recordedCalls, c.react)
}

// react is a driver.Reaction.
func (c *conversation) react(sent *driver.Frame, isCall bool) (request *driver.Frame, received []*driver.Frame) {
	farthest, chosen := c.farthest(sent), recordedLine{}
	next := map[*driver.Session]recordedLine{}
	for _, l := range linesSent(c.t)[lineKey(sent, isCall)] {
		where := c.place(l)
		if _, has := next[l.session]; where > farthest || has && where == farthest || !l.hasReaction(isCall) {
			continue
		}
		if chosen.frame == nil || where < farthest {
			farthest, chosen = where, l
			clear(next)
		}
		next[l.session] = l
	}
	if chosen.frame == nil {
		RequireLiveServer(c.t)
	}
	last := c.last[chosen.session]
	c.last = next
	if farthest == elsewhere {
		c.jumps++
	}
	if strings.HasSuffix(sent.Method, "/list") {
		c.lists[sent.Method] = c.jumps
	}
	if isCall {
		return chosen.frame, []*driver.Frame{chosen.responses[chosen.frame]}
	}
	if farthest != here || last.frame == nil {
		last = chosen
		clear(c.received)
	}
	for _, f := range chosen.reaction(last) {
		if c.kind == recordedCalls && f.Side == driver.FromServer && !f.IsResponse() {
			RequireLiveServer(c.t) // it may depend on what was sent before
		}
		if !c.received[f] {
			received, c.received[f] = append(received, f), true
		}
	}
	return chosen.frame, received
}

// place is where a recorded line is, as seen from the last one of a conversation.
type place int

const (
	here place = iota
	later
	elsewhere
	nowhere
)

// farthest returns where a line may be. A list that was read before may be another one elsewhere.
func (c *conversation) farthest(sent *driver.Frame) place {
	params, _ := sent.JSON()["params"].(M)
	jumps, isRead := c.lists[sent.Method]
	switch {
	case c.kind == recordedWhole:
		return here
	case c.kind != recordedCalls || !isRead || params["cursor"] != nil:
		return elsewhere
	case jumps == c.jumps:
		return later
	}
	RequireLiveServer(c.t)
	return here
}

func (c *conversation) place(l recordedLine) place {
	last, known := c.last[l.session]
	switch {
	case known && l.number == last.number+1, c.kind == recordedWhole && c.last == nil && l.number == 1:
		return here
	case known && l.number > last.number && !calledBetween(last, l):
		return later
	case slices.Contains([]string{"", c.t.Revision}, l.session.NegotiatedRevision()):
		return elsewhere
	}
	return nowhere
}

// calledBetween reports whether the client called a tool, which may have changed anything, between two lines.
func calledBetween(from, to recordedLine) bool {
	return slices.ContainsFunc(from.all[from.index+1:to.index], func(f *driver.Frame) bool {
		return f.Side == driver.FromClient && f.Method == "tools/call"
	})
}

// recordedLine is a line that the client sent in a recorded session.
type recordedLine struct {
	session *driver.Session
	frame   *driver.Frame
	// number counts the lines of the client from 1.
	number int
	// all has the frames of the session, and index is the place of frame there.
	all   []*driver.Frame
	index int
	// responses has the first response to each request in the session, and requests the other way round.
	responses, requests map[*driver.Frame]*driver.Frame
}

// linesKey is the key of a memo: the lines of the client by their lineKey.
type linesKey struct{}

func linesSent(t *T) map[string][]recordedLine {
	return Memo(t, linesKey{}, func() map[string][]recordedLine {
		lines := map[string][]recordedLine{}
		for _, s := range t.attempt.Run.RecordedSessions {
			for _, l := range linesOf(s) {
				for _, isCall := range []bool{false, true} {
					key := lineKey(l.frame, isCall)
					lines[key] = append(lines[key], l)
				}
			}
		}
		return lines
	})
}

// linesOf returns the lines that the client sent in a session.
func linesOf(s *driver.Session) (lines []recordedLine) {
	l := recordedLine{session: s, all: s.FramesSince(0)}
	l.responses, l.requests = map[*driver.Frame]*driver.Frame{}, map[*driver.Frame]*driver.Frame{}
	open := map[string]*driver.Frame{}
	for l.index, l.frame = range l.all {
		id := driver.IDKey(l.frame.RequestID())
		switch request := open[id]; {
		case l.frame.Side == driver.FromServer && l.frame.IsResponse() && request != nil:
			l.responses[request], l.requests[l.frame] = l.frame, request
			delete(open, id)
		case l.frame.Side == driver.FromClient:
			if l.frame.IsRequest() {
				open[id] = l.frame
			}
			l.number++
			lines = append(lines, l)
		}
	}
	return lines
}

// lineKey returns a text that is the same for lines that are the same but for usual ids. Calls are the same if their
// params are but for _meta, which clients use for requests alike.
func lineKey(f *driver.Frame, isCall bool) string {
	message := maps.Clone(f.JSON())
	switch params, has := message["params"].(M); {
	case isCall:
		params = maps.Clone(params)
		delete(params, "_meta")
		return "call " + string(text.CompactJSON([]any{f.Method, has, params}))
	case !bytes.Equal(text.CompactJSON(message), f.Raw.Bytes()): // how it is written may matter
	case hasUsualID(f):
		message["id"] = "usual"
		return string(text.CompactJSON(message))
	}
	return f.Raw.String()
}

// hasUsualID reports whether the id of a message is a small positive integer, as those of counters are.
func hasUsualID(f *driver.Frame) bool {
	n, ok := driver.Integer(json.Number(f.ID))
	return ok && n > 0 && n < 1e9
}

// hasReaction reports whether it is known what the server did when it got a line. Of a call, only the response counts.
func (l recordedLine) hasReaction(isCall bool) bool {
	if isCall {
		return l.responses[l.frame] != nil
	}
	return l.settledBy() != nil || l.isEnd(len(l.all)-1)
}

// settledBy returns the response to a line or, if there is none, the first one to a request that was sent later; nil if
// there is neither.
func (l recordedLine) settledBy() *driver.Frame {
	if r := l.responses[l.frame]; r != nil {
		return r
	}
	later := map[*driver.Frame]bool{}
	for _, f := range l.all[l.index+1:] {
		if later[f] = f.Side == driver.FromClient; later[l.requests[f]] {
			return f
		}
	}
	return nil
}

// isEnd reports whether the server has ended the session with the frame at a place.
func (l recordedLine) isEnd(i int) bool {
	f := l.all[i]
	return i == len(l.all)-1 && f.Side == driver.SessionEvent && !f.AfterShutdown
}

// reaction returns what the server sent after another line, last or l itself, until the client sent something else when
// l was settled. Left out are the responses to other requests.
func (l recordedLine) reaction(last recordedLine) (received []*driver.Frame) {
	end, isSettled := l.settledBy(), false
	for i := last.index + 1; i < len(l.all); i++ {
		f := l.all[i]
		switch {
		case f.Side == driver.FromClient && isSettled:
			return received
		case f.Side == driver.FromServer && (l.requests[f] == nil || l.requests[f] == l.frame), l.isEnd(i):
			received = append(received, f)
		}
		isSettled = isSettled || f == end
	}
	return received
}
