package driver

import (
	"bytes"
	"errors"
	"regexp"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// misplacedError says what came in place of a response, so that none is to be expected.
type misplacedError string

func (e misplacedError) Error() string { return string(e) }

// awaitAnswer is waitUntil for the response to a request. After something that is meant as the response and cannot be
// read as such, it waits only briefly.
func (s *Session) awaitAnswer(p Pending, end func() time.Time, isAnswer func(*Frame) bool) (*Frame, error) {
	for from := p.mark; ; {
		f, err := s.waitUntil(from, end, func(f *Frame) bool {
			return isAnswer(f) || f.IsMalformed() || s.isErrorWithoutID(f)
		})
		if err != nil || isAnswer(f) {
			return f, err
		}
		soon := time.Now().Add(timing.UnreadableRest)
		answer, err := s.waitUntil(from, func() time.Time {
			if late := end(); late.Before(soon) {
				return late
			}
			return soon
		}, isAnswer)
		switch {
		case !errors.Is(err, errTimeout):
			return answer, err
		case s.isErrorWithoutID(f):
			return nil, misplacedError("what came in its place is an error without its id")
		case s.hasUnreadableResponseTo(p):
			return nil, misplacedError("what came in its place is not JSON")
		}
		from = f.Position.index + 1
	}
}

// isErrorWithoutID reports whether a frame is an error without an id in a session in which all requests can be read:
// the server has lost the id. To input that no conforming client sends, it may be the right response, and late.
func (s *Session) isErrorWithoutID(f *Frame) bool {
	return !s.HasInvalidInput() && f.Side == FromServer && f.IsResponse() && f.HasError && !f.Manual &&
		(f.ID == nil || string(f.ID) == "null") && len(f.requestIDs) == 0
}

// hasUnreadableResponseTo reports whether the lines since a request that are not JSON hold the beginning of a response
// to it: a mark of JSON-RPC and the id, and no method. With a method they may be a log of what the server reads.
func (s *Session) hasUnreadableResponseTo(p Pending) bool {
	var text bytes.Buffer
	for _, f := range s.FramesSince(p.mark) {
		if f.IsMalformed() || text.Len() > 0 && f.Side == FromServer && f.Kind == NotJSON {
			text.Write(f.Raw)
			text.WriteByte('\n')
		}
	}
	id := regexp.MustCompile(`\bid["']?\s*:\s*` + regexp.QuoteMeta(string(p.ID)) + `[^\w.]`)
	return bytes.Contains(text.Bytes(), []byte("jsonrpc")) && id.Match(text.Bytes()) &&
		!methodMember.Match(text.Bytes())
}

// methodMember matches the member method of an object, as JSON or as programs print values for people.
var methodMember = regexp.MustCompile(`[{,]\s*["']?method["']?\s*:`)
