package driver

import (
	"encoding/json"
	"slices"
	"time"
)

// partial is a message that has begun to come and has not ended.
type partial struct {
	bytes int           // of it that have come; 0: there is none
	last  time.Duration // when the last of them came, since the session opened
}

// unended notes, after each read, how many bytes have come of a message that has not ended; 0: there is none.
func (t *intake) unended(bytes int) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if bytes != t.part.bytes { // else nothing came
		*t.part = partial{bytes, time.Since(t.r.opened)}
	}
}

// StillComing reports whether a request that has no answer may have had one on its way when the time of --timeout was
// over: in the last part of it, bytes came of a message that has not ended. Such a server is slow, and not silent.
func (s *Session) StillComing(request *Frame) bool {
	return s.isComing(Pending{ID: request.ID, sent: s.Moment(request), frame: request})
}

func (s *Session) isComing(p Pending) bool {
	const part = 4
	late := p.leftAt().Add(s.limits.Reply - s.limits.Reply/part)
	return slices.ContainsFunc(s.partials(p.ID), func(m partial) bool {
		return m.bytes > 0 && s.opened.Add(m.last).After(late)
	})
}

// partials are the messages that have not ended and may be the answer to the request of that id. Over stdio, that is
// the one line.
func (s *Session) partials(id json.RawMessage) (all []partial) {
	h := s.HTTP()
	sent := h.Exchanges()
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		return []partial{s.partial}
	}
	for _, x := range sent {
		if x.answers(id) || h.old && x.standing {
			all = append(all, x.partial)
		}
	}
	return all
}
