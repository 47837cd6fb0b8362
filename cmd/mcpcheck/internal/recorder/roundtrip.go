package recorder

import (
	"context"
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// roundTrip is an HTTP request that passes the proxy, with its response.
type roundTrip struct {
	sessions     *httpSessions
	method, path string
	header       http.Header
	// ctx is the context of the client's request.
	ctx  context.Context
	body bodyBuffer
	// once makes sure that the request is recorded once.
	once sync.Once
	post postInfo
	// session is the session of the request; nil means that only the response tells it.
	session *httpSession
	number  int

	resp *http.Response
	// hasMessage says that a message arrived on the stream.
	hasMessage bool
	// hasResponse says that a JSON-RPC response arrived on the stream.
	hasResponse bool
	// isUndecodable says that the response has a content coding that the recorder cannot decode.
	isUndecodable bool
}

// observeRequest observes the body of the request, which is recorded once it is complete.
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

// recordRequest records the request, with the part of its body that has arrived.
func (t *roundTrip) recordRequest() {
	t.once.Do(func() {
		said, _ := t.body.content()
		t.post = newPostInfo(t.method, said)
		if t.session == nil {
			t.session = t.sessions.findSession(t, t.post)
		}
		if t.session != nil {
			t.recordIn(t.session)
		}
	})
}

// recordIn records the request as the next one of a session.
func (t *roundTrip) recordIn(s *httpSession) {
	t.session, t.number = s, t.sessions.nextNumber(s)
	t.recordBody(driver.FromClient, &t.body, driver.HTTPInfo{Method: t.method, Path: t.path, Header: t.header})
}

// record records a line of the round trip.
func (t *roundTrip) record(said driver.TraceLine, by driver.HTTPInfo) {
	if t.session == nil {
		t.recordIn(t.sessions.streamSession(t.path, ""))
	}
	said.RoundTrip, said.HTTPInfo = t.number, by.String()
	t.session.add(said)
}

// recordBody records a body.
func (t *roundTrip) recordBody(side driver.Side, body *bodyBuffer, by driver.HTTPInfo) {
	said, whole := body.content()
	if !whole {
		said = append(said, "…"...)
	}
	t.record(driver.TraceLine{Side: side, Text: said, Truncated: !whole}, by)
}

// recordGap records why messages are missing. For a POST, or with always, the gap concerns the rest of the session.
func (t *roundTrip) recordGap(why string, always bool) {
	t.record(driver.TraceLine{
		Side: driver.SessionEvent, Text: []byte(why), AfterGap: always || t.method == http.MethodPost,
	}, driver.HTTPInfo{})
}

// recordClientGone records that the client left before the response was complete.
func (t *roundTrip) recordClientGone() {
	t.recordGap("the client closed the connection before its request was answered; the response is not known", false)
}

// recordError records that there was no response.
func (t *roundTrip) recordError(err error) {
	t.recordRequest()
	if t.ctx.Err() != nil {
		t.recordClientGone()
		return
	}
	t.record(driver.TraceLine{Side: driver.StatusOnly}, driver.HTTPInfo{Reason: "no HTTP answer: " + err.Error()})
}

// httpInfo describes the response as a part of HTTP.
func (t *roundTrip) httpInfo() driver.HTTPInfo {
	return driver.HTTPInfo{StatusCode: t.resp.StatusCode, Header: t.resp.Header}
}

// observeAnswer observes the response while it passes.
func (t *roundTrip) observeAnswer(resp *http.Response) {
	t.recordRequest()
	t.resp = resp
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return // what follows is not HTTP
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

// endStream records the end of an event stream.
func (t *roundTrip) endStream(whole bool) {
	waits := len(t.post.requestIDs) > 0 && !t.hasResponse && (t.session == nil || !t.session.isSSE)
	switch {
	case t.isUndecodable:
		t.recordGap("the stream has a content encoding that mcpcheck cannot decode", true)
	case !whole && t.ctx.Err() != nil && waits:
		t.recordClientGone()
	case !whole && t.ctx.Err() != nil:
	case !whole && waits:
		t.recordGap("the connection to the server broke before the response; which side closed it is not known", true)
	case waits || !t.hasMessage:
		t.record(driver.TraceLine{Side: driver.StatusOnly}, t.httpInfo())
	}
}

// recordEvent records the message of an event.
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

// assignSession finds the session that a stream belongs to by its first event.
func (t *roundTrip) assignSession(e driver.StreamEvent) {
	endpoint := ""
	if e.Type == "endpoint" {
		endpoint = e.Data.String()
	}
	t.recordIn(t.sessions.streamSession(t.path, endpoint))
}

// recordTooLong records that the rest of a stream is not recorded.
func (t *roundTrip) recordTooLong() {
	t.recordGap("the rest of the stream is left out: it has an event that is too long for a trace", true)
}

// endBody records the end of a response that is not an event stream.
func (t *roundTrip) endBody(body *bodyBuffer, whole bool) {
	body.finish(whole && !t.isUndecodable)
	said, _ := body.content()
	switch {
	case !whole && t.ctx.Err() != nil:
		t.recordClientGone()
	case t.post.carriesMessage(t.resp.StatusCode, said, t.session != nil && t.session.isSSE):
		t.recordBody(driver.FromServer, body, t.httpInfo())
	default:
		t.recordBody(driver.StatusOnly, body, t.httpInfo())
	}
}
