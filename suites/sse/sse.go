package sse

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Checks are the checks of the area.
var Checks = check.Suite{
	"sse/stream-endpoint": check.Probe(func(t *check.T) {
		t.Expect(sharedClient(t).StreamResponse).To(check.Satisfy("200 and text/event-stream",
			func(a driver.HTTPResponse) bool {
				return a.StatusCode == http.StatusOK && a.MediaType() == "text/event-stream"
			}))
	}).WhenConnectRefused(),

	"sse/endpoint-event-first": check.Probe(func(t *check.T) {
		c := sharedClient(t).requireStream(t)
		t.Expect(c.HasEndpoint).To(check.BeTrue("an endpoint event", "%s", c.describeFirstEvent()))
	}).WhenConnectRefused(),

	"sse/endpoint-event-uri": check.Probe(func(t *check.T) {
		c := sharedClient(t).requireStream(t)
		if !c.HasEndpoint {
			t.Yield("there was no endpoint event")
		}
		t.Expect(c.EndpointErr == nil).To(check.BeTrue("a URI in the endpoint event", "%q: %v", c.EndpointData,
			c.EndpointErr))
	}).WhenConnectRefused(),

	"sse/endpoint-same-origin": check.Probe(func(t *check.T) {
		c := sharedClient(t).requireEndpoint(t)
		t.Expect(originOf(c.AnnouncedURL)).To(check.BeOneOf(originOf(roundtrip.ServerURL(t))))
	}).WhenConnectRefused(),

	"sse/post-accepted": check.Probe(func(t *check.T) {
		t.Expect(sharedInitialize(t).PostResponse).To(check.Satisfy("a status of success for initialize",
			driver.HTTPResponse.OK))
	}).WhenConnectRefused(),

	"sse/responses-on-stream": check.Probe(func(t *check.T) {
		g := sharedInitialize(t)
		if !g.PostResponse.OK() {
			t.Yield("the message was not accepted")
		}
		t.Expect(g.HasResponse).To(check.BeTrue("the response to initialize on the event stream",
			"none; the POST was answered by %s", g.PostResponse))
		t.ExpectShould(!g.Client.responseMatcher(initializeID)(g.PostResponse.Body.Bytes())).
			To(check.BeTrue("the response on the event stream alone",
				"it in the body of the POST as well: %s", g.PostResponse))
		if t.Server.ConnectResult == nil {
			return
		}
		check.Each(t, responsesOfMethods(t), postedRequest.subject, func(t *check.T, r postedRequest) {
			if r.isInBody {
				t.Expect(r.isOnStream).To(check.BeTrue("the response on the event stream",
					"it in the body of the POST: %s", r.PostResponse))
				t.ExpectShould(!r.isOnStream).To(check.BeTrue("the response on the event stream alone",
					"it in the body of the POST as well: %s", r.PostResponse))
			}
		})
	}).WhenConnectRefused(),

	"sse/message-events": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.Lines().Filter("message event", isMessageEvent), func(t *check.T, m check.Message) {
			t.Expect(m.LooksLikeMessage()).To(check.BeTrue("a JSON-RPC message", "%s", m.Frame))
			t.Expect(cmp.Or(m.Event.Type, "message")).To(check.BeOneOf("message"), "the type of the event")
		})
	}),

	"sse/multiple-clients": check.Probe(func(t *check.T) {
		call, lasts := toolcall.LastingCall(t, func(toolcall.ToolCall) bool { return true })
		a, b := initializedClient(t), openStream(t)
		wrong := runTwoClients(t, a, b)
		if wrong == "" && lasts {
			wrong = cancelOfOtherClient(a, b, call)
		}
		if wrong != "" && (a.isAnsweredInPost() || b.isAnsweredInPost()) {
			t.Yield("responses came in the bodies of POSTs")
		}
		t.Expect(wrong == "").To(check.BeTrue("two clients at once, each with the answers to its own requests", "%s",
			wrong))
	}),

	"sse/origin-validated": check.Probe(func(t *check.T) {
		if !isLoopbackURL(streamURL(t)) {
			t.NoVerdict(check.Undecided, "the server is not on this machine: "+
				"whom it serves there, its Origin check alone does not decide")
		}
		check.Each(t, requestsWithForeignOrigin(t), refusedRequest.subject, func(t *check.T, a refusedRequest) {
			t.Expect(roundtrip.RequireHTTPResponse(t, a.Response)).To(roundtrip.BeHTTPError())
		})
	}),

	"sse/unknown-session-rejected": check.Probe(func(t *check.T) {
		a := initializedClient(t)
		b := openStream(t)
		if b.Endpoint == nil {
			t.Yield("a second client cannot connect")
		}
		unknown, has := otherSessionURL(a.Endpoint, b.Endpoint)
		if !has {
			t.Skip(check.NotOffered, "the endpoint carries no session key")
		}
		x := roundtrip.PostRequest(a.session, roundtrip.ManualRequest{ID: unknownID, URL: unknown.String()})
		t.Expect(responseOrTimeout(t, x.AwaitHeaders())).To(roundtrip.BeHTTPError())
	}),

	"sse/malformed-post": check.Probe(func(t *check.T) {
		c := initializedClient(t)
		a := roundtrip.RequireHTTPResponse(t, c.post([]byte(`{"mcpcheck" !!}`), nil).AwaitEnd())
		posted := c.sendRequest("", nil, lastID, nil)
		isAnswered := c.awaitResponse(lastID)
		if !isAnswered && c.responseMatcher(lastID)(posted.AwaitEnd().Body.Bytes()) {
			t.Yield("the ping was answered in the body of the POST")
		}
		t.Expect(isAnswered).To(check.BeTrue("a ping answered on the stream afterwards",
			"none; the malformed POST was answered by %s", a))
		t.Expect(a).To(check.Satisfy("no failure of the server",
			func(a driver.HTTPResponse) bool { return a.StatusCode < 500 }))
	}),

	"sse/disconnect-cleanup": check.Probe(func(t *check.T) {
		c := initializedClient(t)
		c.Stream.Abort()
		c.Stream.AwaitEnd()
		t.Expect(c.responseAfterClose(t)).To(roundtrip.BeHTTPError(),
			"a ping to the endpoint, some time after the stream was closed")
	}),

	"sse/endpoints-kept": check.Probe(func(t *check.T) {
		x := t.Session(check.Process).HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: streamURL(t)})
		_, came := x.AwaitEvent(driver.StreamEvent.IsEndpoint)
		x.Abort()
		t.ExpectAdvice(came).To(check.BeTrue("an endpoint event at "+t.Credentials.SSEURL, "%s", x.Response()))
	}),

	"sse/fallback-status": check.Probe(func(t *check.T) {
		s := t.Session(check.ProcessWith(driver.Options{Manual: true}))
		x := roundtrip.PostRequest(s, roundtrip.ManualRequest{
			ID: "fallback", Method: "initialize", Params: driver.ConnectParams(t.Revision),
			URL: roundtrip.ServerURL(t).String(),
		})
		a := roundtrip.RequireHTTPResponse(t, x.AwaitHeaders())
		x.Abort()
		want, fits := fallbackStatuses(t.Revision)
		t.Expect(a).To(check.Satisfy(want, func(a driver.HTTPResponse) bool { return fits(a.StatusCode) }))
	}).WhenConnectRefused(),
}

