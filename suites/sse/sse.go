package sse

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var Checks = Suite{
	"sse/stream-endpoint": Probe(func(t *T) {
		t.Expect(connected(t).Opened).To(That("200 and text/event-stream", func(a driver.Answer) bool {
			return a.Status == http.StatusOK && a.MediaType() == "text/event-stream"
		}))
	}).WhenRefused(),

	"sse/endpoint-event-first": Probe(func(t *T) {
		c := connected(t).streaming(t)
		t.Expect(c.Told).To(Hold("an endpoint event", "%s", c.first()))
	}).WhenRefused(),

	"sse/endpoint-event-uri": Probe(func(t *T) {
		c := connected(t).streaming(t)
		if !c.Told {
			t.Yield("there was no endpoint event")
		}
		t.Expect(c.Wrong == nil).To(Hold("a URI in the endpoint event", "%q: %v", c.Data, c.Wrong))
	}).WhenRefused(),

	"sse/endpoint-same-origin": Probe(func(t *T) {
		c := connected(t).announced(t)
		t.Expect(originOf(c.Announced)).To(BeOneOf(originOf(kit.SiteURL(t))))
	}).WhenRefused(),

	"sse/post-accepted": Probe(func(t *T) {
		t.Expect(greeting(t).Posted).To(That("a status of success for initialize", driver.Answer.OK))
	}).WhenRefused(),

	"sse/responses-on-stream": Probe(func(t *T) {
		g := greeting(t)
		if !g.Posted.OK() {
			t.Yield("the message was not accepted")
		}
		t.Expect(g.Streamed).To(Hold("the response to initialize on the event stream",
			"none; the POST was answered by %s", g.Posted))
		t.Warn(!g.Client.answering(helloID)(g.Posted.Body.Bytes())).To(Hold("the response on the event stream alone",
			"it in the body of the POST as well: %s", g.Posted))
	}).WhenRefused(),

	"sse/message-events": Watch(func(t *T, w Wire) {
		t.Judge(w.Lines().Filter("message event", isMessageEvent), func(t *T, m Message) {
			t.Expect(m.IsMeant()).To(Hold("a JSON-RPC message", "%s", m.Frame))
			t.Expect(cmp.Or(m.Event.Type, "message")).To(BeOneOf("message"), "the type of the event")
		})
	}),

	"sse/multiple-clients": Probe(func(t *T) {
		a := greeted(t)
		wrong := converse(t, a, connect(t))
		t.Expect(wrong == "").To(Hold("two clients at once, each with the answers to its own requests", "%s", wrong))
	}),

	"sse/origin-validated": Probe(func(t *T) {
		if !t.Site().Loopback() {
			t.Inconclusive("the server is not on this machine: " +
				"whom it serves there, its Origin check alone does not decide")
		}
		c := greeted(t)
		foreign := kit.Header("Origin", "http://mcpcheck-evil.example")
		ping := c.ask("", nil, evilID, foreign)
		stream := c.session.HTTP().Do(driver.HTTPRequest{
			Method: http.MethodGet, URL: kit.SiteURL(t).String(), Header: foreign,
		})
		tried := []attempt{{"GET of the stream", stream.Head()}, {"POST of a message", ping.Head()}}
		stream.Abort()
		Each(t, tried, attempt.subject, func(t *T, a attempt) {
			t.Expect(kit.Own(t, a.Answer)).To(kit.BeNoSuccess())
		})
	}),

	"sse/unknown-session-rejected": Probe(func(t *T) {
		a := greeted(t)
		b := connect(t)
		if b.Endpoint == nil {
			t.Yield("a second client cannot connect")
		}
		unknown, has := otherSession(a.Endpoint, b.Endpoint)
		if !has {
			t.Because(NotOffered).Skip("the endpoint carries no session key")
		}
		x := kit.ByHand(a.session, kit.Request{ID: unknownID, URL: unknown.String()})
		t.Expect(answerOrSilence(t, x.Head())).To(kit.BeNoSuccess())
	}),

	"sse/malformed-post": Probe(func(t *T) {
		c := greeted(t)
		a := kit.Own(t, c.post([]byte(`{"mcpcheck" !!}`), nil).End())
		c.ask("", nil, lastID, nil)
		t.Expect(c.await(lastID)).To(Hold("a ping answered on the stream afterwards",
			"none; the malformed POST was answered by %s", a))
		t.Expect(a).To(That("no failure of the server", func(a driver.Answer) bool { return a.Status < 500 }))
	}),

	"sse/disconnect-cleanup": Probe(func(t *T) {
		c := greeted(t)
		c.Stream.Abort()
		c.Stream.End()
		t.Expect(c.afterwards(t)).To(kit.BeNoSuccess(), "a ping to the endpoint, some time after the stream was closed")
	}),

	"sse/endpoints-kept": Probe(func(t *T) {
		if t.Credentials.OldURL == "" {
			t.Because(NotGiven).Skip("no URL of an HTTP+SSE endpoint was given (--sse-url)")
		}
		x := t.Start().HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: t.Credentials.OldURL})
		_, came := x.AwaitEvent(driver.StreamEvent.IsEndpoint)
		x.Abort()
		t.Inform(came).To(Hold("an endpoint event at "+t.Credentials.OldURL, "%s", x.Answer()))
	}),

	"sse/fallback-status": Probe(func(t *T) {
		s := StartWith(t, driver.Options{ByHand: true})
		x := kit.ByHand(s, kit.Request{
			ID: "fallback", Method: "initialize", Params: driver.Hello(t.Revision), URL: kit.SiteURL(t).String(),
		})
		a := kit.Own(t, x.Head())
		x.Abort()
		want, fits := fallback(t.Revision)
		t.Expect(a).To(That(want, func(a driver.Answer) bool { return fits(a.Status) }))
	}).WhenRefused(),
}

