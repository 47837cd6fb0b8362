package attempt

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// DecisiveFrames returns the call that decided a fail. If it is not known, that is the last frame that contains what
// the message quotes, else the last request whose method the message names, else the last frame of the server and, if
// there is none, the last that was sent.
func (o Outcome) DecisiveFrames() []*driver.Frame {
	if len(o.DecidedBy) > 0 || len(o.Evidence.Parts) > 0 {
		return o.DecidedBy
	}
	var frames []*driver.Frame
	for _, p := range o.Ranges {
		frames = append(frames, p.frames()...)
	}
	fromServer := func(f *driver.Frame) bool { return f.Side != driver.FromClient }
	quoted := func(f *driver.Frame) bool { return fromServer(f) && hasQuotes(o.Findings, f) }
	named := func(f *driver.Frame) bool { return f.IsRequest() && namesMethod(o.Findings, f) }
	if f := lastFrame(frames, quoted); f != nil {
		return f.WithTrigger()
	}
	if sent := lastFrame(frames, named); sent != nil {
		answers := func(f *driver.Frame) bool { return f.IsResponse() && driver.SameID(f.RequestID(), sent.ID) }
		if f := lastFrame(frames, answers); f != nil && f.Position.SameRecord(sent.Position) {
			return []*driver.Frame{sent, f}
		}
		return []*driver.Frame{sent}
	}
	if f := lastFrame(frames, fromServer); f != nil {
		return f.WithTrigger()
	}
	if len(frames) == 0 {
		return nil
	}
	sent := frames[len(frames)-1]
	if sent.RoundTrip != nil {
		return sent.RoundTrip.Frames()
	}
	return []*driver.Frame{sent}
}

// lastFrame returns the last frame that matches; nil when none does.
func lastFrame(frames []*driver.Frame, matches func(*driver.Frame) bool) *driver.Frame {
	for _, f := range slices.Backward(frames) {
		if matches(f) {
			return f
		}
	}
	return nil
}

// quotation matches a text in quotation marks.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)+"`)

// hasQuotes reports whether the findings quote something that was received, and the frame contains all of it.
func hasQuotes(findings []report.Finding, f *driver.Frame) (all bool) {
	text := f.Raw.String()
	for _, finding := range findings {
		for _, quoted := range quotation.FindAllString(finding.Got, -1) {
			if all = strings.Contains(text, quoted); !all {
				return false
			}
		}
	}
	return all
}

// namesMethod reports whether a finding names the method of a request.
func namesMethod(findings []report.Finding, request *driver.Frame) bool {
	return strings.Contains(request.Method, "/") && slices.ContainsFunc(findings, func(f report.Finding) bool {
		return strings.Contains(f.Want+" "+f.Got, request.Method)
	})
}
