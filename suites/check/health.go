package check

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// health is what is known of whether the server is up: whether sessions can be opened, which methods are answered, and
// whether a session lasts in which nothing but harmless requests is sent. It stops a run whose server no longer serves,
// so that the run does not wait for the same silence a hundred times. What it decides while checks run side by side
// ends no check for good: every verdict that rests on it is decided again when nothing else runs.
type health struct {
	mu         sync.Mutex
	discovery  *driver.Session          // that was handed over; nil when there is none
	methods    map[string]*methodHealth // of which requests were sent
	silences   int                      // requests without an answer, of methods that are not known to have none
	threshold  int                      // how many of them call for a control
	failures   int                      // sessions in a row that could not be opened
	hadSession bool                     // a session was, besides that of discovery
	serial     bool                     // nothing else runs: what is measured once is known

	reason      string          // why the run does not go on; empty: it does
	failedCheck *driver.Session // in which a control has failed; nil: no session can be opened
}

// methodHealth is what is known of a method.
type methodHealth struct {
	answered bool  // some request of it was
	silences int   // requests in a row without an answer in time
	err      error // of the last of them
}

const (
	maxFailures          = 3 // sessions in a row that cannot be opened stop a run
	healthCheckThreshold = 2 // requests without an answer call for a control

	// So many requests in a row without an answer show that a method has none: one that was never answered, or one that
	// was. While nothing else runs, a single request shows it of a method that was never answered.
	maxNeverAnswered    = 2
	maxNoLongerAnswered = 6
)

// beginCase takes the session of discovery, nil when there is none: what was answered in it, and what was not when
// nothing else ran.
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

// addDiscoverySilences notes what had no answer in the session of discovery. The caller holds mu.
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

// reset gives the server another chance, now that nothing else runs.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.reason, h.failedCheck, h.serial = 0, "", nil, true
	for _, m := range h.methods {
		m.silences = 0
	}
	h.addDiscoverySilences()
}

// method is what is known of a method. The caller holds mu.
func (h *health) method(name string) *methodHealth {
	if h.methods == nil {
		h.methods = map[string]*methodHealth{}
	}
	if h.methods[name] == nil {
		h.methods[name] = &methodHealth{}
	}
	return h.methods[name]
}

// recordSession is told of each session that was wanted: err is why it could not be opened. One to which nothing was
// said yet proves nothing.
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

// RunsOncePrefix begins what is said of a server whose processes end at once since there was another one.
const RunsOncePrefix = "no session could be opened after the first one, as if the server could run only once: "

// lost says that no session can be opened. The caller holds mu.
func (h *health) unreachableReason(err error) string {
	var death *driver.SessionEndError
	if h.discovery != nil && !h.hadSession && errors.As(err, &death) {
		return RunsOncePrefix + Explain(err).Error()
	}
	return "the server can no longer be talked to: " + Explain(err).Error()
}

// failCheck is told of a control that has failed, in a session or because none could be opened.
func (h *health) failCheck(control *driver.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if control == nil {
		h.markDown(h.unreachableReason(err), nil)
	} else {
		h.markDown(err.Error(), control)
	}
}

// markDown stops the run, unless it was stopped before. The caller holds mu.
func (h *health) markDown(reason string, control *driver.Session) {
	if h.reason == "" {
		h.reason, h.failedCheck = reason, control
	}
}

// recordAnswer is told that a request of a method has an answer, be it late.
func (h *health) recordAnswer(method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.method(method)
	m.answered, m.silences = true, 0
}

// heard is told the outcome of a request in a session without hostile input.
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

// silentMethod is the method over which a session has fallen silent: that of the request which has waited the longest.
func silentMethod(s *driver.Session, method string) string {
	if unanswered, _ := s.UnansweredMethods(); len(unanswered) > 0 {
		return unanswered[len(unanswered)-1]
	}
	return method
}

// silenceError is the error of a method that has no answer, as far as is known; nil when that is not known. The caller
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

// needsCheck reports whether so many requests had no answer that a control is worth while. Each time it takes twice as
// many.
func (h *health) needsCheck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason != "" || h.silences < max(h.threshold, healthCheckThreshold) {
		return false
	}
	h.threshold = 2 * h.silences
	return true
}

// downReason is why the run does not go on, empty when it does, and the session of the control that has shown it: nil
// when no session could be opened.
func (h *health) downReason() (reason string, control *driver.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason, h.failedCheck
}

// noSessionError is why no session can be opened.
type noSessionError struct{ reason string }

func (n *noSessionError) Error() string { return "not tried: " + n.reason }

func (*noSessionError) Reason() report.Reason { return report.Stopped }

// noSessionError is a *noSessionError once no session can be opened: who waits for one need not try.
func (h *health) noSessionError() error {
	if reason, control := h.downReason(); reason != "" && control == nil {
		return &noSessionError{reason}
	}
	return nil
}
