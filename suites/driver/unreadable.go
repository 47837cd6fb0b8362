package driver

import (
	"bytes"
	"errors"
	"regexp"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// errUnreadable says that the response to a request came in a form that is not JSON, so that none is to be expected.
var errUnreadable = errors.New("what came in its place is not JSON")

// awaitAnswer is waitUntil for the response to a request. After lines that are meant as the response and are not JSON,
// it waits only briefly.
func (s *Session) awaitAnswer(p Pending, end func() time.Time, isAnswer func(*Frame) bool) (*Frame, error) {
	for from := p.mark; ; {
		f, err := s.waitUntil(from, end, func(f *Frame) bool { return isAnswer(f) || f.IsMalformed() })
		if err != nil || isAnswer(f) {
			return f, err
		}
		soon := time.Now().Add(timing.ShortWait)
		answer, err := s.waitUntil(from, func() time.Time {
			if late := end(); late.Before(soon) {
				return late
			}
			return soon
		}, isAnswer)
		switch {
		case !errors.Is(err, errTimeout):
			return answer, err
		case s.hasUnreadableResponseTo(p):
			return nil, errUnreadable
		}
		from = f.Position.index + 1
	}
}

// hasUnreadableResponseTo reports whether the lines since a request that are not JSON hold the beginning of a response
// to it: the members jsonrpc and id, and no method. With a method they may be a log of what the server reads, and
// without quotation marks one of what it sends.
func (s *Session) hasUnreadableResponseTo(p Pending) bool {
	var text bytes.Buffer
	for _, f := range s.FramesSince(p.mark) {
		if f.IsMalformed() || text.Len() > 0 && f.Side == FromServer && f.Kind == NotJSON {
			text.Write(f.Raw)
			text.WriteByte('\n')
		}
	}
	id := regexp.MustCompile(`"id"\s*:\s*` + regexp.QuoteMeta(string(p.ID)) + `[^\w.]`)
	return bytes.Contains(text.Bytes(), []byte(`"jsonrpc"`)) && id.Match(text.Bytes()) &&
		!bytes.Contains(text.Bytes(), []byte(`"method"`))
}
