package driver

import (
	"fmt"
	"regexp"
	"strings"
)

// rateLimitPattern is how servers say that they limit how often they are asked.
var rateLimitPattern = regexp.MustCompile(
	`(?i)rate[-_ ]?limit|too many (?:requests|calls|invocations)|throttl|quota exceeded|` +
		`(?:http|status|code|error):? *429\b`,
)

// IsRateLimited reports whether an answer refuses a request because there were too many of them, as far as its text
// tells: that says nothing of the request itself. Where the request has such words, they may come from there.
func (r Reply) IsRateLimited() bool {
	return r.IsFailure() && rateLimitPattern.MatchString(r.MessageText()) && (r.Request == nil ||
		!rateLimitPattern.Match(r.Request.Raw.Bytes()))
}

// Busy reports whether the server has refused a request because of another one that it still serves.
func (r Reply) IsBusy() bool { return r.Answered() && r.Frame.RoundTrip.IsBusy() }

// IsSessionTerminated reports whether the server refuses a request since it knows the session no more.
func (r Reply) IsSessionTerminated() bool {
	return r.IsStatusOnly() && r.Frame.RoundTrip.isSessionNotFound()
}

// Refuses reports whether an answer is an error, or the result of a tool that has failed.
func (r Reply) IsFailure() bool { return r.Member("error") != nil || r.Result()["isError"] == true }

// Text is what an answer says to people: the message of an error, the texts of a tool's result.
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

// said is a text, or what stands in its place. A long text is not copied.
func textOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return fmt.Sprint(v)
}
