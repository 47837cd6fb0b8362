package jsonrpc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// variantOf is another request of the same kind: a call has the name of another unknown tool.
func variantOf(q requests.Request, nth int) requests.Request {
	if name, isCall := q.Params["name"]; isCall {
		q.Params = check.M{"name": fmt.Sprintf("%s_%02d", name, nth), "arguments": check.M{}}
	}
	return q
}

// maxPipelined is how many calls jsonrpc/pipelined-requests and otherIDProbes have pending at a time.
const maxPipelined = 4

// usualReplyDuring is the usual reply at the time of a probe. Where the probe has an error and the usual reply a
// result, it sends the request again with an ordinary id. It sends as many calls of tools at once as the probes do,
// since servers MUST limit the rate of these.
func usualReplyDuring(t *check.T, s *driver.Session, q requests.Request, e invalid.IDProbeResult) driver.Reply {
	if q.Reply.Result() == nil || e.Reply.Error() == nil {
		return q.Reply
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
	return q.Reply
}

// mismatchReason says why a reply must be the one to another request, one of others; empty when nothing shows that.
func mismatchReason(r driver.Reply, q requests.Request, others []requests.Request) string {
	family, verb, _ := strings.Cut(q.Method, "/")
	isList := func(r driver.Reply) bool { _, is := r.Result()[family].([]any); return is }
	if verb == "list" && isList(q.Reply) && !isList(r) {
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

// otherIDProbes are the outcomes of a list and of a call of an unknown tool, with ids of a kind.
func otherIDProbes(t *check.T, s *driver.Session, kind string) (all []invalid.IDProbeResults) {
	for n, q := range requests.ReadOnly(t, s)[1:] {
		all = append(all, probeIDs(t, s, q, invalid.IDsOfKind(kind, n)))
	}
	return all
}

// otherProbeCount is the number of requests in otherIDProbes: the ids of further ones begin with it.
const otherProbeCount = 2

// probeIDsOfKind are the outcomes of the nth request, counted from those of otherIDProbes on, with ids of a kind. Of a
// server that takes its time, each request tries one of these ids, and so does a request that takes long.
func probeIDsOfKind(
	t *check.T, s *driver.Session, q requests.Request, kind string, n int,
) invalid.IDProbeResults {
	ids := invalid.IDsOfKind(kind, n)
	if check.SavesRequests(t, q.Reply) {
		ids = ids[n%len(ids):][:1]
	}
	return probeIDs(t, s, q, ids)
}

// probeIDs returns the outcomes of the request with these ids.
func probeIDs(t *check.T, s *driver.Session, q requests.Request, ids []any) invalid.IDProbeResults {
	ask := func(id any) driver.Pending { return s.RequestWithID(id, q.Method, q.Params) }
	came := invalid.ProbeIDsWith(t, s, ids, ask, s.ReplyTimeout())
	for _, e := range came {
		q.Reply = usualReplyDuring(t, s, q, e)
	}
	return invalid.IDProbeResults{UsualReply: q.Reply, List: came}
}

// manyIDs are the outcomes of fifty requests with strings, or with integers, as ids: what goes wrong with some ids only
// shows in them. A server that takes its time is not asked for that.
func manyIDs(t *check.T, kind string) invalid.IDProbeResults {
	const many = 50
	if check.SavesRequests(t) {
		return invalid.IDProbeResults{}
	}
	return check.Step(t, "many "+kind+" ids", func(t *check.T) (all invalid.IDProbeResults) {
		s := t.Session()
		all.UsualReply = check.RequestNoOp(t, s)
		for n := range many {
			id := any(s.NextID())
			if kind == "string" {
				id = fmt.Sprint(invalid.ManyIDsPrefix, n)
			}
			e := invalid.ProbeID(s, id)
			if e.Reply.IsBusy() {
				break
			}
			if all.List = append(all.List, e); !e.Reply.Answered() {
				break
			}
		}
		return all
	})
}
