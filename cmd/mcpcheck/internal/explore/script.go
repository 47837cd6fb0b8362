package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// scriptVersion is the version of the format of scripts. Members are added to it, and none is removed within a version.
const scriptVersion = 1

// Script is a sequence of legal messages of a client, in one session or several.
type Script struct {
	Version int `json:"script"`
	// Requirement is the id of the requirement that the script shows to be violated.
	Requirement string `json:"requirement"`
	Revision    string `json:"revision"`
	Seed        int64  `json:"seed"`
	Steps       []Step `json:"steps"`
	// Wire is what was sent and received when it was, for readers.
	Wire []string `json:"wire,omitempty"`
}

// Action is what a step does.
type Action string

const (
	// Connect opens the session, which other steps do as well. Its params are the capabilities of the client, and its
	// order is that of the members of initialize.
	Connect Action = "connect"
	// Request sends a request and waits for its response.
	Request Action = "request"
	// Send sends a request and does not wait.
	Send Action = "send"
	// Notify sends a notification about the client's roots, if it has declared them.
	Notify Action = "notify"
	// Retry sends the request of the step Of again, with the input that its result requires.
	Retry Action = "retry"
	// Listen opens a stream of subscriptions.
	Listen Action = "listen"
	// Cancel cancels the request of the step Of, if it has no response yet.
	Cancel Action = "cancel"
	// Close ends the session.
	Close Action = "close"
)

// Step is one message of the client, or the beginning or the end of a session.
type Step struct {
	// Number identifies the step in its script.
	Number int `json:"number"`
	// Session numbers the session. A step opens it, unless it is open.
	Session int    `json:"session"`
	Action  Action `json:"do"`
	Method  string `json:"method,omitempty"`
	// Params are the params; nil sends none. A value of the form {"$reply": N, "at": [KEY, …]} stands for a part of the
	// result of step N.
	Params check.M `json:"params,omitempty"`
	// EmptyParams sends params without members.
	EmptyParams bool `json:"emptyParams,omitempty"`
	// ID is the id of the request; nil is the next number.
	ID json.RawMessage `json:"id,omitempty"`
	// Order is the seed for the order of the members; 0 sorts them.
	Order uint64 `json:"order,omitempty"`
	// Handshake says how a session begins that a step of Connect opens.
	Handshake Handshake `json:"handshake,omitzero"`
	// Of is the number of the step that a step is about.
	Of int `json:"of,omitempty"`
}

// actions are the values of Action.
var actions = []Action{Connect, Request, Send, Notify, Retry, Listen, Cancel, Close}

// Path returns the path of the file for the script that shows the failure of a requirement.
func Path(dir, requirement string) string {
	return filepath.Join(dir, "explore-"+strings.ReplaceAll(requirement, "/", "-")+".json")
}

// ParseScript reads a script.
func ParseScript(content []byte) (s Script, err error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return s, errors.New("it is not JSON of mcpcheck explore")
	}
	switch {
	case s.Version != scriptVersion:
		return s, fmt.Errorf("its version is %d, not %d", s.Version, scriptVersion)
	case !slices.Contains(catalogue.Revisions, s.Revision):
		return s, fmt.Errorf("its revision %q is unknown", s.Revision)
	}
	for i, step := range s.Steps {
		if !slices.Contains(actions, step.Action) {
			return s, fmt.Errorf("step %d does %q, which is none of %v", i+1, step.Action, actions)
		}
		if slices.Contains([]Action{Request, Send, Listen}, step.Action) && step.Method == "" {
			return s, fmt.Errorf("step %d has no method", i+1)
		}
	}
	return s, nil
}

// key is a text that is the same for equal steps.
func key(steps []Step) string { return string(text.CompactJSON(steps)) }

// reference returns the value that stands for a part of the result of a step.
func reference(step int, at []any) check.M { return check.M{"$reply": step, "at": at} }

// resolve returns a value with references replaced by parts of results. ok is false if a result lacks the part.
func resolve(value any, resultOf func(step int) check.M) (out any, ok bool) {
	switch v := value.(type) {
	case check.M:
		if step, is := v["$reply"]; is {
			at, _ := v["at"].([]any)
			return partOf(resultOf(asInt(step)), at)
		}
		object := check.M{}
		for name, member := range v {
			if object[name], ok = resolve(member, resultOf); !ok {
				return nil, false
			}
		}
		return object, true
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], ok = resolve(item, resultOf); !ok {
				return nil, false
			}
		}
		return list, true
	}
	return value, true
}

// asInt returns a number of a script, which was read or made here; -1 for anything else.
func asInt(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return int(i)
		}
	}
	return -1
}

// partOf returns the part of a result at a path of member names and indexes.
func partOf(value any, at []any) (any, bool) {
	for _, step := range at {
		switch v := value.(type) {
		case check.M:
			name, _ := step.(string)
			if value = v[name]; value == nil {
				return nil, false
			}
		case []any:
			i := asInt(step)
			if i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, value != nil
}
