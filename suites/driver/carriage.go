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

// Carriage is what carried a line of a session over HTTP, as far as a record keeps it.
type Carriage struct {
	Method, Path string // of a request
	Status       int    // of an answer; 0: there was none
	Why          string // there was none
	Header       http.Header
	Event        *StreamEvent // type and id of the event that was the line; nil: it was a body
}

// recordedHeaders are those of requests and of answers that a record keeps.
var recordedHeaders = append([]string{"Last-Event-Id"}, telling...)

const eventMark = "event"

// String is the carriage on one line: "POST /mcp", "202 Accepted", "event; id: 7; 200 OK; content-type: …".
func (c Carriage) String() string {
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
	case c.Status != 0:
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", c.Status, http.StatusText(c.Status))))
	case c.Why != "":
		parts = append(parts, c.Why)
	}
	for _, name := range recordedHeaders {
		for _, value := range c.Header.Values(name) {
			parts = append(parts, strings.ToLower(name)+": "+value)
		}
	}
	return strings.Join(parts, "; ")
}

// aRequest is how the carriage of a request begins.
var aRequest = regexp.MustCompile(`^([A-Z]+) (\S*)$`)

// ParseCarriage reads what String has written.
func ParseCarriage(text string) Carriage {
	c := Carriage{Header: http.Header{}}
	last := "" // header, to whose value a semicolon may belong
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
		case c.Event != nil && c.Status == 0 && name == "id":
			c.Event.ID, c.Event.HasID = value, true
		case c.Event != nil && c.Status == 0 && name == "type":
			c.Event.Type = value
		default:
			c.parse(part)
		}
	}
	return c
}

// parse reads a request, a status, or why there is none.
func (c *Carriage) parse(part string) {
	const digits = 3
	status, _, _ := strings.Cut(part, " ")
	number, err := strconv.Atoi(status)
	request := aRequest.FindStringSubmatch(part)
	switch {
	case err == nil && len(status) == digits && c.Status == 0:
		c.Status = number
	case request != nil && c.Method == "":
		c.Method, c.Path = request[1], request[2]
	case c.Why == "":
		c.Why = part
	default:
		c.Why += "; " + part
	}
}

// Carriage is what carried the frame; the zero value over stdio.
func (f *Frame) Carriage() Carriage {
	x := f.HTTP
	switch {
	case x == nil:
		return Carriage{}
	case f.Side == FromClient:
		method, path, _ := strings.Cut(x.RequestLine(), " ")
		path, _, _ = strings.Cut(path, "; ")
		return Carriage{Method: method, Path: path, Header: x.Header}
	}
	a := x.Answer()
	c := Carriage{Status: a.Status, Header: a.Header, Event: f.Event}
	if a.Status == 0 {
		c.Why = a.String()
	}
	return c
}

// replayedRequest is the exchange of a request that a record has.
func (s *Session) replayedRequest(f *Frame, c Carriage) *Exchange {
	return &Exchange{
		Method: c.Method, URL: c.Path, Header: c.Header, Body: f.Raw.Bytes(), At: f.At,
		s: s, message: f, asked: askedBy(f), batch: batchIn(f), reply: f.IsResponse(), apart: f.Apart,
		standing: c.Method == http.MethodGet, left: s.opened.Add(f.At), stop: func() {},
	}
}

// replay takes in a line of the answer, as a record has it.
func (x *Exchange) replay(f *Frame, c Carriage) {
	a := &x.answer
	if a.Status == 0 {
		a.Status, a.Header, a.HeadAt = c.Status, c.Header, f.At
	}
	a.EndAt = f.At
	if c.Event == nil {
		a.Body, a.Ended = f.Raw, true
		if a.Status == 0 {
			a.Err = errors.New(strings.TrimPrefix(c.Why, "no HTTP answer: "))
		}
		x.stream = f.Side == Status && MediaType(a.Header) == "text/event-stream" && a.OK()
		return
	}
	e := *c.Event
	e.Data, e.HasData = f.Raw, true
	f.Event, x.stream = &e, true
	x.replied = x.replied || f.IsResponse() || f.Shape == Array
	a.Events = append(a.Events, e)
}

// replayed is the transport of a session over HTTP that is a record, which says nothing more.
func (s *Session) replayed(transport string) *HTTP {
	h := &HTTP{
		s: s, site: &Site{}, ctx: s.ctx, stop: func(error) {}, turn: closedChannel(), old: transport == "sse",
	}
	s.link = h
	return h
}
