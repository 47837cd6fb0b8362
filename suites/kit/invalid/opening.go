package invalid

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Opening is the outcome of a request that the server has to refuse, and that may open a subscription stream instead.
type Opening struct {
	Reply driver.Reply
	// Opened reports whether the server has acknowledged a subscription.
	Opened bool
}

// TryOpening sends an invalid request that may open a stream, whose response then does not come. It cancels the
// request once it is refused, or the stream is open.
func TryOpening(t *check.T, s *driver.Session, method string, params check.M) Opening {
	mark := s.Mark()
	p := s.Request(method, params)
	wait := func() driver.Reply { return AwaitWithBarrier(s, mark, p, timing.ShortWait).Reply }
	o := Opening{Reply: AwaitInvalid(t, s, p, wait)}
	for _, f := range s.ReceivedSince(mark) {
		o.Opened = o.Opened || f.Method == "notifications/subscriptions/acknowledged"
	}
	s.Cancel(p, "it was not to be served")
	return o
}

// ExpectRefused requires that the request was neither served nor has opened a stream. The entry reportedBy, if not
// empty, reports the same.
func (o Opening) ExpectRefused(t *check.T, want, reportedBy string) {
	check.RequireServerReply(t, o.Reply)
	var got any = o.Reply
	if o.Opened {
		got = "the stream was opened"
	}
	isRefused := check.BeTrue(want, "%s", got)
	if reportedBy != "" {
		isRefused = check.ReportedBy(reportedBy, isRefused)
	}
	t.DecidedBy(o.Reply).Expect(o.Reply.Result() == nil && !o.Opened).To(isRefused)
}
