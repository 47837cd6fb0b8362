package check

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// health is what is known of whether the server still serves: whether sessions can be opened, which methods get a
// response, and whether a session lasts in which only no-ops are sent. It stops a run whose server no longer serves, so
// that the run does not wait for the same timeout a hundred times. What it finds while checks run in parallel is not
// final: every verdict that rests on it is retried with nothing else running.
type health struct {
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
	healthCheckThreshold = 2 // unanswered requests start a health check

	// So many unanswered requests in a row show that a method gets no response: of a method that was never answered,
	// and of one that was. While nothing else runs, one request is enough for a method that was never answered.
	maxNeverAnswered    = 2
	maxNoLongerAnswered = 6
)

// begin takes the session of discovery, which may be nil: what was answered in it, and what was not although nothing
// else was running.
func (h *health) begin(discovery *driver.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.discovery = discovery; discovery != nil {
		for _, m := range (Wire{Sessions: []*driver.Session{discovery}}).Results().List {
			if m.Request != nil {
				h.method(m.Request.Method).answered = true
			}
		}
	}
	h.addDiscoverySilences()
}

// addDiscoverySilences notes the methods that were not answered in the session of discovery. The caller holds mu.
func (h *health) addDiscoverySilences() {
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

// reset forgets that the server was down, now that nothing else runs.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.reason, h.failedCheck, h.serial = 0, "", nil, true
	for _, m := range h.methods {
		m.silences = 0
	}
	h.addDiscoverySilences()
}

// method returns what is known of a method. The caller holds mu.
func (h *health) method(name string) *methodHealth {
	if h.methods == nil {
		h.methods = map[string]*methodHealth{}
	}
	if h.methods[name] == nil {
		h.methods[name] = &methodHealth{}
	}
	return h.methods[name]
}

// recordSession notes that a session was opened, or the error why it could not be. A session without a handshake so far
// proves nothing.
func (h *health) recordSession(s *driver.Session, err error) {
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

// RunsOncePrefix begins the message about a server whose later processes all exit at once.
const RunsOncePrefix = "no session could be opened after the first one, as if the server could run only once: "

// unreachableReason says that no session can be opened. The caller holds mu.
func (h *health) unreachableReason(err error) string {
	var ended *driver.SessionEndError
	if h.discovery != nil && !h.hadSession && errors.As(err, &ended) {
		return RunsOncePrefix + Explain(err).Error()
	}
	return "the server can no longer be talked to: " + Explain(err).Error()
}

// failCheck notes that a health check has failed, in a session or because none could be opened.
func (h *health) failCheck(checked *driver.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if checked == nil {
		h.markDown(h.unreachableReason(err), nil)
	} else {
		h.markDown(err.Error(), checked)
	}
}

// markDown stops the run, unless it was stopped before. The caller holds mu.
func (h *health) markDown(reason string, checked *driver.Session) {
	if h.reason == "" {
		h.reason, h.failedCheck = reason, checked
	}
}

// recordAnswer notes that a request of a method was answered, possibly late.
func (h *health) recordAnswer(method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.method(method)
	m.answered, m.silences = true, 0
}

// recordReply notes the outcome of a request in a session without invalid input.
func (h *health) recordReply(s *driver.Session, r driver.Reply) {
	switch {
	case r.Answered():
		h.recordAnswer(r.Method)
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

// silentMethod returns the method of the request that has waited longest for a response in the session.
func silentMethod(s *driver.Session, method string) string {
	if unanswered, _ := s.UnansweredMethods(); len(unanswered) > 0 {
		return unanswered[len(unanswered)-1]
	}
	return method
}

// silenceError returns the error of a method that is known to get no response; nil when that is not known. The caller
// holds mu.
func (h *health) silenceError(m *methodHealth) error {
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

// unansweredError is silenceError for the method of that name.
func (h *health) unansweredError(method string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silenceError(h.method(method))
}

// needsCheck reports whether enough requests were unanswered for a health check. Each check doubles the number that is
// needed for the next.
func (h *health) needsCheck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason != "" || h.silences < max(h.threshold, healthCheckThreshold) {
		return false
	}
	h.threshold = 2 * h.silences
	return true
}

// downReason returns why the run does not go on, empty when it does, and the session of the health check that has shown
// it; nil when no session could be opened.
func (h *health) downReason() (reason string, checked *driver.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason, h.failedCheck
}

// noSessionError says that no session can be opened.
type noSessionError struct{ reason string }

func (n *noSessionError) Error() string { return "not tried: " + n.reason }

func (*noSessionError) Reason() report.Reason { return report.Stopped }

// noSessionError returns a *noSessionError once no session can be opened, so that nobody waits for one.
func (h *health) noSessionError() error {
	if reason, checked := h.downReason(); reason != "" && checked == nil {
		return &noSessionError{reason}
	}
	return nil
}
