package kit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Exchange is a request of the client and what became of it.
type Exchange struct {
	Request   *driver.Frame
	Session   *driver.Session
	Answer    *driver.Frame // nil: none came
	Mistaken  bool          // an error came without its id that was probably meant for it
	Instead   *driver.Frame // a response under an id that no request has, which was probably meant for it
	Batched   bool          // it was a member of an array
	Ready     bool          // it was sent after the handshake, or needs none
	Standing  bool          // its answer is that a stream stays open
	Open      bool          // the server has said that it is
	Cancelled bool
	GivenUp   bool          // it was cancelled when there was no answer in time
	Empty     bool          // over HTTP: it was answered with a success that holds no response
	End       *driver.Frame // what ended the wait for an answer; nil when nothing did

	status *driver.Frame // over HTTP: how the exchange ended without a message
	of     *Dialogue
	place  int  // in the order of what was said
	noted  bool // a notification came before it whose effect was to come
}

// Response is a message of the server that looks like an answer.
type Response struct {
	Message
	Line  *driver.Frame // as it stood on the wire
	Of    *Exchange     // that it answers; nil: none
	Again *Exchange     // a request that had its answer before
	Meant *Exchange     // of a response that answers none: a request without an answer that it may be for
	Noted bool          // it may be an answer to a notification, which came not long before

	place int
}

// Dialogue is the requests and responses of one session, in pairs.
type Dialogue struct {
	Exchanges []*Exchange
	Responses []*Response

	open  map[string]*Exchange // by id: those that wait for their answer
	last  map[string]*Exchange // by id
	note  int                  // where a notification was sent whose effect may be to come
	later int                  // how many requests that were sent after it have their answers
	notes int                  // how many notifications were sent
	ended int                  // how many exchanges have an end
	ready bool
	over  bool // the session has ended: what the client says after that reaches nobody
	place int
}

// Dialogues are those of the run, as long as the client kept the protocol.
func Dialogues(w Wire) (all []*Dialogue) {
	for _, s := range w.Sessions {
		all = append(all, DialogueIn(s))
	}
	return all
}

// DialogueIn is that of one session. It leaves out what checks have sent by hand, and ends where the client did not
// keep the protocol.
func DialogueIn(s *driver.Session) *Dialogue {
	frames := slices.DeleteFunc(s.Record(0), func(f *driver.Frame) bool { return f.Apart })
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.Hostile }); i >= 0 {
		frames = frames[:i+1]
	}
	return pair(s, frames)
}

// Of are the exchanges whose request has a method.
func (d *Dialogue) Of(method string) []*Exchange {
	return slices.DeleteFunc(slices.Clone(d.Exchanges), func(x *Exchange) bool { return x.Request.Method != method })
}

// pair finds out which response of a record answers which request.
func pair(s *driver.Session, frames []*driver.Frame) *Dialogue {
	d := &Dialogue{open: map[string]*Exchange{}, last: map[string]*Exchange{}}
	for _, f := range frames {
		d.place++
		switch {
		case f.Hostile || f.Side == driver.Event:
			d.end(f)
			d.over = d.over || isDeath(s, f)
		case f.Side == driver.FromClient && d.over:
		case f.Side == driver.FromClient && f.Raw.Len() > 0:
			for _, m := range messagesOf(f) {
				d.sent(s, m, f.Shape == driver.Array)
			}
		case f.Side == driver.FromClient:
		case f.HTTP != nil && f.HTTP.Refuses():
			d.refused(s, f)
		case f.Side == driver.Status:
			if x := d.open[driver.IDKey(f.HTTP.Asked())]; x != nil && !f.HTTP.Elsewhere() {
				x.status = f
				x.Empty = f.HTTP.Answer().OK() && !f.AfterEOF && !f.HTTP.Recalled()
			}
		default:
			for _, m := range f.Members() {
				d.came(s, m, f)
			}
		}
	}
	if len(d.Exchanges) == 0 || !s.Whole() {
		d.Responses = nil // what they answer, if anything, is not in the record
	}
	d.guess()
	return d
}

// messagesOf are the messages in a frame of the client: some checks write several lines at once.
func messagesOf(f *driver.Frame) (messages []*driver.Frame) {
	if f.Shape != driver.NotJSON {
		return f.Members()
	}
	for line := range bytes.SplitSeq(f.Raw.Bytes(), []byte("\n")) {
		array := slices.Concat([]byte("["), line, []byte("]"))
		one := driver.Frame{At: f.At, Side: f.Side, Shape: driver.Array, Raw: driver.Text(array), User: f.User}
		messages = append(messages, one.Members()...)
	}
	return messages
}

