// Package elicitation holds the checks of what servers ask users for, through the client: by requests of their own in
// sessions of the handshake, and by their results without one.
package elicitation

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Merge(forms, urls, ids, answers)

// create is the method by which servers ask.
const create = "elicitation/create"

// The two modes.
const (
	formMode = "form"
	urlMode  = "url"
)

// elicitations are those of a mode that the server has sent.
func elicitations(t *T, w Wire, mode string) []kit.Question {
	all := kit.Questions(t, w, create)
	return slices.DeleteFunc(all, func(q kit.Question) bool { return kit.ModeOf(q.Params) != mode })
}

// required are the errors that say that the user has to be at a URL first. Earlier revisions have no such error, and
// later ones forbid it.
func required(w Wire, revision string) Messages {
	return w.Errors().Established(revision).Filter("error -32042", func(m Message) bool {
		e, _ := m.JSON()["error"].(M)
		code, _ := driver.Reply{Frame: m.Frame}.Code()
		return e != nil && code == urlElicitationRequired && revision == "2025-11-25"
	})
}

// announced are the elicitations that an error says to be required.
func announced(m Message) (all []kit.Question) {
	e, _ := m.JSON()["error"].(M)
	data, _ := e["data"].(M)
	list, _ := data["elicitations"].([]any)
	for n, v := range list {
		if params, isObject := v.(M); isObject {
			all = append(all, kit.Question{
				Method: create, Params: params, Key: fmt.Sprintf("elicitations/%d", n), Session: m.Session,
				Frame: m.Frame, Request: m.Request,
			})
		}
	}
	return all
}

// visits are all elicitations of URLs: those that were sent, and those that errors announce.
func visits(t *T, w Wire) []kit.Question {
	all := elicitations(t, w, urlMode)
	for _, m := range required(w, t.Revision).List {
		all = append(all, announced(m)...)
	}
	return all
}

// judgeForms tries a check on the forms that were sent.
func judgeForms(t *T, w Wire, run func(*T, kit.Question)) {
	kit.JudgeQuestions(t, "form for the user was sent", elicitations(t, w, formMode), run)
}

// judgeURLs tries a check on elicitations of URLs.
func judgeURLs(t *T, all []kit.Question, run func(*T, kit.Question)) {
	kit.JudgeQuestions(t, "URL for the user was sent", all, run)
}

// broken are the rules of the schema that an elicitation breaks and that an entry reports. What all elicitations have
// in common counts for the entry of their mode.
func broken(t *T, q kit.Question, id string) (rules []string) {
	message := q.Frame.JSON()
	if t.Modern() {
		message = M{"method": q.Method, "params": q.Params}
	}
	for _, v := range schemas.ValidateMessage(t.Revision, "ElicitRequest", message) {
		owner := kit.OwnerOf(v, t.Revision)
		if owner == formSchema && kit.ModeOf(q.Params) == urlMode {
			owner = urlSchema
		}
		if owner == id {
			rules = append(rules, v.String())
		}
	}
	return rules
}

// urlElicitationRequired is the code of the errors that say so.
const urlElicitationRequired = -32042

// The entries of shapes.
const (
	formSchema = "elicitation/form-request-schema"
	urlSchema  = "elicitation/url-request-schema"
	flatSchema = "elicitation/flat-primitive-schema"
	formats    = "elicitation/string-format"

	requiredShape = "elicitation/required-error-shape"
)