// streamURL is the URL of the event stream: that of the server or, over Streamable HTTP, the one that the operator
// gives.
func streamURL(t *check.T) string {
	if t.Server.Transport != "http" {
		return t.Site().URL()
	}
	if t.Credentials.SSEURL == "" {
		t.Skip(check.NotGiven, "no URL of an HTTP+SSE endpoint was given (--sse-url)")
	}
	return t.Credentials.SSEURL
}

// isLoopbackURL reports whether the host of a URL is this machine.
func isLoopbackURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && driver.IsLoopback(u.Hostname())
}

// requestsWithForeignOrigin are requests to both endpoints with each foreign origin, and requests of each method that
// the server serves with the first of them.
func requestsWithForeignOrigin(t *check.T) (tried []refusedRequest) {
	methods := requests.Affordable(t, requests.Valid(t), 1)
	c := initializedClient(t)
	if t.Server.Transport == "http" {
		header := http.Header{"Origin": {roundtrip.ForeignOrigin}, roundtrip.SessionIDHeader: nil}
		if roundtrip.PostConnect(t, c.session, header).AwaitReply().Result() != nil {
			t.Yield("a foreign Origin is served at the MCP endpoint as well")
		}
	}
	id := foreignOriginID
	post := func(method string, params check.M, origin string) {
		x := c.sendRequest(method, params, id, roundtrip.Header("Origin", origin))
		tried = append(tried, refusedRequest{"POST of " + cmp.Or(method, "a message") + " from " + origin,
			x.AwaitHeaders()})
		id++
	}
	for _, origin := range append([]string{roundtrip.ForeignOrigin}, roundtrip.LookalikeOrigins...) {
		stream := c.session.HTTP().Do(driver.HTTPRequest{
			Method: http.MethodGet, URL: streamURL(t), Header: roundtrip.Header("Origin", origin),
		})
		tried = append(tried, refusedRequest{"GET of the stream from " + origin, stream.AwaitHeaders()})
		stream.Abort()
		post("", nil, origin)
	}
	for _, request := range methods {
		post(request.Method, request.Params, roundtrip.ForeignOrigin)
	}
	return tried
}

