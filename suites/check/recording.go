package check

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// IsRecording reports whether a recording is judged, without a server.
func IsRecording(t *T) bool { return t.attempt.Run.IsReplay }

// recordedSession returns the session of an attempt that judges a recording. Its requests have the responses of the
// same requests in one recorded session, in their order. A list is read once, since it may have changed until it was
// read again. Whatever else is sent ends the check.
func (t *T) recordedSession() *driver.Session {
	root := t.attempt.Scope.Root()
	if root.Recorded != nil {
		return root.Recorded
	}
	i := slices.IndexFunc(t.attempt.Run.WatchedSessions, func(s *driver.Session) bool { return s.ConnectResult != nil })
	if i < 0 {
		RequireLiveServer(t)
	}
	var last Message
	lists := map[string]bool{}
	root.Recorded = driver.Recorded(t.attempt.Run.WatchedSessions[i], func(method string, params M) driver.Reply {
		isListed := lists[method] && params["cursor"] == nil
		lists[method] = strings.HasSuffix(method, "/list")
		for _, m := range recordedResponses(t, method) {
			follows := last.Frame == nil || last.Session == m.Session && last.At < m.Request.At
			recorded, _ := m.Request.JSON()["params"].(M)
			if follows && !isListed && sameParams(recorded, params) {
				last = m
				return m.Reply()
			}
		}
		panic(driver.NoServer{})
	})
	return root.Recorded
}

// sameParams reports whether params are the same but for _meta, which clients use for requests alike.
func sameParams(a, b M) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	withoutMeta := func(params M) M {
		params = maps.Clone(params)
		delete(params, "_meta")
		return params
	}
	return bytes.Equal(text.CompactJSON(withoutMeta(a)), text.CompactJSON(withoutMeta(b)))
}

// RecordedResponses returns the responses to all requests of a method where a recording is judged; recorded is false
// where there is a server instead. It ends a check if the recording has no such response.
func RecordedResponses(t *T, method string) (responses []Message, recorded bool) {
	if !IsRecording(t) {
		return nil, false
	}
	if responses = recordedResponses(t, method); len(responses) == 0 {
		RequireLiveServer(t)
	}
	return responses, true
}

// recordedMethod is the key of a memo: the responses to the requests of a method.
type recordedMethod string

func recordedResponses(t *T, method string) []Message {
	return Memo(t, recordedMethod(method), func() []Message {
		responses := Wire{Sessions: t.attempt.Run.WatchedSessions}.Responses()
		return responses.Filter("", func(m Message) bool { return m.Request != nil && m.Request.Method == method }).List
	})
}
