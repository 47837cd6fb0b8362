package driver

import (
	"errors"
	"fmt"
	"time"
)

// Excess says that mcpcheck itself cut something off that was more than it takes: how the server went on is not known,
// and nothing of it is held against the server.
type Excess struct{ What string }

func (e *Excess) Error() string { return e.What }

// tooLong is that of a message; what names the carrier and its verb: "the body has".
func (l Limits) tooLong(what string) *Excess {
	return &Excess{fmt.Sprintf("%s more than %s, mcpcheck's own limit (--max-message)", what, Size(l.Message))}
}

// ExcessOf is the excess that an error is about; nil when it is about none.
func ExcessOf(err error) *Excess {
	var e *Excess
	errors.As(err, &e)
	return e
}

// hold waits by mcpcheck's own will while the server may be sending.
func (r *record) hold(wait func()) {
	r.mu.Lock()
	r.holds++
	r.mu.Unlock()
	wait()
	r.mu.Lock()
	r.holds, r.held = r.holds-1, time.Now()
	r.mu.Unlock()
}

// heldSince reports whether the session did not listen for some of the time since a moment. The caller holds mu.
func (r *record) heldSince(moment time.Time) bool { return r.holds > 0 || r.held.After(moment) }

// Excess is what mcpcheck cut off in the session, or what of the record since the mark it does not keep; nil when there
// is neither.
func (r *record) Excess(mark int) *Excess {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.excess == nil && r.lost > mark {
		return tooMuch
	}
	return r.excess
}

// Unheard is Excess for who looks for what the server sends unasked, which is the first that is not kept.
func (r *record) Unheard(mark int) *Excess {
	if excess := r.Excess(mark); excess != nil {
		return excess
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unheard > mark {
		return tooMuch
	}
	return nil
}

var tooMuch = &Excess{"mcpcheck does not keep all that came: it is too much"}

// exceed notes what was cut off; nil is nothing.
func (r *record) exceed(e *Excess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.excess == nil {
		r.excess = e
	}
}
