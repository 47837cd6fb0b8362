package driver

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// A response names its request by the id. Some servers change ids on the way, most often 7 into "7", and then it is
// clear all the same what is answered: over stdio if the texts are the same, over RoundTrip whatever comes with the
// exchange of the request, and everywhere what can only be meant for the greeting. That an id was changed is for a
// check to say; the others go on. A response under any other id answers nothing.

// usedIDs are the ids under which the sessions of one server have asked, and which of them did: nil stands for several.
type usedIDs struct {
	mu          sync.Mutex
	sessionByID map[string]*Session
}

func (a *usedIDs) add(s *Session, id json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessionByID == nil {
		a.sessionByID = map[string]*Session{}
	}
	key := idTextKey(id)
	if first, known := a.sessionByID[key]; known && first != s {
		s = nil
	}
	a.sessionByID[key] = s
}

func (a *usedIDs) usedByOther(s *Session, id json.RawMessage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	by, known := a.sessionByID[idTextKey(id)]
	return known && by != s
}

// OtherSessionUsedID reports whether another session of the same server has asked under an id. A response with it may
// be meant for that session.
func (s *Session) OtherSessionUsedID(id json.RawMessage) bool {
	h := s.HTTP()
	return h != nil && h.site.usedIDs.usedByOther(s, id)
}

// sentRequest is a request of a session.
type sentRequest struct {
	id       json.RawMessage
	answered bool
}

// ask notes that the session asks under an id, which null is not.
func (s *Session) noteRequest(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == nil || string(id) == "null" || s.sentRequestFor(id) != nil {
		return
	}
	s.sentRequests[idTextKey(id)] = append(s.sentRequests[idTextKey(id)], &sentRequest{id: id})
	if h := s.HTTP(); h != nil {
		h.site.usedIDs.add(s, id)
	}
}

// isAnswered reports whether what the session has asked under an id has been answered.
func (s *Session) isAnswered(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.sentRequestFor(id)
	return q != nil && q.answered
}

// noteConnect notes that the session greets the server under an id.
func (s *Session) noteConnect(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connectID, s.hasEarlierUnanswered = id, false
	for _, f := range slices.Backward(s.frames) {
		switch {
		case f.Side == FromClient && f.Raw.Len() > 0:
			s.hasEarlierUnanswered = true
			return
		case f.Side == FromServer && f.IsResponse():
			return
		}
	}
}

// correlate finds the requests that are answered by responses with other ids than theirs, and the responses that are
// for other sessions.
func (s *Session) correlate(f *Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { f.Internal = s.isInternal(f) }() // once it is known what it answers
	for _, m := range f.Messages() {
		if !m.IsResponse() {
			continue
		}
		id := s.guessedRequest(f, m)
		switch {
		case id == nil:
			n, _ := Integer(json.Number(m.ID))
			m.ForOtherSession = n > idsPerSession && s.OtherSessionUsedID(m.ID)
			s.crossTalk = s.crossTalk || m.ForOtherSession
		case !SameID(id, m.ID):
			f.setRequestID(m.ID, id)
		}
		if q := s.sentRequestFor(id); q != nil {
			q.answered = true
		}
		if SameID(id, s.connectID) {
			s.connectID = nil
		}
	}
}

// guessedRequest is the id of the request that is answered by a response in a frame; nil when that cannot be told. What
// has neither a result nor an error may be something that the server logs. The caller holds mu.
func (s *Session) guessedRequest(f, response *Frame) json.RawMessage {
	x, alike := f.RoundTrip, s.sentRequests[idTextKey(response.ID)]
	alone := x != nil && x.requestID != nil && !x.isAnsweredOnStream && f.Kind == Object
	switch {
	case alone && !x.stream:
		return x.requestID
	case s.matchesInitialize(response):
		return s.connectID
	case s.sentRequestFor(response.ID) != nil:
		return response.ID
	case len(alike) > 0 && (response.HasResult || response.HasError):
		return alike[0].id
	}
	return nil
}

// matchesInitialize reports whether a response can only be meant for the greeting, which waits for its answer, although
// it is under an id that no request waits under: it is a result that shows by its members that it is a welcome; or it
// is an error, and all that was said before is settled. Anything else may be what a server says that does not wait for
// its client; and where an object has a member twice, nobody can tell which counts. The caller holds mu.
func (s *Session) matchesInitialize(response *Frame) bool {
	if s.connectID == nil || s.OtherSessionUsedID(response.ID) || repeatedMember(response.Raw.Bytes()) != "" ||
		slices.ContainsFunc(s.sentRequests[idTextKey(response.ID)], func(q *sentRequest) bool { return !q.answered }) {
		return false
	}
	result, _ := response.JSON()["result"].(M)
	_, shaped := response.JSON()["error"].(M)
	refused := response.HasError && (shaped || response.JSON()["jsonrpc"] != nil) // else it may be a line of a log
	return refused && !s.hasEarlierUnanswered || slices.ContainsFunc(initializeMembers, func(name string) bool {
		_, has := result[name]
		return has
	})
}

// initializeMembers are those by which the result of initialize is known.
var initializeMembers = []string{"protocolVersion", "capabilities", "serverInfo"}

// sentRequestFor is the request of the session that has an id; nil when there is none. The caller holds mu.
func (s *Session) sentRequestFor(id json.RawMessage) *sentRequest {
	alike := s.sentRequests[idTextKey(id)]
	if i := slices.IndexFunc(alike, func(q *sentRequest) bool { return SameID(q.id, id) }); i >= 0 {
		return alike[i]
	}
	return nil
}

// setRequestID notes that the response with an id answers the request of another.
func (f *Frame) setRequestID(id, request json.RawMessage) {
	if f.requestIDs == nil {
		f.requestIDs = map[string]json.RawMessage{}
	}
	f.requestIDs[IDKey(id)] = request
}

// RequestID is the id of the request that a response answers: its own unless that was changed on the way.
func (f *Frame) RequestID() json.RawMessage {
	if len(f.requestIDs) == 0 { // as nearly always
		return f.ID
	}
	if id := f.requestIDs[IDKey(f.ID)]; id != nil {
		return id
	}
	return f.ID
}

// SameIDText reports whether two ids are the same value, or would be if both were strings: 7 and "7".
func SameIDText(a, b json.RawMessage) bool {
	return a != nil && b != nil && idTextKey(a) == idTextKey(b)
}

// idTextKey is a text that two ids share if and only if they are alike.
func idTextKey(id json.RawMessage) string {
	key := IDKey(id)
	if text, err := strconv.Unquote(key); err == nil {
		if n, ok := parseNumber(text); ok {
			return n.key()
		}
	}
	return key
}