func (d *Dialogue) sent(s *driver.Session, m *driver.Frame, batched bool) {
	switch {
	case m.IsRequest():
		x := &Exchange{
			Request: m, Session: s, Batched: batched, Ready: d.ready || standsAlone(m), Standing: m.IsStanding(),
			of: d, place: d.place, noted: d.note > 0,
		}
		d.Exchanges = append(d.Exchanges, x)
		d.open[driver.IDKey(m.ID)], d.last[driver.IDKey(m.ID)] = x, x
	case m.IsNotification():
		d.note, d.later = d.place, 0
		d.notes++
		d.ready = d.ready || m.Method == "notifications/initialized"
		if x := d.last[Cancels(m)]; x != nil {
			x.Cancelled, x.GivenUp = true, x.Answer == nil && m.At-x.Request.SentAt() >= s.Patience()/2
		}
	}
}

// standsAlone reports whether a request says itself in which revision it is to be served.
func standsAlone(request *driver.Frame) bool {
	params, _ := request.JSON()["params"].(M)
	meta, _ := params["_meta"].(M)
	return Has(meta, driver.MetaRevision)
}

// Cancels is the key of the id that a notification cancels; empty for any other message.
func Cancels(m *driver.Frame) string {
	if m.Method != "notifications/cancelled" {
		return ""
	}
	params, _ := m.JSON()["params"].(M)
	return driver.IDKey(Compact(params["requestId"]))
}

// opens is the key of the id of the request whose stream a notification says to be open; empty for any other message.
func opens(m *driver.Frame) string {
	if m.Method != "notifications/subscriptions/acknowledged" {
		return ""
	}
	params, _ := m.JSON()["params"].(M)
	meta, _ := params["_meta"].(M)
	return driver.IDKey(Compact(meta[driver.MetaSubscription]))
}

// fences is how many requests Settle sends to prove that what was sent before has had its effect.
const fences = 2

func (d *Dialogue) came(s *driver.Session, m, line *driver.Frame) {
	if x := d.open[opens(m)]; x != nil {
		x.Open = true
	}
	if !m.IsResponse() || m.Strayed {
		return
	}
	key := driver.IDKey(m.Answers())
	r := &Response{Message: Message{Frame: m, Session: s}, Line: line, Noted: d.note > 0, place: d.place}
	switch x := d.open[key]; {
	case x != nil:
		delete(d.open, key)
		x.Answer, r.Of, r.Request = m, x, x.Request
		if x.place > d.note {
			d.later++
		}
		if d.later == fences {
			d.note = 0 // the notification has had its effect
		}
	case d.last[key] != nil:
		r.Again, r.Request = d.last[key], d.last[key].Request
	case !m.HasVersion:
		return // some other JSON
	}
	d.Responses = append(d.Responses, r)
}

// refused notes the HTTP error that answers a request. It need not be JSON-RPC, and its body may be an error without an
// id, so it counts as the answer unless it is a response under that id.
func (d *Dialogue) refused(s *driver.Session, f *driver.Frame) {
	x := d.open[driver.IDKey(f.HTTP.Asked())]
	switch {
	case f.Shape == driver.Object && f.ID != nil && string(f.ID) != "null":
		d.came(s, f, f)
	case x != nil:
		delete(d.open, driver.IDKey(f.HTTP.Asked()))
		x.Answer = f
	}
}

func (d *Dialogue) end(f *driver.Frame) {
	for _, x := range d.Exchanges[d.ended:] {
		x.End = f
	}
	d.ended = len(d.Exchanges)
}

// guess finds for each response that answers nothing the request whose HTTP answer it came with or, for want of that,
// the oldest one without an answer.
func (d *Dialogue) guess() {
	free := d.Exchanges // from the oldest one on that has no answer and was not found yet
	for _, r := range d.Responses {
		if r.Of != nil || r.Again != nil || d.answersWith(r) {
			continue
		}
		for len(free) > 0 && (free[0].Answer != nil || free[0].Open) {
			free = free[1:]
		}
		if len(free) == 0 || free[0].place >= r.place {
			continue
		}
		r.Meant, r.Request = free[0], free[0].Request
		r.Meant.Mistaken, r.Meant.Instead = r.HasError, r.Frame
		free = free[1:]
	}
}

