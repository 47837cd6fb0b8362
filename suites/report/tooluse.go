package report

import "slices"

// ToolUse is the outcome of the calls of a tool. Only calls with valid arguments show whether it works, since others
// are expected to fail.
type ToolUse struct {
	Name string `json:"name"`
	// Answered says that some call was answered.
	Answered bool `json:"answered,omitempty"`
	// Silent says that no call was answered although the server went on.
	Silent bool `json:"silent,omitempty"`
	// Crashed says that the server ended during a call.
	Crashed bool `json:"crashed,omitempty"`
	// Works says that a call with valid arguments succeeded.
	Works bool `json:"works,omitempty"`
	// Failed says that all completed calls with valid arguments failed.
	Failed bool `json:"failed,omitempty"`
	// Faulty says that such a failure seems not to be due to the arguments.
	Faulty bool `json:"faulty,omitempty"`
	// Message is the message of such a failure.
	Message string `json:"said,omitempty"`
}

// RecordFail notes that a call with valid arguments has failed. The message of a fault is preferred; otherwise the
// choice does not depend on the order of the calls.
func (u *ToolUse) RecordFail(message string, faulty bool) {
	if u.Works {
		return
	}
	if !u.Failed || faulty && !u.Faulty || faulty == u.Faulty && message < u.Message {
		u.Message = message
	}
	u.Failed, u.Faulty = true, u.Faulty || faulty
}

// MergeToolUse adds the calls of another shard.
func MergeToolUse(all []ToolUse, other []ToolUse) []ToolUse {
	for _, use := range other {
		i := slices.IndexFunc(all, func(u ToolUse) bool { return u.Name == use.Name })
		if i < 0 {
			all = append(all, use)
			continue
		}
		u := &all[i]
		u.Answered, u.Crashed = u.Answered || use.Answered, u.Crashed || use.Crashed
		u.Silent = !u.Answered && (u.Silent || use.Silent)
		switch {
		case use.Works:
			u.Works, u.Failed, u.Faulty, u.Message = true, false, false, ""
		case use.Failed:
			u.RecordFail(use.Message, use.Faulty)
		}
	}
	return all
}
