package harness

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
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
				frames = append(frames, v.Exchange()...)
			}
		case Message:
			frames = append(frames, v.Request, v.Frame)
		case error:
			frames = append(frames, driver.FramesOf(v)...)
		case Subject:
			frames = append(frames, v.Frames...)
			frames = append(frames, v.Behind...)
		default:
			if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && isTelling(list.Type().Elem()) {
				for i := range list.Len() {
					frames = append(frames, framesIn(list.Index(i).Interface())...)
				}
			}
		}
	}
	return slices.DeleteFunc(frames, func(f *driver.Frame) bool { return f == nil })
}

// isTelling reports whether values of a type may tell of exchanges.
func isTelling(t reflect.Type) bool { return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer }

// decisive is the exchange that decided a fail: the one that is known or, if none is, the last that was seen which
// has what the message quotes, or whose method it names, else the last; where nothing came, what was sent last.
func (o outcome) decisive() []*driver.Frame {
	if len(o.decided) > 0 || len(o.shown.parts) > 0 {
		return o.decided
	}
	var heard []*driver.Frame
	for _, p := range o.heard {
		heard = append(heard, p.frames()...)
	}
	fromServer := func(f *driver.Frame) bool { return f.Side != driver.FromClient }
	quoted := func(f *driver.Frame) bool { return fromServer(f) && quotes(o.findings, f) }
	named := func(f *driver.Frame) bool { return f.IsRequest() && nameMethod(o.findings, f) }
	if f := last(heard, quoted); f != nil {
		return f.Exchange()
	}
	if sent := last(heard, named); sent != nil {
		answers := func(f *driver.Frame) bool { return f.IsResponse() && driver.SameID(f.Answers(), sent.ID) }
		if f := last(heard, answers); f != nil && f.Place.Shares(sent.Place) {
			return []*driver.Frame{sent, f}
		}
		return []*driver.Frame{sent}
	}
	if f := last(heard, fromServer); f != nil {
		return f.Exchange()
	}
	if len(heard) == 0 {
		return nil
	}
	sent := heard[len(heard)-1]
	if sent.HTTP != nil {
		return sent.HTTP.Frames()
	}
	return []*driver.Frame{sent}
}

// last is the last frame that matches; nil when none does.
func last(frames []*driver.Frame, matches func(*driver.Frame) bool) *driver.Frame {
	for _, f := range slices.Backward(frames) {
		if matches(f) {
			return f
		}
	}
	return nil
}

// quotation is a text in quotation marks.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)+"`)

// quotes reports whether a frame has all that the findings quote of what came, and they quote something.
func quotes(findings []Finding, f *driver.Frame) (all bool) {
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

// nameMethod reports whether a finding names the method of a request.
func nameMethod(findings []Finding, request *driver.Frame) bool {
	return strings.Contains(request.Method, "/") && slices.ContainsFunc(findings, func(f Finding) bool {
		return strings.Contains(f.Want+" "+f.Got, request.Method)
	})
}
