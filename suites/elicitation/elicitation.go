// Package elicitation holds the checks of elicitation: what servers ask users for through the client, in form and URL
// mode. Legacy revisions have requests of the server for that, the modern ones results with input requests.
//
// The checks of what is asked watch the whole run; client.CollectServerRequests and callInAllModes are set-up steps,
// which make servers ask. The checks of responses read the steps of callInMode. There tools are called again by clients
// with different modes, whose users accept, decline, cancel and fill in invalid content.
package elicitation

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(formChecks, urlChecks, idChecks, responseChecks)

// createMethod is the method of elicitations.
const createMethod = "elicitation/create"

// These are the modes of elicitation.
const (
	formMode = "form"
	urlMode  = "url"
)

// elicitations returns the elicitations of a mode that the server has sent.
func elicitations(t *check.T, w check.Wire, mode string) []client.ServerRequest {
	all := client.ServerRequests(t, w, createMethod)
	return slices.DeleteFunc(all, func(q client.ServerRequest) bool { return client.ModeOf(q.Params) != mode })
}

// requiredErrors returns the errors by which the server requires the user to visit a URL first. Earlier revisions than
// 2025-11-25 have no such error, and later ones forbid it.
func requiredErrors(w check.Wire, revision string) check.Messages {
	return w.Errors().Negotiated(revision).Filter("error -32042", func(m check.Message) bool {
		e, _ := m.JSON()["error"].(check.M)
		code, _ := driver.Reply{Frame: m.Frame}.Code()
		return e != nil && code == errcode.URLElicitationRequired && revision == "2025-11-25"
	})
}

// announcedElicitations returns the elicitations that an error requires.
func announcedElicitations(m check.Message) (all []client.ServerRequest) {
	e, _ := m.JSON()["error"].(check.M)
	data, _ := e["data"].(check.M)
	list, _ := data["elicitations"].([]any)
	for n, v := range list {
		if params, isObject := v.(check.M); isObject {
			all = append(all, client.ServerRequest{
				Method: createMethod, Params: params, InputKey: fmt.Sprintf("elicitations/%d", n), Session: m.Session,
				Frame: m.Frame, ClientRequest: m.Request,
			})
		}
	}
	return all
}

// urlElicitations returns all elicitations in URL mode: those that were sent, and those that errors announce.
func urlElicitations(t *check.T, w check.Wire) []client.ServerRequest {
	all := elicitations(t, w, urlMode)
	for _, m := range requiredErrors(w, t.Revision).List {
		all = append(all, announcedElicitations(m)...)
	}
	return all
}

// eachForm runs a check on the forms that were sent.
func eachForm(t *check.T, w check.Wire, run func(*check.T, client.ServerRequest)) {
	client.JudgeServerRequests(t, "form for the user was sent", elicitations(t, w, formMode), run)
}

// eachURL runs a check on elicitations in URL mode.
func eachURL(t *check.T, all []client.ServerRequest, run func(*check.T, client.ServerRequest)) {
	client.JudgeServerRequests(t, "URL for the user was sent", all, run)
}

// violations returns the rules of the schema that an elicitation violates and the entry reports. Violations of what
// both modes have in common belong to the entry of the elicitation's mode.
func violations(t *check.T, q client.ServerRequest, id string) (rules []string) {
	message := q.Frame.JSON()
	if t.IsModern() {
		message = check.M{"method": q.Method, "params": q.Params}
	}
	for _, v := range schemas.ValidateMessage(t.Revision, "ElicitRequest", message) {
		owner := protocol.OwnerOf(v, t.Revision)
		if owner == formSchemaID && client.ModeOf(q.Params) == urlMode {
			owner = urlSchemaID
		}
		if owner == id {
			rules = append(rules, v.String())
		}
	}
	return rules
}

// These are the ids of the entries that report violations of the schema.
const (
	formSchemaID   = "elicitation/form-request-schema"
	urlSchemaID    = "elicitation/url-request-schema"
	flatSchemaID   = "elicitation/flat-primitive-schema"
	stringFormatID = "elicitation/string-format"

	requiredErrorID = "elicitation/required-error-shape"
)
