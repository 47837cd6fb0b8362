package harness

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// ToolUse is what came of the calls of a tool, with whatever arguments. Invalid ones have to fail.
type ToolUse struct {
	Name     string `json:"name"`
	Answered bool   `json:"answered,omitempty"` // any of them was
	Silent   bool   `json:"silent,omitempty"`   // none was, though the server went on
	Failed   bool   `json:"failed,omitempty"`   // every answer was an error, or had isError
	Said     string `json:"said,omitempty"`     // by the answer to valid arguments, if every answer was one of these
}

// longAnswer is how many bytes an answer has that is not read once more to find out whether it is a failure.
const longAnswer = 64 << 10

// UsedTools are the tools of the server that were called in the sessions, in the order of its list.
func UsedTools(server *Server, sessions []*driver.Session) (used []ToolUse) {
	at, called := map[string]*ToolUse{}, map[string]bool{}
	for _, tool := range server.Tools {
		if name, named := tool["name"].(string); named {
			at[name] = &ToolUse{Name: name}
		}
	}
	for _, s := range sessions {
		open := map[string]driver.Reply{} // calls without an answer yet, by their ids
		for _, f := range s.Record(0) {
			key := driver.IDKey(f.Answers())
			switch {
			case f.Side == driver.FromClient && f.IsRequest() && f.Method == "tools/call":
				if name := calledTool(f); at[name] != nil {
					called[name] = true
					open[driver.IDKey(f.ID)] = driver.Reply{Request: f}
				}
			case f.Side == driver.Event && !f.AfterEOF && strings.HasPrefix(f.Raw.String(), "the server "):
				clear(open) // it has ended by itself
			case f.Side == driver.FromServer && f.IsResponse() && open[key].Request != nil:
				reply := open[key]
				delete(open, key)
				reply.Frame = f
				at[calledTool(reply.Request)].answered(reply)
			}
		}
		for _, reply := range open {
			use := at[calledTool(reply.Request)]
			use.Silent = !use.Answered
		}
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		if called[name] {
			used = append(used, *at[name])
			delete(called, name) // a server may list it twice
		}
	}
	return used
}

// calledTool is the name in a call.
func calledTool(f *driver.Frame) string {
	params, _ := f.JSON()["params"].(M)
	name, _ := params["name"].(string)
	return name
}

// answered notes an answer. Calls with valid arguments ask for progress, others do not.
func (u *ToolUse) answered(r driver.Reply) {
	failed := r.Frame.Raw.Len() <= longAnswer && r.Refuses()
	u.Failed = failed && (u.Failed || !u.Answered)
	u.Answered, u.Silent = true, false
	params, _ := r.Request.JSON()["params"].(M)
	meta, _ := params["_meta"].(M)
	switch text := r.Text(); {
	case !u.Failed:
		u.Said = ""
	case meta["progressToken"] != nil && (u.Said == "" || text < u.Said): // whatever came first
		u.Said = text
	}
}

// addUse adds what another shard has called.
func addUse(all []ToolUse, other []ToolUse) []ToolUse {
	for _, use := range other {
		i := slices.IndexFunc(all, func(u ToolUse) bool { return u.Name == use.Name })
		switch {
		case i < 0:
			all = append(all, use)
		case !all[i].Answered && (use.Answered || use.Silent), use.Answered && !use.Failed:
			all[i] = use
		case all[i].Failed && all[i].Said == "":
			all[i].Said = use.Said
		}
	}
	return all
}
