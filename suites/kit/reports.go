package kit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Asked is a request of the client, and when it was answered.
type Asked struct {
	Request *driver.Frame
	Answer  *driver.Frame     // nil: none has come
	Over    bool              // the client has taken it back
	Reports []*ProgressReport // of its progress, as they came

	token json.RawMessage // nil: it asks for no progress
}

// ProgressReport is a notification of progress, and what the client had asked for when it came.
type ProgressReport struct {
	Message
	Of    *Asked        // the request that has given the token, the latest of several; nil: none has
	Done  *driver.Frame // the answer to that, which came before; nil: it was under way
	Like  *Asked        // of one without Of: the request that has given the same token in another type; nil: none has
	Plain bool          // of one without Of: it is about a request that asks for no progress

	Listens bool // it is on the stream of a subscription
}

// Reports are the reports of progress of the sessions that negotiated the revision, as long as their clients kept the
// protocol. A session whose record has lost its beginning is left out, and so is what strayed into another session,
// where http/session-isolation judges that.
func Reports(t *T, w Wire) (all []*ProgressReport) {
	for _, s := range Established(t, Wire{Sessions: w.Whole()}) {
		all = append(all, ReportsOf(t, s)...)
	}
	strange := func(r *ProgressReport) bool { return r.Of == nil }
	if t.Server.Transport != "http" || t.Modern() || !slices.ContainsFunc(all, strange) {
		return all
	}
	isStray := StrayProgress(w)
	return slices.DeleteFunc(all, func(r *ProgressReport) bool { return strange(r) && isStray(r.Session, r.Frame) })
}

// StrayProgress tells whether a message in a session is progress of what another session has asked for.
func StrayProgress(w Wire) func(*driver.Session, *driver.Frame) bool {
	all, own := map[string]bool{}, map[*driver.Session]map[string]bool{}
	for _, s := range w.Sessions {
		own[s] = TokensGiven(s)
		maps.Copy(all, own[s])
	}
	return func(s *driver.Session, m *driver.Frame) bool {
		if !IsProgress(m) {
			return false
		}
		token := driver.IDKey(TokenOf(m))
		return all[token] && !own[s][token]
	}
}

// TokensGiven are those under which a session has asked for progress, by the key of their value: 7 and 7.0 are one.
func TokensGiven(s *driver.Session) map[string]bool {
	tokens := map[string]bool{}
	for _, f := range s.Record(0) {
		if f.Side == driver.FromClient {
			for _, m := range f.Members() {
				if token := tokenIn(m); token != nil {
					tokens[driver.IDKey(token)] = true
				}
			}
		}
	}
	return tokens
}

// TokenOf is the token of a report of progress.
func TokenOf(m *driver.Frame) json.RawMessage {
	params, _ := m.JSON()["params"].(M)
	return Compact(params["progressToken"])
}

// ReportsOf are those of a session that has ended.
func ReportsOf(t *T, s *driver.Session) []*ProgressReport {
	return Memo(t, s, func() []*ProgressReport { return ReportsIn(s, s.Record(0)) })
}

// ReportsIn are those in a part of what was said in a session.
func ReportsIn(s *driver.Session, frames []*driver.Frame) (all []*ProgressReport) {
	told := &told{under: map[string]*Asked{}, with: map[string][]*Asked{}}
	told.read(frames, func(f, m *driver.Frame) {
		if IsProgress(m) {
			r := &ProgressReport{Message: Message{Frame: m, Session: s}}
			told.attribute(r, f)
			all = append(all, r)
		}
	})
	return all
}

// EachSaid visits what the server says by itself in a part of what was said in a session, as long as the client kept
// the protocol, with what the client had asked for when it came.
func EachSaid(frames []*driver.Frame, visit func(m *driver.Frame, asked []*Asked)) {
	told := &told{under: map[string]*Asked{}, with: map[string][]*Asked{}}
	told.read(frames, func(_, m *driver.Frame) { visit(m, told.asked) })
}

// told is what the client has asked for in a session so far.
type told struct {
	asked []*Asked
	under map[string]*Asked   // by id: the latest request
	with  map[string][]*Asked // by token
}

// read notes what is said in frames, and visits what the server says by itself: a message, and the frame that it came
// in.
func (s *told) read(frames []*driver.Frame, visit func(f, m *driver.Frame)) {
	for _, f := range frames {
		if f.Hostile {
			return
		}
		for _, m := range f.Members() {
			switch {
			case f.Side == driver.FromClient:
				s.byClient(m)
			case f.Side != driver.FromServer || f.Strayed:
			case m.IsResponse():
				s.answered(m)
			case !f.Apart:
				visit(f, m)
			}
		}
	}
}

// byClient notes a message of the client.
func (s *told) byClient(m *driver.Frame) {
	if x := s.under[Cancels(m)]; x != nil {
		x.Over = true
	}
	if !m.IsRequest() {
		return
	}
	a := &Asked{Request: m, token: tokenIn(m)}
	s.asked, s.under[driver.IDKey(m.ID)] = append(s.asked, a), a
	if key := driver.IDKey(a.token); a.token != nil {
		s.with[key] = append(s.with[key], a)
	}
}

// answered notes a response.
func (s *told) answered(m *driver.Frame) {
	if x := s.under[driver.IDKey(m.Answers())]; x != nil && x.Answer == nil {
		x.Answer = m
	}
}