// attempt is a request that ought to be refused, and its answer.
type attempt struct {
	Name   string
	Answer driver.Answer
}

func (a attempt) subject() Subject { return Named(a.Name) }

// oldClient is a client of HTTP+SSE whose requests are made by hand: a server that no session can be had with is judged
// by it, too.
type oldClient struct {
	Stream *driver.Exchange
	Opened driver.Answer      // as it was when its headers had come
	Came   bool               // an event did
	First  driver.StreamEvent // which

	Told      bool     // an endpoint event came
	Data      string   // of it
	Announced *url.URL // that the data names
	Wrong     error    // why it names none
	Endpoint  *url.URL // where messages are sent; nil: nowhere

	session *driver.Session
}

// connect opens an event stream and waits for what it says first.
func connect(t *T) *oldClient {
	c := &oldClient{session: StartWith(t, driver.Options{ByHand: true})}
	c.Stream = kit.Get(c.session, nil)
	if c.Opened = kit.Own(t, c.Stream.Head()); !c.Opened.IsStream {
		return c
	}
	c.First, c.Came = c.Stream.AwaitEvent(func(e driver.StreamEvent) bool { return e.Dispatched() || e.IsEndpoint() })
	if !c.Came {
		return c
	}
	var e driver.StreamEvent
	if e, c.Told = c.Stream.AwaitEvent(driver.StreamEvent.IsEndpoint); c.Told {
		c.Data = e.Data.String()
		c.Announced, c.Wrong = driver.ParseEndpoint(kit.SiteURL(t), e.Data.String())
		c.Endpoint, _ = t.Site().Endpoint(e.Data.String())
	}
	return c
}

// streaming is a client with a stream.
func (c *oldClient) streaming(t *T) *oldClient {
	if !c.Opened.IsStream {
		t.Yield("there is no event stream")
	}
	return c
}

// announced is a client that was told an endpoint.
func (c *oldClient) announced(t *T) *oldClient {
	switch c.streaming(t); {
	case !c.Told:
		t.Yield("there was no endpoint event")
	case c.Wrong != nil:
		t.Yield("the endpoint is not a URI")
	}
	return c
}

