package kit

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// testFrames is a dialogue in frames.
type testFrames []*driver.Frame

func (d *testFrames) addRequest(id int) {
	*d = append(*d, &driver.Frame{
		Side: driver.FromClient, Raw: driver.Text("{}"), Kind: driver.Object,
		HasMethod: true, Method: "initialize",
		ID: json.RawMessage(strconv.Itoa(id)),
	})
}

func (d *testFrames) addResponse(id string) {
	*d = append(*d, &driver.Frame{
		Side: driver.FromServer, Kind: driver.Object, HasJSONRPC: true, HasError: true, ID: json.RawMessage(id),
	})
}

// A response that answers nothing is taken to be meant for the oldest request before it that has no answer and was not
// yet taken.
func TestGuessCalls(t *testing.T) {
	var d testFrames
	d.addRequest(1)
	d.addResponse("null")
	d.addResponse("null") // for which no request is left
	d.addRequest(2)
	d.addRequest(3)
	d.addRequest(4)
	d.addResponse("3")
	d.addResponse("null")
	d.addResponse(`"7"`)
	d.addResponse("null")
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
	var d testFrames
	for id := range many {
		d.addRequest(id)
		d.addResponse(strconv.Itoa(id))
	}
	flood := len(d)
	for range many {
		d.addResponse("null")
	}
	for id := range many {
		d.addRequest(many + id)
		d.addResponse("null")
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
