package kit

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// said is a dialogue in frames.
type said []*driver.Frame

func (d *said) asks(id int) {
	*d = append(*d, &driver.Frame{
		Side: driver.FromClient, Raw: driver.Text("{}"), Shape: driver.Object,
		HasMethod: true, Method: "initialize",
		ID: json.RawMessage(strconv.Itoa(id)),
	})
}

func (d *said) gets(id string) {
	*d = append(*d, &driver.Frame{
		Side: driver.FromServer, Shape: driver.Object, HasVersion: true, HasError: true, ID: json.RawMessage(id),
	})
}

// A response that answers nothing is taken to be meant for the oldest request before it that has no answer and was not
// yet taken.
func TestGuess(t *testing.T) {
	var d said
	d.asks(1)
	d.gets("null")
	d.gets("null") // for which no request is left
	d.asks(2)
	d.asks(3)
	d.asks(4)
	d.gets("3")
	d.gets("null")
	d.gets(`"7"`)
	d.gets("null")
	var got []string
	for _, r := range pair(&driver.Session{}, d).Responses {
		switch {
		case r.Of != nil:
			got = append(got, "of "+string(r.Of.Request.ID))
		case r.Meant != nil:
			got = append(got, "meant for "+string(r.Meant.Request.ID))
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
	var d said
	for id := range many {
		d.asks(id)
		d.gets(strconv.Itoa(id))
	}
	flood := len(d)
	for range many {
		d.gets("null")
	}
	for id := range many {
		d.asks(many + id)
		d.gets("null")
		d = append(d, &driver.Frame{Side: driver.Event, Raw: driver.Text("something happened")})
	}
	pairs := pair(&driver.Session{}, d)
	strays, meant := 0, 0
	for _, r := range pairs.among(d[flood:]) {
		switch {
		case r.Meant != nil:
			meant++
		case r.Of == nil:
			strays++
		}
	}
	if strays != many || meant != many {
		t.Errorf("%d strays and %d meant for a request, want %d of both", strays, meant, many)
	}
	for _, x := range pairs.Exchanges {
		if x.End == nil {
			t.Fatalf("request %s has no end", x.Request.ID)
		}
	}
}