// tokenIn is the token for progress in a request; nil when there is none.
func tokenIn(request *driver.Frame) json.RawMessage {
	if !bytes.Contains(request.Raw, []byte(`"progressToken"`)) { // which is learnt sooner than by decoding
		return nil
	}
	params, _ := request.JSON()["params"].(M)
	if token, has := MetaOf(params)["progressToken"]; has {
		return Compact(token)
	}
	return nil
}

// attribute finds out what a report, which came in a frame, is about.
func (s *told) attribute(r *ProgressReport, f *driver.Frame) {
	token := TokenOf(r.Frame)
	r.Listens = slices.ContainsFunc(s.asked, func(a *Asked) bool {
		return a.Request.IsStanding() && OfRequest(f, a.Request)
	})
	for _, a := range slices.Backward(s.with[driver.IDKey(token)]) {
		if r.Of == nil || r.Of.Answer != nil && a.Answer == nil {
			r.Of = a
		}
	}
	if r.Of != nil {
		r.Done = r.Of.Answer
		r.Of.Reports = append(r.Of.Reports, r)
		return
	}
	r.Plain = s.isOfPlain(f)
	i := slices.IndexFunc(s.asked, func(a *Asked) bool { return a.token != nil && driver.AlikeID(a.token, token) })
	if i >= 0 {
		r.Like = s.asked[i]
	}
}

// isOfPlain reports whether what came in a frame is about a request that asks for no progress: on the stream of its
// answer or, on a channel that requests share, while only such requests are under way.
func (s *told) isOfPlain(f *driver.Frame) (plain bool) {
	for _, a := range slices.Backward(s.asked) {
		switch {
		case OfRequest(f, a.Request):
			return a.token == nil
		case hasOwnStream(f), a.Answer != nil, a.Over, a.Request.IsStanding():
		case a.token != nil:
			return false
		default:
			plain = true
		}
	}
	return plain
}

// hasOwnStream reports whether what the server sent came on a stream that belongs to one request.
func hasOwnStream(f *driver.Frame) bool { return f.HTTP != nil && f.HTTP.Asked() != nil }

// OfRequest reports whether it came on that of a certain request, be it after that was resumed.
func OfRequest(f, request *driver.Frame) bool {
	return hasOwnStream(f) && driver.SameID(f.HTTP.Asked(), request.ID)
}

// OfOther reports whether it came on that of another one.
func OfOther(f, request *driver.Frame) bool { return hasOwnStream(f) && !OfRequest(f, request) }

// Params are those of the report.
func (r *ProgressReport) Params() M {
	params, _ := r.JSON()["params"].(M)
	return params
}

// Token is the one that the report names.
func (r *ProgressReport) Token() any { return Member(r.Params(), "progressToken") }

// Subject shows the request and the report.
func (r *ProgressReport) Subject() Subject {
	if r.Of != nil {
		return Subject{Frames: []*driver.Frame{r.Of.Request, r.Frame}}
	}
	return Subject{Frames: []*driver.Frame{r.Frame}}
}

// AsTask reports whether the request was answered with a task, which goes on.
func (a *Asked) AsTask() bool {
	if a.Answer == nil {
		return false
	}
	result, _ := a.Answer.JSON()["result"].(M)
	return Has(result, "task") || result["resultType"] == "task"
}

// Reporter is a call of a tool that may be made again, as Quickest has it, and has reported its progress.
func Reporter(t *T) ToolCall {
	calls := ValidCalls(t)
	return Quickest(t, calls, "progress was reported", func(c ToolCall) bool {
		return slices.ContainsFunc(ReportsIn(c.Session, c.Session.Record(0)), func(r *ProgressReport) bool {
			return r.Of != nil && driver.SameID(r.Of.Request.ID, c.Reply.Request.ID)
		})
	})
}

// IsPlain reports whether the call was answered with success, and asked for no input before.
func (c ToolCall) IsPlain() bool {
	return c.Reply.Result() != nil && !c.Reply.Refuses() && len(c.Input.Asked) == 0
}

// Quickest is the first call in the order of QuickestFirst, of those that are plain, and of a kind. It ends a check
// that finds none; what says what it lacks.
func Quickest(t *T, calls ToolCalls, what string, is func(ToolCall) bool) ToolCall {
	plain := slices.DeleteFunc(slices.Clone(calls.List), func(c ToolCall) bool { return !c.IsPlain() || !is(c) })
	if len(plain) == 0 {
		NothingSeen(t, what, calls.Uncalled, AnyTool)
	}
	return slices.MinFunc(plain, QuickestFirst)
}

// QuickestFirst orders calls such that the same one comes first in each run. A busy machine makes any call somewhat
// slower: only one that takes twice as long comes later, and the names of the tools decide between the others.
func QuickestFirst(a, b ToolCall) int {
	steps := func(c ToolCall) int { return bits.Len64(uint64(c.Took / long)) }
	return cmp.Or(cmp.Compare(steps(a), steps(b)), strings.Compare(a.Tool.Name, b.Tool.Name))
}

// Again sends the call once more with other members of _meta, none of those that it had before.
func (c ToolCall) Again(s *driver.Session, meta M) driver.Pending {
	params := c.Params(s)
	all, _ := params["_meta"].(M)
	delete(all, "progressToken")
	delete(all, driver.MetaLogLevel)
	for key, value := range meta {
		if all == nil {
			all = M{}
		}
		all[key] = value
	}
	if params["_meta"] = all; len(all) == 0 {
		delete(params, "_meta")
	}
	return s.Request("tools/call", params)
}
