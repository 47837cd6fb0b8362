package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// answer is what the quiet server answered to a request.
type answer struct {
	// before and after are the text around the id.
	before, after []byte
	// marked says that the marker of the request is in it, and that of no other request.
	marked bool
	// members are the names of the members of the result, and kinds those of the blocks of its content.
	members, kinds []string
	// varies says that the quiet server answered in another kind when it was asked again.
	varies bool
}

// newAnswer returns the answer to the request with an id.
func newAnswer(raw []byte, id json.RawMessage) (a answer) {
	raw = bytes.Clone(raw)
	if at := bytes.Index(raw, append([]byte(`"id":`), id...)); at >= 0 {
		at += len(`"id":`)
		a.before, a.after = raw[:at], raw[at+len(id):]
	}
	var m response
	if json.Unmarshal(raw, &m) == nil {
		a.members, a.kinds = shapeOf(m.Result)
	}
	return a
}

// response is a response on the wire.
type response struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    json.Number `json:"code"`
		Message string      `json:"message"`
	} `json:"error"`
	Method string `json:"method"`
}

// shapeOf returns the names of the members of a result, and the types of the blocks of its content, each once.
func shapeOf(result json.RawMessage) (members, kinds []string) {
	object, _ := driver.Decode(result).(driver.M)
	for name := range object {
		if name != "_meta" && name != "nextCursor" { // a list may grow meanwhile
			members = append(members, name)
		}
	}
	blocks, _ := object["content"].([]any)
	for _, b := range blocks {
		block, _ := b.(driver.M)
		kind, _ := block["type"].(string)
		kinds = append(kinds, kind)
	}
	slices.Sort(members)
	slices.Sort(kinds)
	return members, slices.Compact(kinds)
}

// matchesQuietly reports whether a response is the quiet one but for its id and its marker, byte by byte. Most are, and
// need no further look.
func (a *answer) matchesQuietly(raw, id []byte, mark string) bool {
	rest, ok := cutMarked(raw, a.before, mark)
	if !ok || !bytes.HasPrefix(rest, id) {
		return false
	}
	rest, ok = cutMarked(rest[len(id):], a.after, mark)
	return ok && len(rest) == 0
}

// cutMarked cuts a prefix off a text in which a client's marker stands for marker.
func cutMarked(text, prefix []byte, mark string) (rest []byte, ok bool) {
	if mark == "" {
		return bytes.CutPrefix(text, prefix)
	}
	for {
		at := bytes.Index(prefix, []byte(marker))
		if at < 0 {
			return bytes.CutPrefix(text, prefix)
		}
		if len(text) < at+len(mark) || !bytes.Equal(text[:at], prefix[:at]) || string(text[at:at+len(mark)]) != mark {
			return nil, false
		}
		text, prefix = text[at+len(mark):], prefix[at+len(marker):]
	}
}

// A finding is what is wrong with a response: the name of a result of the report, and a sentence.
type finding struct{ result, what string }

// The results of a load.
const (
	Answered   = "requests are answered, but for the share of errors that is allowed"
	Matched    = "each response has the id of its request"
	SameKind   = "responses are those of the quiet server, in kind"
	Valid      = "responses are valid by the schema"
	OwnSession = "no client gets what belongs to another one"
	// ListsOnly is added to SameKind where tools that may change something are called.
	ListsOnly    = " (lists only: a tool that is called may change the rest)"
	AfterCancel  = "requests after a cancelled one are answered"
	AfterLoad    = "the server serves as before afterwards"
	WithinP99    = "the 99th percentile is within the budget"
	WithinErrors = "the errors are within the budget"
	Throughput   = "the throughput is within the budget"
	maxFindings  = 3
)

var anyMarker = regexp.MustCompile(`mcpcheck-load-\d{6}`)

// verify returns what is wrong with the response to a request; nil when nothing is.
func (r *request) verify(revision string, raw, id []byte, mark string) *finding {
	if r.quiet.before != nil && r.quiet.matchesQuietly(raw, id, mark) {
		return nil
	}
	var m response
	if err := json.Unmarshal(raw, &m); err != nil {
		return &finding{Matched, fmt.Sprintf("%s: no JSON-RPC response: %s", r, driver.Brief(raw))}
	}
	if !driver.SameID(m.ID, id) {
		return &finding{Matched, fmt.Sprintf("%s with id %s: the response has id %s", r, id, driver.Brief(m.ID))}
	}
	// Besides its own marker, a response may have those of others: a server may remember what all clients said.
	isForeign := r.isMarked() && !bytes.Contains(raw, []byte(mark))
	if other := anyMarker.Find(raw); isForeign && other != nil {
		return &finding{OwnSession, fmt.Sprintf("%s, sent by %s: the response has %s", r, mark, other)}
	}
	switch {
	case m.Error != nil && r.dependsOnState:
		return nil
	case m.Error != nil:
		return &finding{SameKind, fmt.Sprintf("%s: error %s %s, where the quiet server had a result", r, m.Error.Code,
			driver.Brief([]byte(m.Error.Message)))}
	case isForeign && !r.dependsOnState:
		return &finding{OwnSession, fmt.Sprintf("%s: the response lacks the argument %s, and the quiet one repeats it",
			r, mark)}
	}
	return r.verifyResult(revision, m.Result)
}

// verifyResult returns what is wrong with a result that differs from the quiet one.
func (r *request) verifyResult(revision string, raw json.RawMessage) *finding {
	if definition, known := schemas.ResultDefinition(revision, r.method); known {
		if wrong := schemas.ValidateMessage(revision, definition, driver.Decode(raw)); len(wrong) > 0 {
			return &finding{Valid, fmt.Sprintf("%s: %s", r, wrong[0])}
		}
	}
	members, kinds := shapeOf(raw)
	isSame := slices.Equal(members, r.quiet.members) && slices.Equal(kinds, r.quiet.kinds)
	if r.quiet.varies || r.dependsOnState || isSame {
		return nil
	}
	return &finding{SameKind, fmt.Sprintf("%s: a result with %s, where the quiet one has %s", r,
		strings.Join(append(members, kinds...), ", "), strings.Join(append(slices.Clone(r.quiet.members),
			r.quiet.kinds...), ", "))}
}

func (r *request) String() string {
	if r.name == "" {
		return r.method
	}
	return r.method + " " + driver.Brief([]byte(r.name))
}
