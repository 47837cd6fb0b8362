package driver

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Barrier proves that the server has nothing more to say to what it was sent before: a later request is answered, and
// the grace after it has passed. It returns what came since the mark, without the answer to that request.
func (s *Session) Barrier(mark int) ([]*Frame, error) {
	s.transport.awaitDelivery(mark)
	p, r := s.sendBarrier()
	if r.Err != nil {
		return s.ReceivedSince(mark), r.Err
	}
	return s.awaitGrace(mark, s.grace(r), p)
}

// AwaitReaction waits for what the server makes of what it was sent since the mark: a response other than the answer to
// a later or an earlier request or, when there is none, until the session has settled. It returns what came, without
// the answers to requests from before the mark, which come late or once more.
func (s *Session) AwaitReaction(mark int) ([]*Frame, error) {
	s.transport.awaitDelivery(mark)
	p, r := s.sendBarrier()
	if r.Err != nil {
		return s.WithoutEarlierResponses(mark, s.ReceivedSince(mark)), r.Err
	}
	came := s.WithoutEarlierResponses(mark, withoutResponsesTo(s.ReceivedSince(mark), p...))
	for _, f := range came {
		if slices.ContainsFunc(f.Messages(), func(m *Frame) bool { return m.MayBeResponseTo(nil) }) {
			return came, nil
		}
	}
	came, err := s.awaitGrace(mark, s.grace(r), p)
	return s.WithoutEarlierResponses(mark, came), err
}

// Sleep lets time pass in which the client says nothing.
func (s *Session) Sleep(d time.Duration) { s.sleep(d) }

// sendBarrier sends the request that proves order, and waits for the answer.
func (s *Session) sendBarrier() (sent []Pending, r Reply) {
	sent, r = s.sendNoOp()
	s.reportReply(r)
	return sent, r
}

// sendNoOp sends the harmless request, and waits for the answer. When half of the time has passed without one, the
// lists that the server declares are asked for as well, unless it is serial: any answer proves that it lives.
func (s *Session) sendNoOp() (sent []Pending, r Reply) {
	first := s.Request(s.NoOp())
	sent = []Pending{first}
	if h := s.HTTP(); h != nil && h.site.IsSerial() {
		return sent, s.awaitReply(first)
	}
	var silence *TimeoutError
	if r = s.awaitFor(first, s.limits.ReplyTimeout/2); !errors.As(r.Err, &silence) {
		return sent, r
	}
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if method := capability + "/list"; s.Capabilities[capability] != nil && method != first.Method {
			sent = append(sent, s.requestInternal(method))
		}
	}
	r = s.awaitUntil(first, s.replyBound(), func() time.Time { return s.deadline(first.sentAt()) }, sent[1:]...)
	return sent, r
}

// AwaitNoOp makes sure that the server answers: its harmless request or, when that has no answer, a list.
func (s *Session) AwaitNoOp() Reply {
	_, r := s.sendNoOp()
	return r
}

// grace is how long something may still be on its way once a later request was answered: ten times what that answer
// took, so that a busy machine has more.
func (s *Session) grace(answer Reply) time.Duration {
	const least = 5 * time.Millisecond
	return min(max(10*(answer.Frame.At-answer.Request.At), least), s.limits.Grace)
}

// awaitGrace waits for the grace, and for one more request after it, and returns what came since the mark without the
// answers to the harness's own requests.
func (s *Session) awaitGrace(mark int, grace time.Duration, first []Pending) ([]*Frame, error) {
	s.sleep(grace)
	last, r := s.sendBarrier()
	return withoutResponsesTo(s.ReceivedSince(mark), append(first, last...)...), r.Err
}

// WithoutEarlierResponses leaves out the answers to requests from before the mark, unless their ids have been used
// again.
func (s *Session) WithoutEarlierResponses(mark int, came []*Frame) []*Frame {
	if len(came) == 0 {
		return nil
	}
	before, after := s.requestsBetween(0, mark), s.requestsBetween(mark, s.Mark())
	return withoutResponsesTo(came, slices.DeleteFunc(before, func(p Pending) bool {
		return slices.ContainsFunc(after, func(again Pending) bool { return SameID(p.ID, again.ID) })
	})...)
}

// requestsBetween are those that the client sent between two marks, without those whose id is null, as that of an error
// is.
func (s *Session) requestsBetween(from, to int) (all []Pending) {
	for _, f := range s.FramesBetween(from, to) {
		for _, m := range f.Messages() {
			if f.Side == FromClient && m.IsRequest() && string(m.ID) != "null" {
				all = append(all, Pending{ID: m.ID})
			}
		}
	}
	return all
}

// withoutResponsesTo leaves out the answers to requests.
func withoutResponsesTo(frames []*Frame, own ...Pending) (rest []*Frame) {
	for _, f := range frames {
		if !isAnyAnsweredBy(own, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

func isAnyAnsweredBy(own []Pending, f *Frame) bool {
	for _, p := range own {
		if p.isAnsweredBy(f) {
			return true
		}
	}
	return false
}

// requestInternal sends a request whose answer nobody else is to take for something: it may come long after another one
// has proved what there was to prove.
func (s *Session) requestInternal(method string) Pending {
	id := s.NextID()
	s.mu.Lock()
	s.internalIDs = append(s.internalIDs, encode(id))
	s.mu.Unlock()
	return s.RequestWithID(id, method, nil)
}

// isInternal reports whether a frame answers such a request. The caller holds mu.
func (s *Session) isInternal(f *Frame) bool {
	return f.IsResponse() && slices.ContainsFunc(s.internalIDs, func(id json.RawMessage) bool {
		return SameID(id, f.RequestID())
	})
}