// refusedRequest is a request that has to be refused, with its response.
type refusedRequest struct {
	Name     string
	Response driver.HTTPResponse
}

func (a refusedRequest) subject() check.Subject { return check.NamedSubject(a.Name) }

// sseClient is a client of HTTP+SSE whose requests are made by hand, so that it also works where no session can be
// opened.
type sseClient struct {
	Stream *driver.RoundTrip
	// StreamResponse is the response when its headers had come.
	StreamResponse driver.HTTPResponse
	// HasEvent reports whether an event came, and FirstEvent is the first one.
	HasEvent   bool
	FirstEvent driver.StreamEvent

	// HasEndpoint reports whether an endpoint event came.
	HasEndpoint bool
	// EndpointData is its data.
	EndpointData string
	// AnnouncedURL is the URL in the data; nil when EndpointErr says why it is invalid.
	AnnouncedURL *url.URL
	EndpointErr  error
	// Endpoint is where messages are sent; nil when there is no endpoint, or it is of another origin.
	Endpoint *url.URL

	session *driver.Session
}

// openStream opens an event stream and waits for its first event.
func openStream(t *check.T) *sseClient {
	c := &sseClient{session: t.Session(check.ProcessWith(driver.Options{Manual: true}))}
	c.Stream = c.session.HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: streamURL(t)})
	if c.StreamResponse = roundtrip.RequireHTTPResponse(t, c.Stream.AwaitHeaders()); !c.StreamResponse.IsStream {
		return c
	}
	c.FirstEvent, c.HasEvent = c.Stream.AwaitEvent(func(e driver.StreamEvent) bool {
		return e.IsDispatched() ||
			e.IsEndpoint()
	})
	if !c.HasEvent {
		return c
	}
	var e driver.StreamEvent
	if e, c.HasEndpoint = c.Stream.AwaitEvent(driver.StreamEvent.IsEndpoint); c.HasEndpoint {
		c.EndpointData = e.Data.String()
		base, _ := url.Parse(streamURL(t))
		if c.AnnouncedURL, c.EndpointErr = driver.ParseEndpoint(base, e.Data.String()); c.EndpointErr == nil {
			c.Endpoint, _ = t.Site().EndpointURL(c.AnnouncedURL.String())
		}
	}
	return c
}

// requireStream returns the client. It ends a check when the client has no stream.
func (c *sseClient) requireStream(t *check.T) *sseClient {
	if !c.StreamResponse.IsStream {
		t.Yield("there is no event stream")
	}
	return c
}

// requireEndpoint returns the client. It ends a check when the client was sent no valid endpoint.
func (c *sseClient) requireEndpoint(t *check.T) *sseClient {
	switch c.requireStream(t); {
	case !c.HasEndpoint:
		t.Yield("there was no endpoint event")
	case c.EndpointErr != nil:
		t.Yield("the endpoint is not a URI")
	}
	return c
}

// sharedClient is a client with a stream that several checks read.
func sharedClient(t *check.T) *sseClient { return check.Step(t, "sse stream", openStream) }

// initializeResult is the outcome of initialize.
type initializeResult struct {
	Client *sseClient
	// PostResponse is the response to the POST.
	PostResponse driver.HTTPResponse
	// HasResponse reports whether the response came on the stream.
	HasResponse bool
}

// sharedInitialize is the outcome of initialize that several checks read.
func sharedInitialize(t *check.T) initializeResult {
	return check.Step(t, "sse initialize", initialize)
}

