package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// trip is an HTTP request that passes by, and what comes back.
type trip struct {
	of           *webSessions
	method, path string
	header       http.Header
	ctx          context.Context // that of the client
	body         kept
	once         sync.Once // the request is noted
	posted       driver.Posted
	session      *webSession // nil: only the answer tells
	number       int

	resp      *http.Response
	brought   bool // a message came on the stream
	answered  bool // a response did
	illegible bool // it is encoded in a way that a record does not know
}

// request looks at the body of the request, which is noted once it is whole.
func (t *trip) request(r *http.Request) {
	t.ctx = r.Context()
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		t.body.end(true)
		t.sent()
		return
	}
	r.Body = &passing{ReadCloser: r.Body, look: &t.body, toCome: r.ContentLength, end: func(whole bool) {
		t.body.end(whole)
		t.sent()
	}}
}

// sent notes the request, with as much of its body as has come.
func (t *trip) sent() {
	t.once.Do(func() {
		text, _ := t.body.all()
		t.posted = driver.NewPosted(t.method, text)
		if t.session == nil {
			t.session = t.of.find(t, t.posted)
		}
		if t.session != nil {
			t.begin(t.session)
		}
	})
}

// begin notes the request as the next one of a session.
func (t *trip) begin(s *webSession) {
	t.session, t.number = s, t.of.number(s)
	t.noteBody(driver.FromClient, &t.body, driver.Carriage{Method: t.method, Path: t.path, Header: t.header})
}

// note notes a line of the exchange.
func (t *trip) note(said driver.Saying, by driver.Carriage) {
	if t.session == nil {
		t.begin(t.of.listen(t.path, ""))
	}
	said.Exchange, said.Carriage = t.number, by.String()
	t.session.note(said)
}

// noteBody notes a body.
func (t *trip) noteBody(side driver.Side, body *kept, by driver.Carriage) {
	text, whole := body.all()
	if !whole {
		text = append(text, "…"...)
	}
	t.note(driver.Saying{Side: side, Text: text, Cut: !whole}, by)
}

// noteGap notes why what follows is not known; in any case says that all that follows of the session is meant.
func (t *trip) noteGap(why string, always bool) {
	t.note(driver.Saying{
		Side: driver.Event, Text: []byte(why), Gap: always || t.method == http.MethodPost,
	}, driver.Carriage{})
}

// left notes that the client has left before the answer was whole.
func (t *trip) left() {
	t.noteGap("the client has left before its request was answered: what came of it is not known", false)
}

// fail notes that there was no answer.
func (t *trip) fail(err error) {
	t.sent()
	if t.ctx.Err() != nil {
		t.left()
		return
	}
	t.note(driver.Saying{Side: driver.Status}, driver.Carriage{Why: "no HTTP answer: " + err.Error()})
}

// carriage is what carries the answer.
func (t *trip) carriage() driver.Carriage {
	return driver.Carriage{Status: t.resp.StatusCode, Header: t.resp.Header}
}

// answer looks at the answer while it passes.
func (t *trip) answer(resp *http.Response) {
	t.sent()
	t.resp = resp
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return // what follows is no HTTP
	}
	if id := resp.Header.Get(sessionID); id != "" && t.session != nil {
		t.of.name(id, t.session)
	}
	look, end := t.look()
	look, looked := t.decoded(resp.Header.Get("Content-Encoding"), look)
	resp.Body = &passing{ReadCloser: resp.Body, look: look, toCome: -1, end: func(whole bool) {
		looked()
		end(whole)
	}}
}

// streamed is the end of an event stream.
func (t *trip) streamed(whole bool) {
	waits := len(t.posted.IDs) > 0 && !t.answered && (t.session == nil || !t.session.old)
	switch {
	case t.illegible:
		t.noteGap("the stream was encoded in a way that a record does not know", true)
	case !whole && t.ctx.Err() != nil && waits:
		t.left()
	case !whole && t.ctx.Err() != nil:
	case !whole && waits:
		t.noteGap("the connection to the server broke before the answer, on which side is not known", true)
	case waits || !t.brought:
		t.note(driver.Saying{Side: driver.Status}, t.carriage())
	}
}

// event notes what an event of the stream brings.
func (t *trip) event(e driver.StreamEvent) {
	if t.session == nil {
		t.named(e)
	}
	message, has := e.Message()
	if !has {
		return
	}
	t.brought, t.answered = true, t.answered || driver.IsAnswer(message)
	by := t.carriage()
	by.Event = &e
	t.note(driver.Saying{Side: driver.FromServer, Text: message}, by)
}

// named tells by its first event of which session a stream is.
func (t *trip) named(e driver.StreamEvent) {
	endpoint := ""
	if e.Type == "endpoint" {
		endpoint = e.Data.String()
	}
	t.begin(t.of.listen(t.path, endpoint))
}

// tooLong notes that a stream is looked at no more.
func (t *trip) tooLong() {
	t.noteGap("what follows on the stream is left out: an event is longer than a record keeps", true)
}

// bodied is the end of an answer that is no stream.
func (t *trip) bodied(body *kept, whole bool) {
	body.end(whole && !t.illegible)
	text, _ := body.all()
	switch {
	case !whole && t.ctx.Err() != nil:
		t.left()
	case t.posted.Brings(t.resp.StatusCode, text, t.session != nil && t.session.old):
		t.noteBody(driver.FromServer, body, t.carriage())
	default:
		t.noteBody(driver.Status, body, t.carriage())
	}
}
