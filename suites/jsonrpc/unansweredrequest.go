package jsonrpc

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// limitErr is the limit of mcpcheck that cut off the response; nil when none did.
func limitErr(x *transcript.Call) *driver.LimitError {
	switch {
	case x.Response != nil:
	case x.SessionEnded():
		return driver.AsLimitError(x.Session.EndErr())
	case x.Request.RoundTrip != nil:
		return x.Request.RoundTrip.Response().LimitErr()
	}
	return nil
}

// isStreamOpen reports whether the server answered the request with an event stream over HTTP that was still open when
// the wait for the response ended.
func isStreamOpen(x *transcript.Call) bool {
	if x.Response != nil || x.Request.RoundTrip == nil || x.Request.RoundTrip.IsAnsweredOnStream() {
		return false
	}
	a := x.Request.RoundTrip.Response()
	return a.IsStream && a.OK() && !x.SessionEnded()
}

// isInBodyOfPost reports whether a request over HTTP+SSE has its response there instead of on the event stream.
func isInBodyOfPost(x *transcript.Call) bool {
	if x.Response != nil || x.Request.RoundTrip == nil || !x.Request.RoundTrip.IsAnsweredOnStream() {
		return false
	}
	return driver.SameID(driver.Members(x.Request.RoundTrip.Response().Body.Bytes())["id"], x.Request.ID)
}

// isInPostOverSSE reports whether a response came over HTTP+SSE in the body of the answer to the POST.
func isInPostOverSSE(f *driver.Frame) bool {
	return f.RoundTrip != nil && f.RoundTrip.IsAnsweredOnStream()
}

// mayBeInMalformedLine reports whether the request has no response, and a malformed line came after it over stdio.
func mayBeInMalformedLine(x *transcript.Call) bool {
	return x.Response == nil && slices.ContainsFunc(x.Session.ReceivedSince(0), func(f *driver.Frame) bool {
		return f.At >= x.Request.At && f.IsMalformed()
	})
}

// endsInLine reports whether the request has no response, and its session ended within a line.
func endsInLine(x *transcript.Call) bool {
	return x.Response == nil && slices.ContainsFunc(x.Session.ReceivedSince(0), func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && !f.Complete
	})
}

// hasMalformedLine reports whether a malformed line came in any session.
func hasMalformedLine(w check.Wire) bool {
	return slices.ContainsFunc(w.Lines().List, func(m check.Message) bool { return m.IsMalformed() })
}

// isReceiving reports whether a part of the response had arrived when the time was up: the server is slow, not silent.
func isReceiving(x *transcript.Call) bool {
	return x.Response == nil && !x.SessionEnded() && x.Session.IsReceiving(x.Request)
}

// hasExitedZero reports whether the server exited with status 0 before it answered. Over stdio it may: the request and
// the exit may have crossed.
func hasExitedZero(x *transcript.Call) bool {
	return x.SessionEnded() && x.Session.HTTP() == nil && x.EndFrame.Raw.String() == driver.CleanExit
}

// hasCrashed reports whether the process ended on its own, other than by hasExitedZero, before it answered. A process
// that was killed does not count, since somebody else may have killed it.
func hasCrashed(x *transcript.Call) bool {
	if !x.SessionEnded() || hasExitedZero(x) || x.AfterNotification || !followsRequest(x) {
		return false
	}
	end := x.EndFrame.Raw.String()
	return strings.HasPrefix(end, "the server exited") || strings.Contains(end, "by a signal") &&
		!strings.Contains(end, "(killed)") && !strings.Contains(end, "(terminated)")
}

// isOtherSessionActive reports whether another session was in use when the server ended. Over HTTP all sessions share a
// process, so that one may have been the cause.
func isOtherSessionActive(w check.Wire, x *transcript.Call) bool {
	return slices.ContainsFunc(w.Sessions, func(s *driver.Session) bool {
		return s != x.Session && s.HTTP() != nil && s.SentWithin(x.Session.TimeOf(x.EndFrame), timing.Recent)
	})
}

// followsRequest reports whether the frame before the request was a request. After a notification or a batch, the
// checks of those judge what becomes of the session.
func followsRequest(x *transcript.Call) bool {
	follows := true
	for _, f := range x.Session.FramesSince(0) {
		switch {
		case f == x.Request:
			return follows
		case f.Side == driver.FromClient:
			follows = f.IsRequest()
		}
	}
	return false
}

// isNothingAnsweredAfter reports whether the server answered nothing any more after the request was sent, until the
// session was ended.
func isNothingAnsweredAfter(x *transcript.Call) bool {
	return !slices.ContainsFunc(x.Session.ReceivedSince(0), func(f *driver.Frame) bool {
		return f.At > x.Request.At && f.IsResponse() && !f.AfterShutdown
	})
}

// waitTime is how long the server had for a response: until the wait ended, or until now. For a server that answers one
// request after the other, the time begins when the earlier ones are answered.
func waitTime(x *transcript.Call) time.Duration {
	begin, end := x.Request.SentAt(), x.Session.ShutdownAt()
	if x.EndFrame != nil {
		end = min(end, x.EndFrame.At)
	}
	for _, y := range x.Transcript.Calls {
		if y == x {
			break
		}
		if y.Response != nil {
			begin = max(begin, y.Response.At)
		}
	}
	return end - begin
}

// callSubject shows the request, a response that seems to be meant for it and, if there is no response, how the session
// ended.
func callSubject(x *transcript.Call) check.Subject {
	frames := []*driver.Frame{x.Request}
	if x.Response == nil && x.WrongIDResponse != nil {
		frames = append(frames, x.WrongIDResponse)
	}
	switch {
	case x.Response != nil:
	case x.SessionEnded():
		frames = append(frames, x.EndFrame)
	case x.IsConnectionClosed():
		frames = append(frames, x.HTTPStatus)
	}
	return check.Subject{Frames: frames}
}

// noAnswerReason is why the request has no response, for messages.
func noAnswerReason(x *transcript.Call) string {
	switch {
	case x.SessionEnded():
		return x.EndFrame.Raw.String()
	case x.IsConnectionClosed():
		return x.HTTPStatus.Raw.String()
	}
	reason := fmt.Sprintf("none within %v", x.Session.Patience(x.Request))
	if x.Session.Patience(x.Request) == x.Session.ReplyTimeout() {
		reason += " (--timeout)"
	}
	if x.WrongIDResponse != nil {
		reason += fmt.Sprintf(", but a response under the id %s, which no request has",
			check.Show(check.FrameID(x.WrongIDResponse)))
	}
	return reason
}