// connected is a client that connects, as several checks judge it.
func connected(t *T) *oldClient { return Step(t, "sse stream", connect) }

// oldWelcome is what came of initialize.
type oldWelcome struct {
	Client   *oldClient
	Posted   driver.Answer // to the POST
	Streamed bool          // the response came on the stream
}

// greeting is how a server takes initialize, as several checks judge it.
func greeting(t *T) oldWelcome { return Step(t, "sse initialize", sayHello) }

// sayHello says initialize.
func sayHello(t *T) oldWelcome {
	c := connect(t).announced(t)
	if c.Endpoint == nil {
		t.Because(OtherCheck).Inconclusive("messages go to another origin, where nothing is sent")
	}
	return c.hello(t)
}

// hello says initialize, and waits as long as a server may take to load what it needs.
func (c *oldClient) hello(t *T) oldWelcome {
	patience := c.session.StartPatience()
	x := c.ask("initialize", driver.Hello(t.Revision), helloID, nil)
	g := oldWelcome{Client: c, Posted: x.EndFor(patience)}
	if g.Posted.OK() {
		_, g.Streamed = c.Stream.AwaitEventFor(patience, isResponse)
	}
	return g
}

// The ids of requests by hand: of initialize, and of harmless ones.
const (
	helloID   = 70101
	pingID    = 70102
	lastID    = 70103
	evilID    = 70104
	unknownID = 70105
	lateID    = 70106 // and following
)

// greeted is a client that has shaken hands.
func greeted(t *T) *oldClient {
	g := sayHello(t)
	if !g.Streamed {
		t.Again("initialize was not answered on the stream: %s", g.Posted)
	}
	g.Client.ready()
	return g.Client
}

// ready ends the handshake.
func (c *oldClient) ready() {
	c.post(Compact(M{"jsonrpc": "2.0", "method": "notifications/initialized"}), nil).End()
}

// post posts a message to the endpoint.
func (c *oldClient) post(body []byte, header http.Header) *driver.Exchange {
	return c.session.HTTP().Do(driver.HTTPRequest{URL: c.Endpoint.String(), Header: header, Body: body})
}

// ask posts a request; an empty method is some harmless one.
func (c *oldClient) ask(method string, params M, id int, header http.Header) *driver.Exchange {
	return kit.ByHand(c.session, kit.Request{
		ID: id, Method: method, Params: params, Header: header, URL: c.Endpoint.String(),
	})
}

// await waits for the response to a request.
func (c *oldClient) await(id int) bool {
	isAnswer := c.answering(id)
	_, came := c.Stream.AwaitEvent(func(e driver.StreamEvent) bool { return isAnswer(e.Data.Bytes()) })
	return came
}

// isResponse reports whether an event is a response, which after the first request of a client can only be the one to
// that: whether it has the id, and a result, other checks say.
func isResponse(e driver.StreamEvent) bool {
	m, _ := driver.Decode(e.Data.Bytes()).(M)
	return m != nil && !Has(m, "method")
}

// answering tells whether a text is the response to a request. Whether its id is a number, and the right one, is for
// another check.
func (c *oldClient) answering(id int) (isAnswer func(text []byte) bool) {
	known := Compact(id)
	return func(text []byte) bool {
		m, _ := driver.Decode(text).(M)
		return driver.AlikeID(Compact(m["id"]), known) && (Has(m, "result") || Has(m, "error"))
	}
}

// first says what the stream began with.
func (c *oldClient) first() string {
	if !c.Came {
		return "no event: " + c.Stream.Answer().String()
	}
	return fmt.Sprintf("an event of type %q: %s", cmp.Or(c.First.Type, "message"), c.First.Data.Brief())
}

