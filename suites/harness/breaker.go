package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// breaker stops a run whose server has stopped to serve, so that it does not wait for the same silence a hundred times.
type breaker struct {
	mu       sync.Mutex
	sessions int             // that could not be had, in a row
	silences int             // requests without an answer, in a row
	answered time.Time       // when the last answer was heard
	had      bool            // a session could be had, beside the first one
	first    *driver.Session // that of discovery; nil when there is none
	second   bool            // it was reset: one more time, a few failures are enough
	why      string
	gone     bool            // that is why: no session can be had
	failed   *driver.Session // of a control; nil when there is none

	served map[string]bool // methods of which a request was answered
	mute   map[string]mute // the others of which requests had no answer in time

	never map[string]bool // methods of which an answer was waited for longer than for others, in vain

	silent int // requests without an answer, in all
	bound  int // how many of them make the server suspect
}

// How many failures in a row open the breaker.
const (
	mostSessions = 3
	mostSilences = 6
)

// mute is what is known of a method that was never answered.
type mute struct {
	times int // that it had no answer in time
	err   error
}

// mostMute is how often a method is waited for in vain before it is not asked again where another check judges that.
const mostMute = 2

// fewSilences is how many requests without an answer make a server suspect.
const fewSilences = 3

// begin takes the session of discovery, nil when there is none. What it found silent was asked when nothing else ran.
func (b *breaker) begin(first *driver.Session) {
	if b.first = first; first == nil {
		return
	}
	silences, _ := first.Silences()
	for _, method := range silences {
		b.note(method, mute{mostMute, fmt.Errorf("no answer to %s within %v (--timeout)", method, first.Patience())})
	}
}

// reset gives a server another chance.
func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions, b.silences, b.why, b.gone, b.failed, b.second = 0, 0, "", false, nil, true
	b.mute = nil
}

// trip is told of a control that has failed in a session, nil when none could be had: it opens the breaker.
func (b *breaker) trip(failed *driver.Session, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = failed
	b.open(why, failed == nil)
}

// open opens the breaker, unless it is open; gone says that no session can be had. The caller holds mu.
func (b *breaker) open(why string, gone bool) {
	if b.why == "" {
		b.why, b.gone = why, gone
	}
}

// count opens the breaker when there were too many failures of a kind. The caller holds mu.
func (b *breaker) count(failures, most int, why string, gone bool) {
	if b.second {
		most = 2
	}
	if failures >= most {
		b.open(why, gone)
	}
}

// session is told of each session that was wanted: err is why it could not be had. One to which nothing was said yet
// proves nothing.
func (b *breaker) session(s *driver.Session, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil && s.Ordinary():
		b.sessions, b.had = 0, b.had || s != b.first
	case err == nil, errors.Is(err, context.Canceled):
	default:
		b.sessions++
		b.count(b.sessions, mostSessions, b.lost(err), true)
	}
}

// loss says that no session can be had.
func (b *breaker) loss(err error) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost(err)
}

// RunsOnce begins what is said of a server whose processes end at once since there was another one.
const RunsOnce = "no session could be opened after the first one, as if the server could run only once: "

// lost is loss for who holds mu.
func (b *breaker) lost(err error) string {
	var death *driver.Death
	if b.first != nil && !b.had && errors.As(err, &death) {
		return RunsOnce + Explain(err).Error()
	}
	return "the server can no longer be talked to: " + Explain(err).Error()
}

// heard is told what came of a request that was sent at a time. Silence counts when nothing else was answered
// meanwhile, and the method was served before: one request that hangs does not stop a run. Nor does it count that ping
// has no answer where discovery has found that it has none, and another request is harmless.
func (b *breaker) heard(s *driver.Session, sent time.Time, r driver.Reply) {
	harmless, _ := s.Harmless()
	var silence *driver.Silence
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.Answered():
		b.silences, b.answered = 0, time.Now()
		b.serves(r.Method)
	case r.Method == "ping" && harmless != "ping":
	case errors.As(r.Err, &silence):
		b.silent++
		if method := b.blame(s, r); b.served[method] && !b.answered.After(sent) {
			b.silences++
			b.count(b.silences, mostSilences, whySilent(silence), false)
		}
	}
}

// serves notes that a method is answered. The caller holds mu.
func (b *breaker) serves(method string) {
	if b.served == nil {
		b.served = map[string]bool{}
	}
	b.served[method] = true
	delete(b.mute, method)
}

// blame notes the method that a session has fallen silent over, and returns it. The caller holds mu.
func (b *breaker) blame(s *driver.Session, r driver.Reply) (method string) {
	method = r.Method
	if silences, _ := s.Silences(); len(silences) > 0 {
		method = silences[len(silences)-1]
	}
	if !b.served[method] {
		b.note(method, mute{b.mute[method].times + 1, r.Err})
	}
	return method
}

// note notes what is known of a method. The caller holds mu, or nobody else has the breaker yet.
func (b *breaker) note(method string, m mute) {
	if b.mute == nil {
		b.mute = map[string]mute{}
	}
	b.mute[method] = m
}

// silenceOf is the error of a method that is as good as known to have no answer: it never had one, and was waited for
// more than once or, when nothing else ran, once. Nil when that is not known.
func (b *breaker) silenceOf(method string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.mute[method]; m.times >= mostMute || b.second && m.times > 0 {
		return m.err
	}
	return nil
}

// lateness says that a request without an answer has one after all, so long after it; nil when it has none. A method is
// waited for in vain once.
func (b *breaker) lateness(r driver.Reply, within time.Duration) error {
	b.mu.Lock()
	never := b.never[r.Method]
	b.mu.Unlock()
	if never {
		return nil
	}
	waited, slow := r.Late(within)
	if waited && slow == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.never == nil {
			b.never = map[string]bool{}
		}
		b.never[r.Method] = true
	}
	return slow
}

// whySilent is why a run is stopped by silence.
func whySilent(silence *driver.Silence) string {
	if silence.Held {
		return silence.Error()
	}
	return "the server has stopped to answer: " + silence.Error()
}

// suspects reports whether so many requests had no answer that it is worth while to find out whether any would have had
// one. Each time it takes twice as many.
func (b *breaker) suspects() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != "" || b.silent < max(b.bound, fewSilences) {
		return false
	}
	b.bound = 2 * b.silent
	return true
}

// lostServer reports whether the breaker is open because no session can be had.
func (b *breaker) lostServer() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// control is the session in which a control has failed; nil when there is none.
func (b *breaker) control() *driver.Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

func (b *breaker) reason() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}

// noSession is why no session can be had.
type noSession struct{ why string }

func (n *noSession) Error() string { return "not tried: " + n.why }

func (*noSession) Reason() Reason { return Stopped }

// stopped is a *noSession while the breaker is open because no session can be had: who waits for one need not try.
func (b *breaker) stopped() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gone {
		return nil
	}
	return &noSession{b.why}
}
