package client

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/kittest"
)

// TestServerRequestAttribution proves that a server request belongs to the only pending client request, and to none if
// there are several.
func TestServerRequestAttribution(t *testing.T) {
	var d kittest.Frames
	ask := func(id string) {
		d = append(d, &driver.Frame{
			Side: driver.FromServer, Kind: driver.Object, HasMethod: true, Method: "elicitation/create",
			ID: json.RawMessage(id),
		})
	}
	answer := func(id string) {
		d = append(d, &driver.Frame{
			Side: driver.FromClient, Kind: driver.Object, HasResult: true, HasJSONRPC: true, ID: json.RawMessage(id),
		})
	}
	ask("0")
	d.AddRequest(1)
	ask(`"in 1"`)
	answer(`"in 1"`)
	d.AddRequest(2)
	ask(`"in 1 or 2"`)
	d.AddResponse("1")
	ask(`"in 2"`)
	d.AddResponse("2")
	ask(`"in none"`)
	got := map[string]string{}
	for _, q := range ServerRequestsIn(&driver.Session{}, d) {
		of := strconv.Itoa(len(q.Candidates))
		if q.ClientRequest != nil {
			of = "of " + string(q.ClientRequest.ID)
		}
		if q.Response != nil {
			of += ", answered"
		}
		got[string(q.Frame.ID)] = of
	}
	want := map[string]string{
		"0": "0", `"in 1"`: "of 1, answered", `"in 1 or 2"`: "2", `"in 2"`: "of 2", `"in none"`: "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHasMode proves that form is the default mode, of a client that declares none and of a request without one.
func TestHasMode(t *testing.T) {
	tests := []struct {
		client, params check.M
		has            bool
	}{
		{check.M{}, check.M{}, false},
		{check.M{"elicitation": check.M{}}, check.M{}, true},
		{check.M{"elicitation": check.M{}}, check.M{"mode": "form"}, true},
		{check.M{"elicitation": check.M{}}, check.M{"mode": "url"}, false},
		{check.M{"elicitation": check.M{"url": check.M{}}}, check.M{}, false},
		{check.M{"elicitation": check.M{"url": check.M{}}}, check.M{"mode": "url"}, true},
		{check.M{"elicitation": check.M{"url": check.M{}, "form": check.M{}}}, check.M{"mode": 1}, false},
	}
	for _, tt := range tests {
		if has := HasMode(tt.client, ModeOf(tt.params)); has != tt.has {
			t.Errorf("%v has the mode of %v: %v", tt.client, tt.params, has)
		}
	}
}