// answersWith takes a response for the answer to the request whose HTTP answer it came with, unless that has another
// one.
func (d *Dialogue) answersWith(r *Response) bool {
	if r.Line.HTTP == nil || r.Line.HTTP.Elsewhere() {
		return false
	}
	x := d.open[driver.IDKey(r.Line.HTTP.Asked())]
	if x == nil {
		return false
	}
	delete(d.open, driver.IDKey(x.Request.ID))
	x.Answer, x.Empty, r.Of, r.Request = r.Frame, false, x, x.Request
	return true
}

// Misnamed reports whether a response has another id than the request that it answers.
func (r *Response) Misnamed() bool {
	return r.Of != nil && !driver.SameID(r.ID, r.Of.Request.ID) && !NeedsNoID(r.Frame)
}

// JudgeResponses tries a check on the responses that are kept.
func JudgeResponses(t *T, what string, all []*Dialogue, keep func(*Response) bool, run func(*T, *Response)) {
	var kept []*Response
	for _, d := range all {
		for _, r := range d.Responses {
			if keep(r) {
				kept = append(kept, r)
			}
		}
	}
	Judge(t, what, kept, (*Response).Subject, run)
}

// unasked is the first response since the mark that answers no request; nil when there is none.
func unasked(s *driver.Session, mark int) *driver.Frame {
	for _, r := range pair(s, s.Record(0)).among(s.Since(mark)) {
		if r.Of == nil {
			return r.Frame
		}
	}
	return nil
}

// among are the responses that came in certain lines.
func (d *Dialogue) among(lines []*driver.Frame) (responses []*Response) {
	wanted := make(map[*driver.Frame]bool, len(lines))
	for _, line := range lines {
		wanted[line] = true
	}
	for _, r := range d.Responses {
		if wanted[r.Line] {
			responses = append(responses, r)
		}
	}
	return responses
}

// repliesSince are the replies to the notification that was sent after the mark. A server that has sent more responses
// without id than it was sent notifications is noisy: then such a response says nothing of the notification. Nor does a
// second answer where others are doubled as well.
func repliesSince(s *driver.Session, mark int) (replies []*driver.Frame, noisy bool) {
	d := pair(s, s.Record(0))
	nameless, doubles := 0, d.doubles()
	for _, r := range d.Responses {
		if r.nameless() {
			nameless++
		}
	}
	noisy = nameless > d.notes
	for _, r := range d.among(s.Since(mark)) {
		if r.replies() && !(noisy && r.nameless()) && !(doubles && r.Again != nil) {
			replies = append(replies, r.Frame)
		}
	}
	return replies, noisy
}

// SkipDoubler ends a check that has seen a second response if the server has answered a request of the session twice
// that was not cancelled.
func SkipDoubler(t *T, s *driver.Session) {
	if pair(s, s.Record(0)).doubles() {
		t.Yield("a request that was not cancelled has several answers, too")
	}
}

func (d *Dialogue) doubles() bool {
	return slices.ContainsFunc(d.Responses, func(r *Response) bool { return r.Again != nil && !r.Again.Cancelled })
}

// replies reports whether a response seems to be a reply to a notification: it came soon after one, and is nothing that
// the client waits for.
func (r *Response) replies() bool {
	unwanted := func(x *Exchange) bool { return x == nil || x.Cancelled }
	return r.Noted && r.Of == nil && unwanted(r.Again) && unwanted(r.Meant)
}

// IsStray reports whether a response has no id and belongs to nothing that was sent: neither to a request nor, as far
// as time tells, to a notification.
func (r *Response) IsStray() bool { return r.nameless() && r.Meant == nil && !r.Noted }

// nameless reports whether a response has no id, and does not answer a request otherwise.
func (r *Response) nameless() bool { return r.Of == nil && IsBare(r.ID) }

// Dead reports whether the server ended the session, without being asked to, before the request had its answer.
func (x *Exchange) Dead() bool {
	return x.End != nil && !x.End.AfterEOF && isDeath(x.Session, x.End)
}

// isDeath reports whether a frame says how a session ended.
func isDeath(s *driver.Session, f *driver.Frame) bool {
	if f.Side != driver.Event {
		return false
	}
	death := s.Death()
	return death != nil && death.Error() == f.Raw.String()
}