// converse lets two clients make requests under the same ids, the first one last. It says what went wrong.
func converse(t *T, a, b *oldClient) (wrong string) {
	if b.Endpoint == nil {
		return fmt.Sprintf("a second client could not connect: %s; %s", b.Opened, b.first())
	}
	if g := b.hello(t); !g.Streamed {
		return fmt.Sprintf("no answer to initialize for the second client: %s", g.Posted)
	}
	b.ready()
	steps := []struct {
		client *oldClient
		who    string
		id     int
	}{{a, "first", pingID}, {b, "second", pingID}, {a, "first", lastID}}
	for _, step := range steps {
		posted := step.client.ask("", nil, step.id, nil).End()
		switch {
		case !posted.OK():
			return fmt.Sprintf("a request of the %s client refused: %s", step.who, posted)
		case !step.client.await(step.id):
			method, _ := step.client.session.Harmless()
			return fmt.Sprintf("no answer to %s for the %s client", method, step.who)
		}
	}
	for _, id := range []int{helloID, pingID} {
		n, m := a.answers(id), b.answers(id)
		renamed := id == helloID && n+m == 0 // each has a welcome, under another id
		if !renamed && (n != 1 || m != 1) {
			return fmt.Sprintf("%d answers for the first client and %d for the second, of one each", n, m)
		}
	}
	return ""
}

// answers is how many responses to a request have come.
func (c *oldClient) answers(id int) (n int) {
	isAnswer := c.answering(id)
	for _, e := range c.Stream.Answer().Events {
		if isAnswer(e.Data.Bytes()) {
			n++
		}
	}
	return n
}

// afterwards is the answer to a ping after the stream was closed, once the server has had time to see that.
func (c *oldClient) afterwards(t *T) driver.Answer {
	const patience, pause = time.Second, 50 * time.Millisecond
	begin := time.Now()
	for n := 1; ; n++ {
		a := answerOrSilence(t, c.ask("", nil, lateID+n, nil).End())
		if !a.OK() || time.Since(begin) > patience {
			return a
		}
		time.Sleep(pause)
	}
}

// otherSession is an endpoint like those of two clients, with a session key that the server has not given to anybody.
// The key is what tells the two apart.
func otherSession(a, b *url.URL) (other *url.URL, has bool) {
	unknown := *a
	query := a.Query()
	for name, values := range query {
		for i, value := range values {
			if theirs := b.Query()[name]; i < len(theirs) && theirs[i] != value {
				values[i], has = kit.Unlike(value), true
			}
		}
	}
	unknown.RawQuery = query.Encode()
	mine, theirs := strings.Split(a.Path, "/"), strings.Split(b.Path, "/")
	for i, segment := range mine {
		if len(mine) == len(theirs) && theirs[i] != segment {
			mine[i], has = kit.Unlike(segment), true
		}
	}
	unknown.Path, unknown.RawPath = strings.Join(mine, "/"), ""
	return &unknown, has
}

// isMessageEvent reports whether a client takes an event for a message, or should have: other types are the server's
// own affair unless a message is in them.
func isMessageEvent(m Message) bool {
	if m.Event == nil || m.Event.IsEndpoint() {
		return false
	}
	return slices.Contains([]string{"", "message"}, m.Event.Type) || m.HasMethod || m.HasResult || m.HasError
}

// fallback is the statuses that make a client of a revision try HTTP+SSE.
func fallback(revision string) (want string, fits func(status int) bool) {
	if revision < "2025-11-25" {
		return "a status of 4xx", func(status int) bool { return status >= 400 && status < 500 }
	}
	return "status 400, 404 or 405", func(status int) bool { return slices.Contains([]int{400, 404, 405}, status) }
}

// answerOrSilence is like kit.Own, but takes it for an answer to leave a client waiting.
func answerOrSilence(t *T, a driver.Answer) driver.Answer {
	if !a.Ended && a.Status == 0 {
		return a
	}
	return kit.Own(t, a)
}

// originOf is scheme, host and port.
func originOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
	return strings.ToLower(u.Scheme+"://"+u.Hostname()) + ":" + port
}
