package transcript

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/kittest"
)

// A response that answers nothing is taken to be meant for the oldest request before it that has no answer and was not
// yet taken.
func TestGuessCalls(t *testing.T) {
	var d kittest.Frames
	d.AddRequest(1)
	d.AddResponse("null")
	d.AddResponse("null") // for which no request is left
	d.AddRequest(2)
	d.AddRequest(3)
	d.AddRequest(4)
	d.AddResponse("3")
	d.AddResponse("null")
	d.AddResponse(`"7"`)
	d.AddResponse("null")
	var got []string
	for _, r := range correlate(&driver.Session{}, d).Responses {
		switch {
		case r.Call != nil:
			got = append(got, "of "+string(r.Call.Request.ID))
		case r.GuessedCall != nil:
			got = append(got, "meant for "+string(r.GuessedCall.Request.ID))
		default:
			got = append(got, "none")
		}
	}
	want := []string{"meant for 1", "none", "of 3", "meant for 2", "meant for 4", "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A flood of responses that answer nothing takes work in proportion to it: with the square of it, this test would take
// minutes.
func TestFloodOfResponses(t *testing.T) {
	const many = 100_000
	var d kittest.Frames
	for id := range many {
		d.AddRequest(id)
		d.AddResponse(strconv.Itoa(id))
	}
	flood := len(d)
	for range many {
		d.AddResponse("null")
	}
	for id := range many {
		d.AddRequest(many + id)
		d.AddResponse("null")
		d = append(d, &driver.Frame{Side: driver.SessionEvent, Raw: driver.Text("something happened")})
	}
	pairs := correlate(&driver.Session{}, d)
	strays, meant := 0, 0
	for _, r := range pairs.responsesIn(d[flood:]) {
		switch {
		case r.GuessedCall != nil:
			meant++
		case r.Call == nil:
			strays++
		}
	}
	if strays != many || meant != many {
		t.Errorf("%d strays and %d meant for a request, want %d of both", strays, meant, many)
	}
	for _, x := range pairs.Calls {
		if x.EndFrame == nil {
			t.Fatalf("request %s has no end", x.Request.ID)
		}
	}
}
