package check

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// IsRecording reports whether a recording is judged, without a server.
func IsRecording(t *T) bool { return t.attempt.Run.IsReplay }

// recordedSession returns the established session of an attempt that judges a recording, for valid or for invalid
// input.
func (t *T) recordedSession(invalidInput bool) *driver.Session {
	root := t.attempt.Scope.Root()
	if root.Recorded == nil {
		root.Recorded = map[bool]*driver.Session{}
	}
	if root.Recorded[invalidInput] == nil {
		all := t.attempt.Run.WatchedSessions
		i := slices.IndexFunc(all, func(s *driver.Session) bool { return s.ConnectResult != nil })
		if i < 0 {
			RequireLiveServer(t)
		}
		kind := recordedCalls
		if invalidInput {
			kind = recordedLines
		}
		s := replayedSession(t, kind)
		s.Resume(all[i])
		root.Recorded[invalidInput] = s
	}
	return root.Recorded[invalidInput]
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
