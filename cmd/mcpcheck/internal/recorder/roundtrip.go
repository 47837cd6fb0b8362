package recorder

import (
	"context"
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// roundTrip is an HTTP request that passes by, and what comes back.
type roundTrip struct {
	sessions     *httpSessions
	method, path string
	header       http.Header
	ctx          context.Context // that of the client
	body         bodyBuffer
	once         sync.Once // the request is noted
	post         driver.PostInfo
	session      *httpSession // nil: only the answer tells
	number       int

	resp          *http.Response
	hasMessage    bool // a message came on the stream
	hasResponse   bool // a response did
	isUndecodable bool // it is encoded in a way that a record does not know
}

// observeRequest looks at the body of the request, which is noted once it is whole.
func (t *roundTrip) observeRequest(r *http.Request) {
	t.ctx = r.Context()
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		t.body.finish(true)
		t.recordRequest()
		return
	}
	r.Body = &observedBody{ReadCloser: r.Body, observer: &t.body, remaining: r.ContentLength, onEnd: func(whole bool) {
		t.body.finish(whole)
		t.recordRequest()
	}}
}

// recordRequest notes the request, with as much of its body as has come.
func (t *roundTrip) recordRequest() {
	t.once.Do(func() {
		said, _ := t.body.content()
		t.post = driver.NewPostInfo(t.method, said)
		if t.session == nil {
			t.session = t.sessions.findSession(t, t.post)
		}
		if t.session != nil {
			t.recordIn(t.session)
		}
	})
}

// recordIn notes the request as the next one of a session.
func (t *roundTrip) recordIn(s *httpSession) {
	t.session, t.number = s, t.sessions.nextNumber(s)
	t.recordBody(driver.FromClient, &t.body, driver.HTTPInfo{Method: t.method, Path: t.path, Header: t.header})
}

// record notes a line of the exchange.
func (t *roundTrip) record(said driver.TraceLine, by driver.HTTPInfo) {
	if t.session == nil {
		t.recordIn(t.sessions.streamSession(t.path, ""))
	}
	said.RoundTrip, said.HTTPInfo = t.number, by.String()
	t.session.add(said)
}

// recordBody notes a body.
func (t *roundTrip) recordBody(side driver.Side, body *bodyBuffer, by driver.HTTPInfo) {
	said, whole := body.content()
	if !whole {
		said = append(said, "…"...)
	}
	t.record(driver.TraceLine{Side: side, Text: said, Truncated: !whole}, by)
}

// recordGap notes why what follows is not known; in any case says that all that follows of the session is meant.
func (t *roundTrip) recordGap(why string, always bool) {
	t.record(driver.TraceLine{
		Side: driver.SessionEvent, Text: []byte(why), AfterGap: always || t.method == http.MethodPost,
	}, driver.HTTPInfo{})
}

// recordClientGone notes that the client has left before the answer was whole.
func (t *roundTrip) recordClientGone() {
	t.recordGap("the client has left before its request was answered: what came of it is not known", false)
}

// recordError notes that there was no answer.
func (t *roundTrip) recordError(err error) {
	t.recordRequest()
	if t.ctx.Err() != nil {
		t.recordClientGone()
		return
	}
	t.record(driver.TraceLine{Side: driver.StatusOnly}, driver.HTTPInfo{Reason: "no HTTP answer: " + err.Error()})
}

// httpInfo is what carries the answer.
func (t *roundTrip) httpInfo() driver.HTTPInfo {
	return driver.HTTPInfo{StatusCode: t.resp.StatusCode, Header: t.resp.Header}
}

// observeAnswer looks at the answer while it passes.
func (t *roundTrip) observeAnswer(resp *http.Response) {
	t.recordRequest()
	t.resp = resp
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return // what follows is no HTTP
	}
	if id := resp.Header.Get(sessionIDHeader); id != "" && t.session != nil {
		t.sessions.setSessionID(id, t.session)
	}
	look, end := t.answerObserver()
	look, looked := t.decodeBody(resp.Header.Get("Content-Encoding"), look)
	resp.Body = &observedBody{ReadCloser: resp.Body, observer: look, remaining: -1, onEnd: func(whole bool) {
		looked()
		end(whole)
	}}
}

// endStream is the end of an event stream.
func (t *roundTrip) endStream(whole bool) {
	waits := len(t.post.RequestIDs) > 0 && !t.hasResponse && (t.session == nil || !t.session.isSSE)
	switch {
	case t.isUndecodable:
		t.recordGap("the stream was encoded in a way that a record does not know", true)
	case !whole && t.ctx.Err() != nil && waits:
		t.recordClientGone()
	case !whole && t.ctx.Err() != nil:
	case !whole && waits:
		t.recordGap("the connection to the server broke before the answer, on which side is not known", true)
	case waits || !t.hasMessage:
		t.record(driver.TraceLine{Side: driver.StatusOnly}, t.httpInfo())
	}
}

// recordEvent notes what an event of the stream brings.
func (t *roundTrip) recordEvent(e driver.StreamEvent) {
	if t.session == nil {
		t.assignSession(e)
	}
	message, has := e.Message()
	if !has {
		return
	}
	t.hasMessage, t.hasResponse = true, t.hasResponse || driver.IsResponseBody(message)
	by := t.httpInfo()
	by.Event = &e
	t.record(driver.TraceLine{Side: driver.FromServer, Text: message}, by)
}

// assignSession tells by its first event of which session a stream is.
func (t *roundTrip) assignSession(e driver.StreamEvent) {
	endpoint := ""
	if e.Type == "endpoint" {
		endpoint = e.Data.String()
	}
	t.recordIn(t.sessions.streamSession(t.path, endpoint))
}

// recordTooLong notes that a stream is looked at no more.
func (t *roundTrip) recordTooLong() {
	t.recordGap("what follows on the stream is left out: an event is longer than a record keeps", true)
}

// endBody is the end of an answer that is no stream.
func (t *roundTrip) endBody(body *bodyBuffer, whole bool) {
	body.finish(whole && !t.isUndecodable)
	said, _ := body.content()
	switch {
	case !whole && t.ctx.Err() != nil:
		t.recordClientGone()
	case t.post.CarriesMessage(t.resp.StatusCode, said, t.session != nil && t.session.isSSE):
		t.recordBody(driver.FromServer, body, t.httpInfo())
	default:
		t.recordBody(driver.StatusOnly, body, t.httpInfo())
	}
}
