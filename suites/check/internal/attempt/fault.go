package attempt

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// SessionFault is what went wrong with the sessions of an attempt, and may have been caused by a busy machine or by
// another check.
type SessionFault struct {
	// Ended says that a session has ended, or could not be opened.
	Ended bool
	// Unanswered are the methods of requests that were not answered in time.
	Unanswered []string
	// Reused says that others may have used the sessions before.
	Reused bool
}

func (f SessionFault) IsSet() bool { return f.Ended || len(f.Unanswered) > 0 }

// AddFault adds a fault outside the attempt's own sessions.
func (c *Scope) AddFault(f SessionFault) {
	c.fault.Ended = c.fault.Ended || f.Ended
	c.fault.Unanswered = append(c.fault.Unanswered, f.Unanswered...)
}

// Faults returns what went wrong with the sessions of the attempt and of the steps that it reads.
func (c *Scope) Faults() SessionFault {
	all := SessionFault{c.fault.Ended, slices.Clone(c.fault.Unanswered), c.Reused}
	for _, u := range c.Uses {
		if u.Session.HasFault() {
			unanswered, only := u.Session.UnansweredMethods()
			all.Ended = all.Ended || !only
			all.Unanswered = append(all.Unanswered, unanswered...)
		}
	}
	return all
}

// waitPastTimeout waits in the sessions for late responses. After that, RequireNotLate finds them in the record,
// although the session is closed.
func (c *Scope) waitPastTimeout() {
	for _, u := range c.Uses {
		if unanswered, _ := u.Session.UnansweredMethods(); len(unanswered) > 0 {
			u.Session.AwaitLate(u.mark)
		}
	}
}

// oneClientEntry reports that a server over HTTP serves one client at a time.
const oneClientEntry = "http/multiple-clients"

// voidOutcome returns why nothing in the sessions of the attempt can be held against the server: a response was not its
// own or cannot be parsed, it has terminated the session, or mcpcheck has reached a limit; nil otherwise.
func (c *Scope) voidOutcome() *Outcome {
	void := func(r report.Reason, why string, causes ...string) *Outcome {
		return &Outcome{Verdict: catalogue.Inconclusive, Reason: r, Message: why, YieldsTo: causes, Retryable: true}
	}
	for _, u := range c.Uses {
		if limitErr := u.Session.LimitErr(u.mark); limitErr != nil {
			return void(report.Limit, limitErr.Error())
		}
		if u.Session.HasUnreadableResponse(u.mark) {
			return void(report.OtherCheck, "in place of an answer came what cannot be read",
				"stdio/stdout-only-messages", "stdio/one-message-per-line")
		}
		if u.Session.HTTP().HasHeldRequest(u.mark) {
			return void(report.ForeignAnswer, "something in front of the server refused a request for the rate of "+
				"requests, so that it was late")
		}
		for _, x := range u.Session.HTTP().RoundTrips() {
			a := x.Response()
			if a.IsForOneClient() {
				return void(report.OtherCheck, "the server serves one client at a time", oneClientEntry)
			}
			if a.IsFromIntermediary() {
				return void(report.ForeignAnswer, "an answer was not the server's own: "+a.String())
			}
			if x.IsSessionTerminated() && !u.Session.HasInvalidInput() {
				return void(report.Died, "the server has ended the session: "+a.String())
			}
			if limitErr := a.LimitErr(); limitErr != nil && x.IsManual() { // otherwise its messages are in the record
				return void(report.Limit, limitErr.Error())
			}
		}
	}
	return c.stepVoid
}
