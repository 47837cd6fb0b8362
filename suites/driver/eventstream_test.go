package driver

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReadEvents(t *testing.T) {
	message := func(data string) StreamEvent { return StreamEvent{Data: Text(data), HasData: true} }
	tests := []struct {
		name, stream string
		want         []StreamEvent
	}{
		{"one event", "data: x\n\n", []StreamEvent{message("x")}},
		{"lines of data are joined", "data: a\ndata: b\n\n", []StreamEvent{message("a\nb")}},
		{"one space is stripped", "data:  x\ndata:y\n\n", []StreamEvent{message(" x\ny")}},
		{"CR ends lines", "data: x\r\rdata: y\r\r", []StreamEvent{message("x"), message("y")}},
		{"CRLF ends lines", "data: x\r\n\r\ndata: y\r\n\r\n", []StreamEvent{message("x"), message("y")}},
		{"line ends may be mixed", "data: x\r\n\ndata: y\n\r\n", []StreamEvent{message("x"), message("y")}},
		{"a byte order mark is passed", "\uFEFFdata: x\n\n", []StreamEvent{message("x")}},
		{"a later one belongs to the field's name", "data: x\n\n\uFEFFdata: y\n\n", []StreamEvent{message("x"), {}}},
		{"comments", ": ping\n\n:\ndata: x\n\n",
			[]StreamEvent{{Comments: 1}, {Data: Text("x"), HasData: true, Comments: 1}}},
		{"a priming event", "id: 7\ndata:\n\n", []StreamEvent{{ID: "7", HasID: true, HasData: true}}},
		{"a field without colon", "data\n\n", []StreamEvent{{HasData: true}}},
		{"type, id and retry", "event: endpoint\nid: a b\nretry: 100\ndata: /m\n\n",
			[]StreamEvent{{
				Type: "endpoint", ID: "a b", HasID: true, Retry: "100", Data: Text("/m"), HasData: true,
			}}},
		{"a retry that is no number", "retry: 1s\ndata: x\n\n", []StreamEvent{message("x")}},
		{"an id with NUL", "id: a\x00b\ndata: x\n\n", []StreamEvent{message("x")}},
		{"names are exact", "Data: x\n data: y\n\n", []StreamEvent{{}}},
		{"a block without its end is no event", "data: x\n\ndata: y\n", []StreamEvent{message("x")}},
		{"blank lines alone are nothing", "\n\r\n\n", nil},
		{"UTF-8", "data: Grüße 世界\n\n", []StreamEvent{message("Grüße 世界")}},
	}
	for _, tt := range tests {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			var got []StreamEvent
			_, err := readEvents(
				wrap(strings.NewReader(tt.stream)),
				&readQuota{record: &record{limits: Limits{MaxMessageBytes: 1000}}, partial: new(partialMessage)},
				func(e StreamEvent) { got = append(got, e) },
				func() {},
			)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%s, read %s: %v (-want +got)\n%s", tt.name, how, err, diff)
			}
		}
	}
}

func TestReadEventsIsBounded(t *testing.T) {
	longLine, manyLines := "data: "+strings.Repeat("x", 200)+"\n\n", strings.Repeat("data: x\n", 50)+"\n"
	for _, stream := range []string{longLine, manyLines} {
		each := func(StreamEvent) { t.Error("received an event") }
		taken := &readQuota{record: &record{limits: Limits{MaxMessageBytes: 100}}, partial: new(partialMessage)}
		if _, err := readEvents(strings.NewReader(stream), taken, each, func() {}); AsLimitError(err) == nil {
			t.Errorf("%.20s…: the error is %v", stream, err)
		}
	}
}
