package invalid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// ReadOnlyRequest is a request that changes nothing, with the reply to it under ordinary circumstances.
type ReadOnlyRequest struct {
	Method     string
	Params     check.M
	UsualReply driver.Reply
}

// ReadOnlyRequests are requests of different kinds: the no-op of the session, a list, and a call of an unknown tool.
// Those that the server does not declare or does not answer are left out.
func ReadOnlyRequests(t *check.T, s *driver.Session) (all []ReadOnlyRequest) {
	method, params := s.NoOp()
	var others []ReadOnlyRequest
	if list, _ := protocol.ListMethod(t); list != "" && list != method {
		others = append(others, ReadOnlyRequest{Method: list})
	}
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		others = append(others,
			ReadOnlyRequest{Method: "tools/call",
				Params: check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}}})
	}
	others = slices.DeleteFunc(others,
		func(q ReadOnlyRequest) bool { return check.KnownUnanswered(t, q.Method) != nil })
	var sent []driver.Pending
	if check.SendsConcurrently(t) {
		for _, q := range others {
			sent = append(sent, s.Request(q.Method, q.Params))
		}
	}
	all = append(all, ReadOnlyRequest{method, params, check.RequestNoOp(t, s)})
	for i, q := range others {
		if sent != nil {
			q.UsualReply = check.RequireServerReply(t, s.Await(sent[i]))
		} else {
			q.UsualReply = TryInvalid(t, s, q.Method, q.Params)
		}
		if q.UsualReply.Answered() {
			all = append(all, q)
		} else {
			check.RequestNoOp(t, s) // the checks need a session that goes on
		}
	}
	return all
}

// Variant is another request of the same kind: a call has the name of another unknown tool.
func (q ReadOnlyRequest) Variant(nth int) ReadOnlyRequest {
	if name, isCall := q.Params["name"]; isCall {
		q.Params = check.M{"name": fmt.Sprintf("%s_%02d", name, nth), "arguments": check.M{}}
	}
	return q
}

// maxPipelined is how many calls jsonrpc/pipelined-requests and OtherIDProbes have pending at a time.
const maxPipelined = 4

// UsualReplyDuring is the usual reply at the time of a probe. Where the probe has an error and the usual reply a
// result, it sends the request again with an ordinary id. It sends as many calls of tools at once as the probes do,
// since servers MUST limit the rate of these.
func (q ReadOnlyRequest) UsualReplyDuring(t *check.T, s *driver.Session, e IDProbeResult) driver.Reply {
	if q.UsualReply.Result() == nil || e.Reply.Error() == nil {
		return q.UsualReply
	}
	times := 1
	if q.Method == "tools/call" {
		times = maxPipelined
	}
	for _, again := range protocol.RepeatConcurrently(t, s, times, q.Method, q.Params) {
		if again.Error() != nil {
			return again
		}
	}
	return q.UsualReply
}

// MismatchReason says why a reply must be the one to another request, one of others; empty when nothing shows that.
func (q ReadOnlyRequest) MismatchReason(r driver.Reply, others []ReadOnlyRequest) string {
	family, verb, _ := strings.Cut(q.Method, "/")
	isList := func(r driver.Reply) bool { _, is := r.Result()[family].([]any); return is }
	if verb == "list" && isList(q.UsualReply) && !isList(r) {
		return "no list: " + check.Got(r)
	}
	own, isCall := q.Params["name"].(string)
	content := text.CompactJSON(r.Message())
	if !isCall || bytes.Contains(content, []byte(own)) {
		return ""
	}
	for _, other := range others {
		if name, _ := other.Params["name"].(string); name != "" && bytes.Contains(content, []byte(name)) {
			return "an answer about " + name + ": " + check.Got(r)
		}
	}
	return ""
}

// maxProbedRequests is the number of requests for which idsByKind has ids.
const maxProbedRequests = 20

// longID is the number of characters of a long id.
const longID = 1000

// idsByKind are the ids of a kind for the nth request besides the no-op: of integers, negative ones and those that need
// more than 31, 32 or 52 bits; of strings, those with digits, one of one character and a long one.
var idsByKind = map[string]func(n int) []any{
	"integer": func(n int) []any {
		return []any{70200 + n, -1002 - n, 1<<53 - 2 - n, 1<<31 + 70280 + n, 1<<32 + 70300 + n}
	},
	"string": func(n int) []any {
		long := strings.Repeat(fmt.Sprintf("mcpcheck-%d ", n), longID)
		return []any{
			fmt.Sprint(70230 + n), fmt.Sprintf("00702%d", 60+n), fmt.Sprintf("mcpcheck-c %d", n), long[:longID],
			string(rune('a' + n)),
		}
	},
	"unicode": func(n int) []any { return []any{fmt.Sprintf("%d é✓😀", n)} },
	"falsy":   func(n int) []any { return []any{0, ""}[n%2 : n%2+1] },
}

// OtherIDProbes are the outcomes of a list and of a call of an unknown tool, with ids of a kind.
func OtherIDProbes(t *check.T, s *driver.Session, kind string) (all []IDProbeResults) {
	for n, q := range ReadOnlyRequests(t, s)[1:] {
		all = append(all, q.ProbeIDs(t, s, idsByKind[kind](n)))
	}
	return all
}

// OtherProbeCount is the number of requests in OtherIDProbes: the ids of further ones begin with it.
const OtherProbeCount = 2

// ProbeIDsOfKind are the outcomes of the nth request, counted from those of OtherIDProbes on, with ids of a kind. Of a
// server that takes its time, each request tries one of these ids, and so does a request that takes long.
func (q ReadOnlyRequest) ProbeIDsOfKind(t *check.T, s *driver.Session, kind string, n int) IDProbeResults {
	ids := idsByKind[kind](min(n, maxProbedRequests-1))
	if check.SavesRequests(t, q.UsualReply) {
		ids = ids[n%len(ids):][:1]
	}
	return q.ProbeIDs(t, s, ids)
}

// ProbeIDs are the outcomes of the request with these ids.
func (q ReadOnlyRequest) ProbeIDs(t *check.T, s *driver.Session, ids []any) IDProbeResults {
	ask := func(id any) driver.Pending { return s.RequestWithID(id, q.Method, q.Params) }
	came := probeIDsWith(t, s, ids, ask, s.ReplyTimeout())
	for _, e := range came {
		q.UsualReply = q.UsualReplyDuring(t, s, e)
	}
	return IDProbeResults{UsualReply: q.UsualReply, List: came}
}

// PipelinedIDPrefix is the prefix of the ids that jsonrpc/pipelined-requests uses.
const PipelinedIDPrefix = "mcpcheck-pipelined-"

// IsProbeID reports whether an id is one that OtherIDProbes or jsonrpc/pipelined-requests uses. The checks of ids judge
// the responses to these.
func IsProbeID(id json.RawMessage) bool {
	content, _ := driver.Decode(id).(string)
	if strings.HasPrefix(content, PipelinedIDPrefix) || strings.HasPrefix(content, manyIDsPrefix) {
		return true
	}
	for _, ids := range idsByKind {
		for n := range maxProbedRequests {
			for _, tried := range ids(n) {
				if driver.SameID(text.CompactJSON(tried), id) {
					return true
				}
			}
		}
	}
	return false
}
