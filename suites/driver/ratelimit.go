package driver

import (
	"fmt"
	"regexp"
	"strings"
)

var rateLimitPattern = regexp.MustCompile(
	`(?i)rate[-_ ]?limit|too many (?:requests|calls|invocations)|throttl|quota exceeded|` +
		`(?:http|status|code|error):? *429\b`,
)

// IsRateLimited reports whether, by its text, a reply rejects a request because there were too many of them, which says
// nothing about the request itself. If the request contains such words, the reply may repeat them, and the result is
// false.
func (r Reply) IsRateLimited() bool {
	return r.IsFailure() && rateLimitPattern.MatchString(r.MessageText()) && (r.Request == nil ||
		!rateLimitPattern.Match(r.Request.Raw.Bytes()))
}

// IsBusy reports whether the server rejected a request because it still handles another one.
func (r Reply) IsBusy() bool { return r.Answered() && r.Frame.RoundTrip.IsBusy() }

// IsSessionTerminated reports whether the server rejected a request because it no longer knows the session.
func (r Reply) IsSessionTerminated() bool {
	return r.IsStatusOnly() && r.Frame.RoundTrip.isSessionNotFound()
}

// IsFailure reports whether a reply is an error, or a tool result with isError.
func (r Reply) IsFailure() bool { return r.Member("error") != nil || r.Result()["isError"] == true }

// MessageText returns the text of a reply for people: the message of an error, or the texts of a tool result.
func (r Reply) MessageText() string {
	var texts []string
	if message, ok := r.Error()["message"]; ok {
		texts = append(texts, textOf(message))
	}
	content, _ := r.Result()["content"].([]any)
	for _, block := range content {
		if m, ok := block.(M); ok && m["text"] != nil {
			texts = append(texts, textOf(m["text"]))
		}
	}
	return strings.Join(texts, "\n")
}

// textOf returns a string as it is, without copying it, and formats any other value.
func textOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return fmt.Sprint(v)
}
