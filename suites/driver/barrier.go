package driver

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Barrier waits until the server has handled what it was sent since the mark: a later request has been answered and the
// grace period after it has passed. It returns the frames received since the mark, without the response to that
// request.
func (s *Session) Barrier(mark int) ([]*Frame, error) {
	s.transport.awaitDelivery(mark)
	p, r := s.sendBarrier()
	if r.Err != nil {
		return s.ReceivedSince(mark), r.Err
	}
	return s.awaitGrace(mark, s.grace(r), p)
}

// AwaitReaction waits for the server's reaction to what it was sent since the mark: a response that belongs neither to
// a later nor to an earlier request or, if there is none, the end of Barrier. It returns the frames received, without
// responses to requests from before the mark, which may arrive late or twice.
func (s *Session) AwaitReaction(mark int) ([]*Frame, error) {
	s.transport.awaitDelivery(mark)
	p, r := s.sendBarrier()
	if r.Err != nil {
		return s.WithoutEarlierResponses(mark, s.ReceivedSince(mark)), r.Err
	}
	received := s.WithoutEarlierResponses(mark, withoutResponsesTo(s.ReceivedSince(mark), p...))
	for _, f := range received {
		if slices.ContainsFunc(f.Messages(), func(m *Frame) bool { return m.MayBeResponseTo(nil) }) {
			return received, nil
		}
	}
	received, err := s.awaitGrace(mark, s.grace(r), p)
	return s.WithoutEarlierResponses(mark, received), err
}

// TimeLeft returns how long the run may still last, for what waits longer than the timeout of a response.
func (s *Session) TimeLeft() time.Duration {
	end, isBounded := s.ctx.Deadline()
	if !isBounded {
		return math.MaxInt64
	}
	return time.Until(end)
}

// sendBarrier sends the request that proves that earlier messages were handled, and waits for its response.
func (s *Session) sendBarrier() (sent []Pending, r Reply) {
	sent, r = s.sendNoOp()
	s.reportReply(r)
	return sent, r
}

// sendNoOp sends the no-op request and waits for its response. If half of the reply timeout passes without one, it also
// requests the lists that the server declares, unless the server handles one request at a time. Any response proves
// that the server still works.
func (s *Session) sendNoOp() (sent []Pending, r Reply) {
	first := s.Request(s.NoOp())
	sent = []Pending{first}
	if h := s.HTTP(); h != nil && h.site.IsSerial() {
		return sent, s.awaitReply(first)
	}
	var timeout *TimeoutError
	if r = s.awaitFor(first, s.limits.ReplyTimeout/2); !errors.As(r.Err, &timeout) {
		return sent, r
	}
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if method := capability + "/list"; s.Capabilities[capability] != nil && method != first.Method {
			sent = append(sent, s.requestInternal(method))
		}
	}
	b := s.replyBound()
	end := func() time.Time { return s.deadline(first.sentAt(), b.duration) }
	return sent, s.awaitUntil(first, b, end, sent[1:]...)
}

// AwaitNoOp checks that the server responds to its no-op request or, if that stays unanswered, to a list request.
func (s *Session) AwaitNoOp() Reply {
	_, r := s.sendNoOp()
	return r
}

// grace returns how long messages may still be on their way after a later request was answered: ten times what that
// response took, so that a busy machine has more time.
func (s *Session) grace(answer Reply) time.Duration {
	return min(max(10*(answer.Frame.At-answer.Request.At), timing.MinGrace), s.limits.Grace)
}

// awaitGrace waits for the grace period and then for the response to another request. It returns the frames received
// since the mark, without the responses to mcpcheck's own requests.
func (s *Session) awaitGrace(mark int, grace time.Duration, first []Pending) ([]*Frame, error) {
	s.Sleep(grace)
	last, r := s.sendBarrier()
	return withoutResponsesTo(s.ReceivedSince(mark), append(first, last...)...), r.Err
}

// WithoutEarlierResponses leaves out responses to requests from before the mark, unless their ids were used again.
func (s *Session) WithoutEarlierResponses(mark int, received []*Frame) []*Frame {
	if len(received) == 0 {
		return nil
	}
	before, after := s.requestsBetween(0, mark), s.requestsBetween(mark, s.Mark())
	return withoutResponsesTo(received, slices.DeleteFunc(before, func(p Pending) bool {
		return slices.ContainsFunc(after, func(again Pending) bool { return SameID(p.ID, again.ID) })
	})...)
}

// requestsBetween returns the requests that the client sent between two marks. It leaves out those whose id is null,
// which is also the id of an error for an unreadable request.
func (s *Session) requestsBetween(from, to int) (all []Pending) {
	for _, f := range s.FramesBetween(from, to) {
		if f.Side != FromClient {
			continue
		}
		for _, m := range f.requests() {
			if string(m.ID) != "null" {
				all = append(all, Pending{ID: m.ID})
			}
		}
	}
	return all
}

func withoutResponsesTo(frames []*Frame, own ...Pending) (rest []*Frame) {
	for _, f := range frames {
		if !isAnyAnsweredBy(own, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

func isAnyAnsweredBy(own []Pending, f *Frame) bool {
	return slices.ContainsFunc(own, func(p Pending) bool { return p.isAnsweredBy(f) })
}

// requestInternal sends a request whose response no check must see: it may arrive long after another one has proved
// that the server works.
func (s *Session) requestInternal(method string) Pending {
	id := s.NextID()
	s.mu.Lock()
	s.internalIDs = append(s.internalIDs, encode(id))
	s.mu.Unlock()
	return s.RequestWithID(id, method, nil)
}

// isInternal reports whether a frame responds to a request of requestInternal. The caller holds mu.
func (s *Session) isInternal(f *Frame) bool {
	return f.IsResponse() && slices.ContainsFunc(s.internalIDs, func(id json.RawMessage) bool {
		return SameID(id, f.RequestID())
	})
}
