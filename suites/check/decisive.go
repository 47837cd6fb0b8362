package check

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// framesIn are the exchanges that values tell of: replies, answers over HTTP, frames, errors, subjects, and lists of
// these.
func framesIn(values ...any) (frames []*driver.Frame) {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
		case interface{ Frames() []*driver.Frame }:
			frames = append(frames, v.Frames()...)
		case *driver.Frame:
			if v != nil {
				frames = append(frames, v.WithTrigger()...)
			}
		case Message:
			frames = append(frames, v.Request, v.Frame)
		case error:
			frames = append(frames, driver.FramesOfError(v)...)
		case Subject:
			frames = append(frames, v.Frames...)
			frames = append(frames, v.SourceFrames...)
		default:
			if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && mayHaveFrames(list.Type().Elem()) {
				for i := range list.Len() {
					frames = append(frames, framesIn(list.Index(i).Interface())...)
				}
			}
		}
	}
	return slices.DeleteFunc(frames, func(f *driver.Frame) bool { return f == nil })
}

// mayHaveFrames reports whether values of a type may tell of exchanges.
func mayHaveFrames(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer
}

// decisiveFrames is the exchange that decided a fail: the one that is known or, if none is, the last that was seen
// which has what the message quotes, or whose method it names, else the last; where nothing came, what was sent last.
func (o outcome) decisiveFrames() []*driver.Frame {
	if len(o.decidedBy) > 0 || len(o.evidence.parts) > 0 {
		return o.decidedBy
	}
	var heard []*driver.Frame
	for _, p := range o.ranges {
		heard = append(heard, p.frames()...)
	}
	fromServer := func(f *driver.Frame) bool { return f.Side != driver.FromClient }
	quoted := func(f *driver.Frame) bool { return fromServer(f) && hasQuotes(o.findings, f) }
	named := func(f *driver.Frame) bool { return f.IsRequest() && namesMethod(o.findings, f) }
	if f := lastFrame(heard, quoted); f != nil {
		return f.WithTrigger()
	}
	if sent := lastFrame(heard, named); sent != nil {
		answers := func(f *driver.Frame) bool { return f.IsResponse() && driver.SameID(f.RequestID(), sent.ID) }
		if f := lastFrame(heard, answers); f != nil && f.Position.SameRecord(sent.Position) {
			return []*driver.Frame{sent, f}
		}
		return []*driver.Frame{sent}
	}
	if f := lastFrame(heard, fromServer); f != nil {
		return f.WithTrigger()
	}
	if len(heard) == 0 {
		return nil
	}
	sent := heard[len(heard)-1]
	if sent.RoundTrip != nil {
		return sent.RoundTrip.Frames()
	}
	return []*driver.Frame{sent}
}

// lastFrame is the last frame that matches; nil when none does.
func lastFrame(frames []*driver.Frame, matches func(*driver.Frame) bool) *driver.Frame {
	for _, f := range slices.Backward(frames) {
		if matches(f) {
			return f
		}
	}
	return nil
}

// quotation is a text in quotation marks.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)+"`)

// hasQuotes reports whether a frame has all that the findings quote of what came, and they quote something.
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
