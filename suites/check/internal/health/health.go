// Package health knows whether the server of a run still serves.
//
// A Health is told of each session that was opened, or could not be, and of each reply. From that it knows which
// methods get no response, when a health check is due (NeedsCheck), and whether the server is down (DownReason): a run
// then stops, so that it does not wait for the same timeout a hundred times. It sends nothing itself; package engine
// makes the health checks. Its methods may be called by any goroutine.
package health

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Health is what is known of whether the server still serves: whether sessions can be opened, which methods get a
// response, and whether a session lasts in which only no-ops are sent. What it finds while checks run in parallel is
// not final: every verdict that rests on it is retried with nothing else running.
type Health struct {
	mu sync.Mutex
	// discovery is the session that discovery has handed over; nil when there is none.
	discovery *driver.Session
	// methods holds the methods of which requests were sent.
	methods map[string]*methodHealth
	// silences counts the unanswered requests, without those of methods that are known to get no response.
	silences int
	// threshold is how many silences start the next health check.
	threshold int
	// failures counts the sessions in a row that could not be opened.
	failures int
	// hadSession says that a session besides that of discovery was opened.
	hadSession bool
	// serial says that nothing else runs, so that one unanswered request is proof enough.
	serial bool

	// reason says why the run does not go on; empty while it does.
	reason string
	// failedCheck is the session in which a health check has failed; nil when no session could be opened.
	failedCheck *driver.Session
}

// methodHealth is what is known of the responses to a method.
type methodHealth struct {
	answered bool  // whether some request was answered
	silences int   // requests in a row without a response in time
	err      error // of the last of these requests
}

const (
	maxFailures          = 3 // sessions in a row that cannot be opened stop a run
	HealthCheckThreshold = 2 // unanswered requests start a health check

	// So many unanswered requests in a row show that a method gets no response: of a method that was never answered,
	// and of one that was. While nothing else runs, one request is enough for a method that was never answered.
	maxNeverAnswered    = 2
	maxNoLongerAnswered = 6
)

// Begin takes the session of discovery, which may be nil: the methods that were answered in it and, since nothing else
// was running, those that were not.
func (h *Health) Begin(discovery *driver.Session, answered []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.discovery = discovery
	for _, method := range answered {
		h.method(method).answered = true
	}
	h.addDiscoverySilences()
}

// addDiscoverySilences notes the methods that were not answered in the session of discovery. The caller holds mu.
func (h *Health) addDiscoverySilences() {
	if h.discovery == nil {
		return
	}
	unanswered, _ := h.discovery.UnansweredMethods()
	for _, method := range unanswered {
		if m := h.method(method); !m.answered {
			m.silences = maxNeverAnswered
			m.err = fmt.Errorf("no answer to %s within %v (--timeout)", method, h.discovery.ReplyTimeout())
		}
	}
}

// Reset forgets that the server was down, now that nothing else runs.
func (h *Health) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.reason, h.failedCheck, h.serial = 0, "", nil, true
	for _, m := range h.methods {
		m.silences = 0
	}
	h.addDiscoverySilences()
}

// method returns what is known of a method. The caller holds mu.
func (h *Health) method(name string) *methodHealth {
	if h.methods == nil {
		h.methods = map[string]*methodHealth{}
	}
	if h.methods[name] == nil {
		h.methods[name] = &methodHealth{}
	}
	return h.methods[name]
}

// RecordSession notes that a session was opened, or the error why it could not be, whose text is shown to readers. A
// session without a handshake so far proves nothing.
func (h *Health) RecordSession(s *driver.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && s.IsOrdinary():
		h.failures, h.hadSession = 0, h.hadSession || s != h.discovery
	case err == nil, errors.Is(err, context.Canceled):
	default:
		if h.failures++; h.failures >= maxFailures {
			h.markDown(h.unreachableReason(err), nil)
		}
	}
}

// unreachableReason says that no session can be opened. The caller holds mu.
func (h *Health) unreachableReason(err error) string {
	var ended *driver.SessionEndError
	if h.discovery != nil && !h.hadSession && errors.As(err, &ended) {
		return driver.RunsOncePrefix + err.Error()
	}
	return "the server can no longer be talked to: " + err.Error()
}

// FailCheck notes that a health check has failed, in a session or because none could be opened.
func (h *Health) FailCheck(checked *driver.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if checked == nil {
		h.markDown(h.unreachableReason(err), nil)
	} else {
		h.markDown(err.Error(), checked)
	}
}

// markDown stops the run, unless it was stopped before. The caller holds mu.
func (h *Health) markDown(reason string, checked *driver.Session) {
	if h.reason == "" {
		h.reason, h.failedCheck = reason, checked
	}
}

// RecordAnswer notes that a request of a method was answered, possibly late.
func (h *Health) RecordAnswer(method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.method(method)
	m.answered, m.silences = true, 0
}

// RecordReply notes the outcome of a request in a session without invalid input.
func (h *Health) RecordReply(s *driver.Session, r driver.Reply) {
	switch {
	case r.Answered():
		h.RecordAnswer(r.Method)
	case errors.As(r.Err, new(*driver.TimeoutError)) && driver.AsLimitError(r.Err) == nil:
		h.mu.Lock()
		defer h.mu.Unlock()
		m := h.method(silentMethod(s, r.Method))
		if h.silenceError(m) == nil {
			h.silences++
		}
		m.silences, m.err = m.silences+1, r.Err
	}
}

// RecordSilences notes the methods of requests without a response, in a session for invalid input as well, whose
// silence a check has reported while nothing else ran.
func (h *Health) RecordSilences(methods []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, method := range methods {
		m := h.method(method)
		m.silences, m.err = m.silences+1, fmt.Errorf("no answer to %s, as reported already", method)
	}
}

// silentMethod returns the method of the request that has waited longest for a response in the session.
func silentMethod(s *driver.Session, method string) string {
	if unanswered, _ := s.UnansweredMethods(); len(unanswered) > 0 {
		return unanswered[len(unanswered)-1]
	}
	return method
}

// silenceError returns the error of a method that is known to get no response; nil when that is not known. The caller
// holds mu.
func (h *Health) silenceError(m *methodHealth) error {
	enough := maxNeverAnswered
	switch {
	case m.answered:
		enough = maxNoLongerAnswered
	case h.serial:
		enough = 1
	}
	if m.silences < enough {
		return nil
	}
	return m.err
}

// UnansweredError is silenceError for the method of that name.
func (h *Health) UnansweredError(method string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silenceError(h.method(method))
}

// NeedsCheck reports whether enough requests were unanswered for a health check. Each check doubles the number that is
// needed for the next.
func (h *Health) NeedsCheck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason != "" || h.silences < max(h.threshold, HealthCheckThreshold) {
		return false
	}
	h.threshold = 2 * h.silences
	return true
}

// DownReason returns why the run does not go on, empty when it does, and the session of the health check that has shown
// it; nil when no session could be opened.
func (h *Health) DownReason() (reason string, checked *driver.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason, h.failedCheck
}

// NoSessionError says that no session can be opened.
type NoSessionError struct{ reason string }

func (n *NoSessionError) Error() string { return "not tried: " + n.reason }

func (*NoSessionError) Reason() report.Reason { return report.Stopped }

// NoSessionError returns a *NoSessionError once no session can be opened, so that nobody waits for one.
func (h *Health) NoSessionError() error {
	if reason, checked := h.DownReason(); reason != "" && checked == nil {
		return &NoSessionError{reason}
	}
	return nil
}
