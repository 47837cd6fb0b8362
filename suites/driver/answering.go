package driver

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// A response names its request by the id. Some servers change ids on the way, most often 7 into "7", and then it is
// clear all the same what is answered: over stdio if the texts are the same, over HTTP whatever comes with the exchange
// of the request, and everywhere what can only be meant for the greeting. That an id was changed is for a check to say;
// the others go on. A response under any other id answers nothing.

// asks are the ids under which the sessions of one server have asked, and which of them did: nil stands for several.
type asks struct {
	mu sync.Mutex
	by map[string]*Session
}

func (a *asks) add(s *Session, id json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]*Session{}
	}
	key := textKey(id)
	if first, known := a.by[key]; known && first != s {
		s = nil
	}
	a.by[key] = s
}

func (a *asks) beside(s *Session, id json.RawMessage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	by, known := a.by[textKey(id)]
	return known && by != s
}

// AskedBeside reports whether another session of the same server has asked under an id. A response with it may be meant
// for that session.
func (s *Session) AskedBeside(id json.RawMessage) bool {
	h := s.HTTP()
	return h != nil && h.site.asks.beside(s, id)
}

// question is a request of a session.
type question struct {
	id       json.RawMessage
	answered bool
}

// ask notes that the session asks under an id, which null is not.
func (s *Session) ask(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == nil || string(id) == "null" || s.questionOf(id) != nil {
		return
	}
	s.asked[textKey(id)] = append(s.asked[textKey(id)], &question{id: id})
	if h := s.HTTP(); h != nil {
		h.site.asks.add(s, id)
	}
}

// isAnswered reports whether what the session has asked under an id has been answered.
func (s *Session) isAnswered(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.questionOf(id)
	return q != nil && q.answered
}

// greets notes that the session greets the server under an id.
func (s *Session) greets(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeting, s.unsettled = id, false
	for _, f := range slices.Backward(s.frames) {
		switch {
		case f.Side == FromClient && f.Raw.Len() > 0:
			s.unsettled = true
			return
		case f.Side == FromServer && f.IsResponse():
			return
		}
	}
}

// attribute finds the requests that are answered by responses with other ids than theirs, and the responses that are
// for other sessions.
func (s *Session) attribute(f *Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { f.Aside = s.isAside(f) }() // once it is known what it answers
	for _, m := range f.Members() {
		if !m.IsResponse() {
			continue
		}
		id := s.meant(f, m)
		switch {
		case id == nil:
			n, _ := Integer(json.Number(m.ID))
			m.Strayed = n > idRoom && s.AskedBeside(m.ID)
			s.crossed = s.crossed || m.Strayed
		case !SameID(id, m.ID):
			f.rename(m.ID, id)
		}
		if q := s.questionOf(id); q != nil {
			q.answered = true
		}
		if SameID(id, s.greeting) {
			s.greeting = nil
		}
	}
}

// meant is the id of the request that is answered by a response in a frame; nil when that cannot be told. What has
// neither a result nor an error may be something that the server logs. The caller holds mu.
func (s *Session) meant(f, response *Frame) json.RawMessage {
	x, alike := f.HTTP, s.asked[textKey(response.ID)]
	alone := x != nil && x.asked != nil && !x.elsewhere && f.Shape == Object
	switch {
	case alone && !x.stream:
		return x.asked
	case s.welcomes(response):
		return s.greeting
	case s.questionOf(response.ID) != nil:
		return response.ID
	case len(alike) > 0 && (response.HasResult || response.HasError):
		return alike[0].id
	}
	return nil
}

// welcomes reports whether a response can only be meant for the greeting, which waits for its answer, although it is
// under an id that no request waits under: it is a result that shows by its members that it is a welcome; or it is an
// error, and all that was said before is settled. Anything else may be what a server says that does not wait for its
// client; and where an object has a member twice, nobody can tell which counts. The caller holds mu.
func (s *Session) welcomes(response *Frame) bool {
	if s.greeting == nil || s.AskedBeside(response.ID) || repeated(response.Raw.Bytes()) != "" ||
		slices.ContainsFunc(s.asked[textKey(response.ID)], func(q *question) bool { return !q.answered }) {
		return false
	}
	result, _ := response.JSON()["result"].(M)
	_, shaped := response.JSON()["error"].(M)
	refused := response.HasError && (shaped || response.JSON()["jsonrpc"] != nil) // else it may be a line of a log
	return refused && !s.unsettled || slices.ContainsFunc(welcomeMembers, func(name string) bool {
		_, has := result[name]
		return has
	})
}

// welcomeMembers are those by which the result of initialize is known.
var welcomeMembers = []string{"protocolVersion", "capabilities", "serverInfo"}

// questionOf is the request of the session that has an id; nil when there is none. The caller holds mu.
func (s *Session) questionOf(id json.RawMessage) *question {
	alike := s.asked[textKey(id)]
	if i := slices.IndexFunc(alike, func(q *question) bool { return SameID(q.id, id) }); i >= 0 {
		return alike[i]
	}
	return nil
}

// rename notes that the response with an id answers the request of another.
func (f *Frame) rename(id, request json.RawMessage) {
	if f.renamed == nil {
		f.renamed = map[string]json.RawMessage{}
	}
	f.renamed[IDKey(id)] = request
}

// Answers is the id of the request that a response answers: its own unless that was changed on the way.
func (f *Frame) Answers() json.RawMessage {
	if len(f.renamed) == 0 { // as nearly always
		return f.ID
	}
	if id := f.renamed[IDKey(f.ID)]; id != nil {
		return id
	}
	return f.ID
}

// AlikeID reports whether two ids are the same value, or would be if both were strings: 7 and "7".
func AlikeID(a, b json.RawMessage) bool { return a != nil && b != nil && textKey(a) == textKey(b) }

// textKey is a text that two ids share if and only if they are alike.
func textKey(id json.RawMessage) string {
	key := IDKey(id)
	if text, err := strconv.Unquote(key); err == nil {
		if n, ok := parseNumber(text); ok {
			return n.key()
		}
	}
	return key
}
