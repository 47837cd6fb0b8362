package check

import (
	"reflect"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// framesIn returns the frames that values know of: those of replies, HTTP responses, frames, errors, subjects, and
// slices of these.
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

// mayHaveFrames reports whether values of a type may know of frames.
func mayHaveFrames(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer
}
