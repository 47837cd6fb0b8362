package report

import "slices"

// ToolUse is the outcome of the calls of a tool. Only those with valid arguments tell whether it works: others have to
// fail.
type ToolUse struct {
	Name     string `json:"name"`
	Answered bool   `json:"answered,omitempty"` // any call was
	Silent   bool   `json:"silent,omitempty"`   // none was, though the server went on
	Crashed  bool   `json:"crashed,omitempty"`  // the server ended during a call
	Works    bool   `json:"works,omitempty"`    // a call with valid arguments succeeded
	Failed   bool   `json:"failed,omitempty"`   // every such call failed, of those that came to an end
	Faulty   bool   `json:"faulty,omitempty"`   // and not for its arguments, as far as can be told
	Message  string `json:"said,omitempty"`     // by such a failure, if every such call failed
}

// failed notes that a call with valid arguments has. What tells of a fault is said before all else, and otherwise what
// does not depend on which came first.
func (u *ToolUse) RecordFail(said string, faulty bool) {
	if u.Works {
		return
	}
	if !u.Failed || faulty && !u.Faulty || faulty == u.Faulty && said < u.Message {
		u.Message = said
	}
	u.Failed, u.Faulty = true, u.Faulty || faulty
}

// MergeToolUse adds what another shard has called.
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
