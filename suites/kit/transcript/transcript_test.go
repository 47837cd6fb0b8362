package transcript

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/kittest"
)

// TestGuessCalls proves that a response which answers nothing is taken as meant for the oldest request before it that
// has no response and was not guessed yet.
func TestGuessCalls(t *testing.T) {
	var d kittest.Frames
	d.AddRequest(1)
	d.AddResponse("null")
	d.AddResponse("null") // no request is left for this one
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
			got = append(got, "for "+string(r.Call.Request.ID))
		case r.GuessedCall != nil:
			got = append(got, "guessed for "+string(r.GuessedCall.Request.ID))
		default:
			got = append(got, "none")
		}
	}
	want := []string{"guessed for 1", "none", "for 3", "guessed for 2", "guessed for 4", "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFloodOfResponses proves that correlating unmatched responses takes linear time: in quadratic time this test would
// take minutes.
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
	unmatched, guessed := 0, 0
	for _, r := range pairs.responsesIn(d[flood:]) {
		switch {
		case r.GuessedCall != nil:
			guessed++
		case r.Call == nil:
			unmatched++
		}
	}
	if unmatched != many || guessed != many {
		t.Errorf("%d unmatched and %d guessed, want %d of both", unmatched, guessed, many)
	}
	for _, x := range pairs.Calls {
		if x.EndFrame == nil {
			t.Fatalf("request %s has no end", x.Request.ID)
		}
	}
}