// Excess is what mcpcheck itself cut off where the answer would be; nil when nothing was, or the answer is there.
func (x *Exchange) Excess() *driver.Excess {
	switch {
	case x.Answer != nil:
	case x.Dead():
		return driver.ExcessOf(x.Session.Death())
	case x.Request.HTTP != nil:
		return x.Request.HTTP.Answer().Excess()
	}
	return nil
}

// Dropped reports whether over HTTP the server closed the connection instead of answering the request.
func (x *Exchange) Dropped() bool {
	return x.Answer == nil && x.status != nil && !x.Dead() && x.status.HTTP.Dropped()
}

// Streamed reports whether over HTTP the request was answered by an event stream that was still open when the wait for
// the response ended.
func (x *Exchange) Streamed() bool {
	if x.Answer != nil || x.Request.HTTP == nil || x.Request.HTTP.Elsewhere() {
		return false
	}
	a := x.Request.HTTP.Answer()
	return a.IsStream && a.OK() && !x.Dead()
}

// StillComing reports whether the answer was on its way when it was due: the server is slow, and not silent.
func (x *Exchange) StillComing() bool {
	return x.Answer == nil && !x.Dead() && x.Session.StillComing(x.Request)
}

// Left reports whether the server ended the session with status 0 before it answered, which it may over stdio: the
// request and the end may have crossed.
func (x *Exchange) Left() bool {
	return x.Dead() && x.Session.HTTP() == nil && x.End.Raw.String() == driver.CleanExit
}

// Crashed reports whether the process ended by itself before it answered, other than Left. One that was killed may have
// been killed by somebody else.
func (x *Exchange) Crashed() bool {
	if !x.Dead() || x.Left() || x.noted || !x.followsRequest() {
		return false
	}
	end := x.End.Raw.String()
	return strings.HasPrefix(end, "the server exited") || strings.Contains(end, "by a signal") &&
		!strings.Contains(end, "(killed)") && !strings.Contains(end, "(terminated)")
}

// Shared reports whether another session of the same process was in use when the server ended: over HTTP all sessions
// have one process.
func (x *Exchange) Shared(w Wire) bool {
	const recently = 2 * time.Second
	return slices.ContainsFunc(w.Sessions, func(s *driver.Session) bool {
		return s != x.Session && s.HTTP() != nil && s.Busy(x.Session.Moment(x.End), recently)
	})
}

// followsRequest reports whether the request came right after another one. After a notification or a batch, their
// checks judge what becomes of the session.
func (x *Exchange) followsRequest() bool {
	follows := true
	for _, f := range x.Session.Record(0) {
		switch {
		case f == x.Request:
			return follows
		case f.Side == driver.FromClient:
			follows = f.IsRequest()
		}
	}
	return false
}

// Last reports whether nothing was answered any more in the session once the request was sent, until it was ended.
func (x *Exchange) Last() bool {
	return !slices.ContainsFunc(x.Session.Since(0), func(f *driver.Frame) bool {
		return f.At > x.Request.At && f.IsResponse() && !f.AfterEOF
	})
}

// Waited is how long an answer could have come: until the wait for it was ended, or until now. A server that answers
// one request after the other has the time for it once those are answered that were sent before.
func (x *Exchange) Waited() time.Duration {
	begin, end := x.Request.SentAt(), x.Session.LeftAt()
	if x.End != nil {
		end = min(end, x.End.At)
	}
	for _, y := range x.of.Exchanges {
		if y == x {
			break
		}
		if y.Answer != nil {
			begin = max(begin, y.Answer.At)
		}
	}
	return end - begin
}

// Subject shows the request, what seems to be the answer to it though it does not say so, and, if it came before the
// answer, the end of the session.
func (x *Exchange) Subject() Subject {
	frames := []*driver.Frame{x.Request}
	if x.Answer == nil && x.Instead != nil {
		frames = append(frames, x.Instead)
	}
	switch {
	case x.Answer != nil:
	case x.Dead():
		frames = append(frames, x.End)
	case x.Dropped():
		frames = append(frames, x.status)
	}
	return Subject{Frames: frames}
}

// Fate is why a request has no answer.
func (x *Exchange) Fate() string {
	switch {
	case x.Dead():
		return x.End.Raw.String()
	case x.Dropped():
		return x.status.Raw.String()
	}
	fate := fmt.Sprintf("none within %v (--timeout)", x.Session.Patience())
	if x.Instead != nil {
		fate += fmt.Sprintf(", but a response under the id %s, which no request has", Show(ID(x.Instead)))
	}
	return fate
}
