package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// health is what is known of whether the server is up: whether sessions can be opened, which methods are answered, and
// whether a session lasts in which nothing but harmless requests is sent. It stops a run whose server no longer serves,
// so that the run does not wait for the same silence a hundred times. What it decides while checks run side by side
// ends no check for good: every verdict that rests on it is decided again when nothing else runs.
type health struct {
	mu        sync.Mutex
	discovery *driver.Session          // that was handed over; nil when there is none
	methods   map[string]*methodHealth // of which requests were sent
	silences  int                      // requests without an answer, of methods that are not known to have none
	threshold int                      // how many of them call for a control
	failures  int                      // sessions in a row that could not be opened
	opened    bool                     // a session was, besides that of discovery
	quiet     bool                     // nothing else runs: what is measured once is known

	reason  string          // why the run does not go on; empty: it does
	control *driver.Session // in which a control has failed; nil: no session can be opened
}

// methodHealth is what is known of a method.
type methodHealth struct {
	answered bool  // some request of it was
	silences int   // requests in a row without an answer in time
	err      error // of the last of them
}

const (
	mostFailures = 3 // sessions in a row that cannot be opened stop a run
	fewSilences  = 2 // requests without an answer call for a control

	// So many requests in a row without an answer show that a method has none: one that was never answered, or one that
	// was. While nothing else runs, a single request shows it of a method that was never answered.
	mostNever    = 2
	mostNoLonger = 6
)

// begin takes the session of discovery, nil when there is none: what was answered in it, and what was not when nothing
// else ran.
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
	h.recall()
}

// recall notes what had no answer in the session of discovery. The caller holds mu.
func (h *health) recall() {
	if h.discovery == nil {
		return
	}
	unanswered, _ := h.discovery.Silences()
	for _, method := range unanswered {
		if m := h.method(method); !m.answered {
			m.silences = mostNever
			m.err = fmt.Errorf("no answer to %s within %v (--timeout)", method, h.discovery.Patience())
		}
	}
}

// restart gives the server another chance, now that nothing else runs.
func (h *health) restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.reason, h.control, h.quiet = 0, "", nil, true
	for _, m := range h.methods {
		m.silences = 0
	}
	h.recall()
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

// session is told of each session that was wanted: err is why it could not be opened. One to which nothing was said yet
// proves nothing.
func (h *health) session(s *driver.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && s.Ordinary():
		h.failures, h.opened = 0, h.opened || s != h.discovery
	case err == nil, errors.Is(err, context.Canceled):
	default:
		if h.failures++; h.failures >= mostFailures {
			h.stop(h.lost(err), nil)
		}
	}
}

// RunsOnce begins what is said of a server whose processes end at once since there was another one.
const RunsOnce = "no session could be opened after the first one, as if the server could run only once: "

// lost says that no session can be opened. The caller holds mu.
func (h *health) lost(err error) string {
	var death *driver.Death
	if h.discovery != nil && !h.opened && errors.As(err, &death) {
		return RunsOnce + Explain(err).Error()
	}
	return "the server can no longer be talked to: " + Explain(err).Error()
}

// fail is told of a control that has failed, in a session or because none could be opened.
func (h *health) fail(control *driver.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if control == nil {
		h.stop(h.lost(err), nil)
	} else {
		h.stop(err.Error(), control)
	}
}

// stop stops the run, unless it was stopped before. The caller holds mu.
func (h *health) stop(reason string, control *driver.Session) {
	if h.reason == "" {
		h.reason, h.control = reason, control
	}
}

// answers is told that a request of a method has an answer, be it late.
func (h *health) answers(method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.method(method)
	m.answered, m.silences = true, 0
}

// heard is told the outcome of a request in a session without hostile input.
func (h *health) heard(s *driver.Session, r driver.Reply) {
	switch {
	case r.Answered():
		h.answers(r.Method)
	case errors.As(r.Err, new(*driver.Silence)) && driver.ExcessOf(r.Err) == nil:
		h.mu.Lock()
		defer h.mu.Unlock()
		m := h.method(blamed(s, r.Method))
		if h.silenceOf(m) == nil {
			h.silences++
		}
		m.silences, m.err = m.silences+1, r.Err
	}
}

// blamed is the method over which a session has fallen silent: that of the request which has waited the longest.
func blamed(s *driver.Session, method string) string {
	if unanswered, _ := s.Silences(); len(unanswered) > 0 {
		return unanswered[len(unanswered)-1]
	}
	return method
}

// silenceOf is the error of a method that has no answer, as far as is known; nil when that is not known. The caller
// holds mu.
func (h *health) silenceOf(m *methodHealth) error {
	enough := mostNever
	switch {
	case m.answered:
		enough = mostNoLonger
	case h.quiet:
		enough = 1
	}
	if m.silences < enough {
		return nil
	}
	return m.err
}

// unanswered is silenceOf for the method of that name.
func (h *health) unanswered(method string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silenceOf(h.method(method))
}

// suspect reports whether so many requests had no answer that a control is worth while. Each time it takes twice as
// many.
func (h *health) suspect() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason != "" || h.silences < max(h.threshold, fewSilences) {
		return false
	}
	h.threshold = 2 * h.silences
	return true
}

// stopped is why the run does not go on, empty when it does, and the session of the control that has shown it: nil when
// no session could be opened.
func (h *health) stopped() (reason string, control *driver.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason, h.control
}

// noSession is why no session can be opened.
type noSession struct{ why string }

func (n *noSession) Error() string { return "not tried: " + n.why }

func (*noSession) Reason() Reason { return Stopped }

// noSession is a *noSession once no session can be opened: who waits for one need not try.
func (h *health) noSession() error {
	if reason, control := h.stopped(); reason != "" && control == nil {
		return &noSession{reason}
	}
	return nil
}
