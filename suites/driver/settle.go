package driver

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Settle proves that the server has nothing more to say to what it was sent before: a later request is answered, and
// the grace after it has passed. It returns what came since the mark, without the answer to that request.
func (s *Session) Settle(mark int) ([]*Frame, error) {
	s.link.settle(mark)
	p, r := s.fence()
	if r.Err != nil {
		return s.Since(mark), r.Err
	}
	return s.linger(mark, s.grace(r), p)
}

// React waits for what the server makes of what it was sent since the mark: a response other than the answer to a later
// or an earlier request or, when there is none, until the session has settled. It returns what came, without the
// answers to requests from before the mark, which come late or once more.
func (s *Session) React(mark int) ([]*Frame, error) {
	s.link.settle(mark)
	p, r := s.fence()
	if r.Err != nil {
		return s.WithoutEarlier(mark, s.Since(mark)), r.Err
	}
	came := s.WithoutEarlier(mark, without(s.Since(mark), p...))
	for _, f := range came {
		if slices.ContainsFunc(f.Members(), func(m *Frame) bool { return m.MayAnswer(nil) }) {
			return came, nil
		}
	}
	came, err := s.linger(mark, s.grace(r), p)
	return s.WithoutEarlier(mark, came), err
}

// Idle lets time pass in which the client says nothing.
func (s *Session) Idle(d time.Duration) { s.pass(d) }

// fence sends the request that proves order, and waits for the answer.
func (s *Session) fence() (sent []Pending, r Reply) {
	sent, r = s.prove()
	s.tell(r)
	return sent, r
}

// prove sends the harmless request, and waits for the answer. When half of the time has passed without one, the lists
// that the server declares are asked for as well, unless it is serial: any answer proves that it lives.
func (s *Session) prove() (sent []Pending, r Reply) {
	first := s.Request(s.Harmless())
	sent = []Pending{first}
	if h := s.HTTP(); h != nil && h.site.Serial() {
		return sent, s.awaitReply(first)
	}
	var silence *Silence
	if r = s.awaitFor(first, s.limits.Reply/2); !errors.As(r.Err, &silence) {
		return sent, r
	}
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if method := capability + "/list"; s.Capabilities[capability] != nil && method != first.Method {
			sent = append(sent, s.askAside(method))
		}
	}
	r = s.awaitUntil(first, s.replyBound(), func() time.Time { return s.due(first.leftAt()) }, sent[1:]...)
	return sent, r
}

// Lives makes sure that the server answers: its harmless request or, when that has no answer, a list.
func (s *Session) Lives() Reply {
	_, r := s.prove()
	return r
}

// grace is how long something may still be on its way once a later request was answered: ten times what that answer
// took, so that a busy machine has more.
func (s *Session) grace(answer Reply) time.Duration {
	const least = 5 * time.Millisecond
	return min(max(10*(answer.Frame.At-answer.Request.At), least), s.limits.Grace)
}

// linger waits for the grace, and for one more request after it, and returns what came since the mark without the
// answers to the harness's own requests.
func (s *Session) linger(mark int, grace time.Duration, first []Pending) ([]*Frame, error) {
	s.pass(grace)
	last, r := s.fence()
	return without(s.Since(mark), append(first, last...)...), r.Err
}

// WithoutEarlier leaves out the answers to requests from before the mark, unless their ids have been used again.
func (s *Session) WithoutEarlier(mark int, came []*Frame) []*Frame {
	if len(came) == 0 {
		return nil
	}
	before, after := s.requests(0, mark), s.requests(mark, s.Mark())
	return without(came, slices.DeleteFunc(before, func(p Pending) bool {
		return slices.ContainsFunc(after, func(again Pending) bool { return SameID(p.ID, again.ID) })
	})...)
}

// requests are those that the client sent between two marks, without those whose id is null, as that of an error is.
func (s *Session) requests(from, to int) (all []Pending) {
	for _, f := range s.Between(from, to) {
		for _, m := range f.Members() {
			if f.Side == FromClient && m.IsRequest() && string(m.ID) != "null" {
				all = append(all, Pending{ID: m.ID})
			}
		}
	}
	return all
}

// without leaves out the answers to requests.
func without(frames []*Frame, own ...Pending) (rest []*Frame) {
	for _, f := range frames {
		if !anyAnswered(own, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

func anyAnswered(own []Pending, f *Frame) bool {
	for _, p := range own {
		if p.answeredBy(f) {
			return true
		}
	}
	return false
}

// askAside sends a request whose answer nobody else is to take for something: it may come long after another one has
// proved what there was to prove.
func (s *Session) askAside(method string) Pending {
	id := s.NextID()
	s.mu.Lock()
	s.asides = append(s.asides, encode(id))
	s.mu.Unlock()
	return s.RequestID(id, method, nil)
}

// isAside reports whether a frame answers such a request. The caller holds mu.
func (s *Session) isAside(f *Frame) bool {
	return f.IsResponse() && slices.ContainsFunc(s.asides, func(id json.RawMessage) bool {
		return SameID(id, f.Answers())
	})
}
