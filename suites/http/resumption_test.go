package http

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestForeignEvents proves that an event of another stream is recognized by its message, and not by an id that several
// streams may use.
func TestForeignEvents(t *testing.T) {
	event := func(id, data string) driver.StreamEvent {
		return driver.StreamEvent{ID: id, HasID: id != "", Data: driver.Text(data), HasData: true}
	}
	const mine, theirs = `{"id":7,"result":{}}`, `{"id":8,"result":{}}`
	const note, other = `{"method":"notifications/a"}`, `{"method":"notifications/b"}`
	r := resumption{
		otherIDs:    [][]byte{[]byte("1"), []byte("8")},
		otherEvents: []driver.StreamEvent{event("1", ""), event("2", other), event("3", theirs)},
	}
	tests := []struct {
		event                     driver.StreamEvent
		foreign, containsResponse bool
	}{
		{event("1", ""), false, false},
		{event("2", note), false, false},
		{event("3", mine), false, true},
		{event("3", `{"id":null,"result":{}}`), false, true},
		{event("2", other), true, false},
		{event("", other), false, false},
		{event("9", theirs), true, false},
		{event("3", theirs), true, false},
		{event("3", `{"id":1,"result":{}}`), true, false}, // the response to an earlier request
	}
	for _, tt := range tests {
		if got := r.isForeign(tt.event); got != tt.foreign {
			t.Errorf("%v: foreign is %v", tt.event, got)
		}
		if got := r.containsResponse(
			driver.HTTPResponse{Events: []driver.StreamEvent{tt.event}}); got != tt.containsResponse {
			t.Errorf("%v: contains the response: %v", tt.event, got)
		}
	}
}