// initialize opens a stream and sends initialize.
func initialize(t *check.T) initializeResult {
	c := openStream(t).requireEndpoint(t)
	if c.Endpoint == nil {
		t.NoVerdict(check.OtherCheck, "messages go to another origin, where nothing is sent")
	}
	return c.initialize(t)
}

// initialize sends initialize, and waits as long as a server may take to start.
func (c *sseClient) initialize(t *check.T) initializeResult {
	patience := c.session.StartTimeout()
	x := c.sendRequest("initialize", driver.ConnectParams(t.Revision), initializeID, nil)
	g := initializeResult{Client: c, PostResponse: x.AwaitEndFor(patience)}
	if g.PostResponse.OK() {
		_, g.HasResponse = c.Stream.AwaitEventFor(patience, isResponse)
	}
	return g
}

// isAnsweredInPost reports whether the body of a POST of the client brought a response.
func (c *sseClient) isAnsweredInPost() bool {
	return slices.ContainsFunc(c.session.HTTP().RoundTrips(), func(x *driver.RoundTrip) bool {
		return x.Method == http.MethodPost && driver.Members(x.Response().Body.Bytes())["id"] != nil
	})
}

// IDs of manual requests: of initialize, and of no-ops.
const (
	initializeID    = 70101
	pingID          = 70102
	lastID          = 70103
	unknownID       = 70105
	lateID          = 70106 // and those that follow it
	callID          = 70191
	lonelyCallID    = 70192
	methodID        = 70201 // and those that follow it
	foreignOriginID = 70301 // and those that follow it
)

// postedRequest is a request of a method, with where its response came.
type postedRequest struct {
	name string
	// PostResponse is the response to the POST.
	PostResponse driver.HTTPResponse
	// isInBody reports whether the JSON-RPC response was in its body, and isOnStream whether it was on the stream.
	isInBody, isOnStream bool
	frames               []*driver.Frame
}

func (r postedRequest) subject() check.Subject { return check.Subject{Name: r.name, Frames: r.frames} }

// responsesOfMethods are the responses to a request of each method: as the server serves it, and with a name that does
// not exist.
func responsesOfMethods(t *check.T) []postedRequest {
	all := requests.Affordable(t, append(requests.Refused(t), requests.Valid(t)...), 1)
	return check.Step(t, "sse responses of each method", func(t *check.T) (posted []postedRequest) {
		c := initializedClient(t)
		c.sendRequest("", nil, pingID, nil).AwaitEnd()
		c.awaitResponse(pingID) // by then the session is in the record as negotiated
		for i, request := range all {
			id := methodID + i
			x := c.sendRequest(request.Method, request.Params, id, nil)
			r := postedRequest{name: request.Subject().Name, PostResponse: x.AwaitEnd()}
			isResponse := c.responseMatcher(id)
			if r.isInBody = isResponse(r.PostResponse.Body.Bytes()); r.isInBody {
				_, r.isOnStream = c.Stream.AwaitEventFor(timing.ShortWait,
					func(e driver.StreamEvent) bool { return isResponse(e.Data.Bytes()) })
			}
			r.frames = roundtrip.NewNamedRoundTrip(c.session, r.name, x).Subject.Frames
			posted = append(posted, r)
		}
		return posted
	})
}

// initializedClient is a client after the handshake.
func initializedClient(t *check.T) *sseClient {
	g := initialize(t)
	if !g.HasResponse {
		t.Retry(check.Undecided, "initialize was not answered on the stream: %s", g.PostResponse)
	}
	g.Client.sendInitialized()
	return g.Client
}

// sendInitialized ends the handshake.
func (c *sseClient) sendInitialized() {
	c.post(text.CompactJSON(check.M{"jsonrpc": "2.0", "method": "notifications/initialized"}), nil).AwaitEnd()
}

// post posts a message to the endpoint.
func (c *sseClient) post(body []byte, header http.Header) *driver.RoundTrip {
	return c.session.HTTP().Do(driver.HTTPRequest{URL: c.Endpoint.String(), Header: header, Body: body})
}

// sendRequest posts a request; an empty method is the no-op.
func (c *sseClient) sendRequest(method string, params check.M, id int, header http.Header) *driver.RoundTrip {
	return roundtrip.PostRequest(c.session, roundtrip.ManualRequest{
		ID: id, Method: method, Params: params, Header: header, URL: c.Endpoint.String(),
	})
}

