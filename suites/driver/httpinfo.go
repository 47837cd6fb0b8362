package driver

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// HTTPInfo describes the HTTP request or response that carried a frame, as far as a trace keeps it.
type HTTPInfo struct {
	// Method and Path belong to a request.
	Method, Path string
	// StatusCode belongs to a response; 0 means that there was none.
	StatusCode int
	// Reason is why there was no response.
	Reason string
	Header http.Header
	// Event has type and id of the event that carried the frame; nil if a body did.
	Event *StreamEvent
}

// recordedHeaders are the headers of requests and responses that a trace keeps.
var recordedHeaders = []string{
	"Last-Event-Id", "Content-Type", sessionHeader, "Allow", "Location", "Www-Authenticate",
	"Access-Control-Allow-Origin",
}

const eventMark = "event"

// String returns the information on one line: "POST /mcp", "202 Accepted", "event; id: 7; 200 OK; content-type: …".
func (c HTTPInfo) String() string {
	var parts []string
	if e := c.Event; e != nil {
		parts = append(parts, eventMark)
		if e.HasID {
			parts = append(parts, "id: "+e.ID)
		}
		if e.Type != "" {
			parts = append(parts, "type: "+e.Type)
		}
	}
	switch {
	case c.Method != "":
		parts = append(parts, c.Method+" "+c.Path)
	case c.StatusCode != 0:
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", c.StatusCode, http.StatusText(c.StatusCode))))
	case c.Reason != "":
		parts = append(parts, c.Reason)
	}
	for _, name := range recordedHeaders {
		for _, value := range c.Header.Values(name) {
			parts = append(parts, strings.ToLower(name)+": "+value)
		}
	}
	return strings.Join(parts, "; ")
}

var requestLinePattern = regexp.MustCompile(`^([A-Z]+) (\S*)$`)

// ParseHTTPInfo parses the result of String.
func ParseHTTPInfo(text string) HTTPInfo {
	c := HTTPInfo{Header: http.Header{}}
	last := "" // the previous header, whose value may contain a semicolon
	for i, part := range strings.Split(text, "; ") {
		name, value, _ := strings.Cut(part, ": ")
		at := slices.IndexFunc(recordedHeaders, func(header string) bool { return strings.EqualFold(header, name) })
		switch {
		case at >= 0:
			last = recordedHeaders[at]
			c.Header.Add(last, value)
		case last != "":
			values := c.Header[last]
			values[len(values)-1] += "; " + part
		case i == 0 && part == eventMark:
			c.Event = &StreamEvent{}
		case c.Event != nil && c.StatusCode == 0 && name == "id":
			c.Event.ID, c.Event.HasID = value, true
		case c.Event != nil && c.StatusCode == 0 && name == "type":
			c.Event.Type = value
		default:
			c.parse(part)
		}
	}
	return c
}

func (c *HTTPInfo) parse(part string) {
	const digits = 3
	status, _, _ := strings.Cut(part, " ")
	number, err := strconv.Atoi(status)
	request := requestLinePattern.FindStringSubmatch(part)
	switch {
	case err == nil && len(status) == digits && c.StatusCode == 0:
		c.StatusCode = number
	case request != nil && c.Method == "":
		c.Method, c.Path = request[1], request[2]
	case c.Reason == "":
		c.Reason = part
	default:
		c.Reason += "; " + part
	}
}

// HTTPInfo returns what carried the frame, or the zero value over stdio.
func (f *Frame) HTTPInfo() HTTPInfo {
	x := f.RoundTrip
	switch {
	case x == nil:
		return HTTPInfo{}
	case f.Side == FromClient:
		method, path, _ := strings.Cut(x.RequestLine(), " ")
		path, _, _ = strings.Cut(path, "; ")
		return HTTPInfo{Method: method, Path: path, Header: x.Header}
	}
	a := x.Response()
	c := HTTPInfo{StatusCode: a.StatusCode, Header: a.Header, Event: f.Event}
	if a.StatusCode == 0 {
		c.Reason = a.String()
	}
	return c
}

func (s *Session) replayedRoundTrip(f *Frame, c HTTPInfo) *RoundTrip {
	return &RoundTrip{
		Method: c.Method, URL: c.Path, Header: c.Header, Body: f.Raw.Bytes(), At: f.At,
		s: s, requestFrame: f, requestID: requestIDIn(f), batchIDs: batchIDsIn(f), isResponse: f.IsResponse(),
		manual:      f.Manual,
		isListening: c.Method == http.MethodGet, sentTime: s.opened.Add(f.At), stop: func() {},
	}
}

// replay adds a line of a trace to the response.
func (x *RoundTrip) replay(f *Frame, c HTTPInfo) {
	a := &x.response
	if a.StatusCode == 0 {
		a.StatusCode, a.Header, a.HeadersAt = c.StatusCode, c.Header, f.At
	}
	a.EndedAt = f.At
	if c.Event == nil {
		a.Body, a.Ended = f.Raw, true
		if a.StatusCode == 0 {
			a.Err = errors.New(strings.TrimPrefix(c.Reason, "no HTTP answer: "))
		}
		x.stream = f.Side == StatusOnly && MediaType(a.Header) == "text/event-stream" && a.OK()
		return
	}
	e := *c.Event
	e.Data, e.HasData = f.Raw, true
	f.Event, x.stream = &e, true
	x.hasResponse = x.hasResponse || f.IsResponse() || f.Kind == Array
	a.Events = append(a.Events, e)
}

// replayedHTTP returns the transport of a recorded session over HTTP, which sends nothing.
func (s *Session) replayedHTTP(isSSE bool) *HTTP {
	h := &HTTP{
		s: s, site: &Site{}, ctx: s.ctx, stop: func(error) {}, turn: closedChannel(), isSSE: isSSE,
	}
	s.transport = h
	return h
}
