package driver

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// A response belongs to the request with its id. Some servers change ids, most often 7 into "7". The request is
// nevertheless clear in three cases: over stdio if the texts of the ids are the same, over HTTP if the response arrives
// in the round trip of the request, and everywhere if it can only be the response to initialize. One check reports the
// changed id; the others continue. A response with any other id belongs to no request.

// usedIDs holds the request ids that the sessions of one server have used.
type usedIDs struct {
	mu sync.Mutex
	// sessionByID holds the session that used an id, by the text of the id; nil if several did.
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

// OtherSessionUsedID reports whether another session of the same server has sent a request with this id. A response
// with it may be meant for that session.
func (s *Session) OtherSessionUsedID(id json.RawMessage) bool {
	h := s.HTTP()
	return h != nil && h.site.usedIDs.usedByOther(s, id)
}

// sentRequest is a request that the session has sent.
type sentRequest struct {
	id       json.RawMessage
	answered bool
}

// noteRequest notes that the session sends a request with this id. An absent or null id is ignored.
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

// isAnswered reports whether the session's request with this id has been answered.
func (s *Session) isAnswered(id json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.sentRequestFor(id)
	return q != nil && q.answered
}

// noteConnect notes that the session sends initialize or server/discover with this id.
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

// correlate finds the requests of responses that have other ids than them, and the responses that are for other
// sessions.
func (s *Session) correlate(f *Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { f.Internal = s.isInternal(f) }() // last, because it depends on the request
	for _, m := range f.Messages() {
		if !m.IsResponse() {
			continue
		}
		id := s.guessedRequest(f, m)
		switch {
		case id == nil:
			n, _ := Integer(json.Number(m.ID))
			m.ForOtherSession = n > idsPerSession && s.OtherSessionUsedID(m.ID)
			if m.ForOtherSession {
				s.crossTalk.Store(true)
			}
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

// guessedRequest returns the id of the request that a response in frame f belongs to, or nil if that is not known. An
// object with neither a result nor an error may be a line of the server's log. The caller holds mu.
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

// matchesInitialize reports whether a response can only belong to the pending initialize request although no request
// has its id: it is a result with members of an initialize result, or an error while nothing else is unanswered.
// Anything else may be output of a server that does not wait for its client. An object that has a member twice is never
// accepted, since nobody knows which of the two counts. The caller holds mu.
func (s *Session) matchesInitialize(response *Frame) bool {
	if s.connectID == nil || s.OtherSessionUsedID(response.ID) || repeatedMember(response.Raw.Bytes()) != "" ||
		slices.ContainsFunc(s.sentRequests[idTextKey(response.ID)], func(q *sentRequest) bool { return !q.answered }) {
		return false
	}
	result, _ := response.JSON()["result"].(M)
	_, shaped := response.JSON()["error"].(M)
	refused := response.HasError && (shaped || response.JSON()["jsonrpc"] != nil) // otherwise maybe a log line
	return refused && !s.hasEarlierUnanswered || slices.ContainsFunc(initializeMembers, func(name string) bool {
		_, has := result[name]
		return has
	})
}

// initializeMembers are the members by which a result of initialize is recognized.
var initializeMembers = []string{"protocolVersion", "capabilities", "serverInfo"}

// sentRequestFor returns the session's request with this id, or nil if there is none. The caller holds mu.
func (s *Session) sentRequestFor(id json.RawMessage) *sentRequest {
	alike := s.sentRequests[idTextKey(id)]
	if i := slices.IndexFunc(alike, func(q *sentRequest) bool { return SameID(q.id, id) }); i >= 0 {
		return alike[i]
	}
	return nil
}

// setRequestID notes that the response with one id belongs to the request with another.
func (f *Frame) setRequestID(id, request json.RawMessage) {
	if f.requestIDs == nil {
		f.requestIDs = map[string]json.RawMessage{}
	}
	f.requestIDs[IDKey(id)] = request
}

// RequestID returns the id of the request that a response belongs to: its own, unless the server changed it.
func (f *Frame) RequestID() json.RawMessage {
	if len(f.requestIDs) == 0 {
		return f.ID
	}
	if id := f.requestIDs[IDKey(f.ID)]; id != nil {
		return id
	}
	return f.ID
}

// SameIDText reports whether two ids are the same value, or would be if both were strings, as 7 and "7".
func SameIDText(a, b json.RawMessage) bool {
	return a != nil && b != nil && idTextKey(a) == idTextKey(b)
}

// idTextKey returns a text that is the same for two ids if and only if SameIDText holds for them.
func idTextKey(id json.RawMessage) string {
	key := IDKey(id)
	if text, err := strconv.Unquote(key); err == nil {
		if n, ok := parseNumber(text); ok {
			return n.RatString()
		}
	}
	return key
}