// awaitResponse reports whether the response to a request comes on the stream.
func (c *sseClient) awaitResponse(id int) bool {
	isAnswer := c.responseMatcher(id)
	_, came := c.Stream.AwaitEvent(func(e driver.StreamEvent) bool { return isAnswer(e.Data.Bytes()) })
	return came
}

// isResponse reports whether an event is a response. The first one of a client can only be that to its first request;
// other checks judge its id and result.
func isResponse(e driver.StreamEvent) bool {
	m, _ := driver.Decode(e.Data.Bytes()).(check.M)
	return m != nil && !check.HasMember(m, "method")
}

// responseMatcher returns a function that reports whether a text is the response to a request. Another check judges
// whether its id is a number and the right one.
func (c *sseClient) responseMatcher(id int) (isAnswer func(content []byte) bool) {
	known := text.CompactJSON(id)
	return func(content []byte) bool {
		m, _ := driver.Decode(content).(check.M)
		return driver.SameIDText(text.CompactJSON(m["id"]), known) && (check.HasMember(m, "result") ||
			check.HasMember(m, "error"))
	}
}

// describeFirstEvent describes what the stream began with.
func (c *sseClient) describeFirstEvent() string {
	if !c.HasEvent {
		return "no event: " + c.Stream.Response().String()
	}
	return fmt.Sprintf("an event of type %q: %s", cmp.Or(c.FirstEvent.Type, "message"), c.FirstEvent.Data.Brief())
}

// responseAfterClose is the response to a no-op after the stream was closed, once the server had time to notice that.
func (c *sseClient) responseAfterClose(t *check.T) driver.HTTPResponse {
	begin := time.Now()
	for n := 1; ; n++ {
		a := responseOrTimeout(t, c.sendRequest("", nil, lateID+n, nil).AwaitEnd())
		if !a.OK() || time.Since(begin) > timing.ClosedStream {
			return a
		}
		time.Sleep(timing.ClosedStreamRetry)
	}
}

// otherSessionURL is an endpoint like those of two clients, with a session key that the server has issued to nobody.
// The key is what differs between the two.
func otherSessionURL(a, b *url.URL) (other *url.URL, has bool) {
	unknown := *a
	query := a.Query()
	for name, values := range query {
		for i, value := range values {
			if theirs := b.Query()[name]; i < len(theirs) && theirs[i] != value {
				values[i], has = roundtrip.MutatedID(value), true
			}
		}
	}
	unknown.RawQuery = query.Encode()
	mine, theirs := strings.Split(a.Path, "/"), strings.Split(b.Path, "/")
	for i, segment := range mine {
		if len(mine) == len(theirs) && theirs[i] != segment {
			mine[i], has = roundtrip.MutatedID(segment), true
		}
	}
	unknown.Path, unknown.RawPath = strings.Join(mine, "/"), ""
	return &unknown, has
}

// isMessageEvent reports whether clients take an event for a message, or should. Servers may use other types as they
// like unless a message is in them.
func isMessageEvent(m check.Message) bool {
	if m.Event == nil || m.Event.IsEndpoint() {
		return false
	}
	return slices.Contains([]string{"", "message"}, m.Event.Type) || m.HasMethod || m.HasResult || m.HasError
}

// fallbackStatuses are the statuses that make a client of a revision fall back to HTTP+SSE.
func fallbackStatuses(revision string) (want string, fits func(status int) bool) {
	if revision < "2025-11-25" {
		return "a status of 4xx", func(status int) bool { return status >= 400 && status < 500 }
	}
	return "status 400, 404 or 405", func(status int) bool { return slices.Contains([]int{400, 404, 405}, status) }
}

// responseOrTimeout is roundtrip.RequireHTTPResponse for a check that also accepts no response in time.
func responseOrTimeout(t *check.T, a driver.HTTPResponse) driver.HTTPResponse {
	if !a.Ended && a.StatusCode == 0 {
		return a
	}
	return roundtrip.RequireHTTPResponse(t, a)
}

// originOf is the scheme, host and port of a URL.
func originOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
	return strings.ToLower(u.Scheme+"://"+u.Hostname()) + ":" + port
}
