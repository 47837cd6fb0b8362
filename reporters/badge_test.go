package reporters

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// endpoint is what shields.io takes of an endpoint; it rejects unknown members. (badges/shields, services/endpoint)
const endpoint = `{
	"type": "object", "additionalProperties": false, "required": ["schemaVersion", "label", "message"],
	"properties": {
		"schemaVersion": {"const": 1},
		"label": {"type": "string"},
		"message": {"type": "string", "minLength": 1},
		"color": {"enum": ["brightgreen", "green", "yellowgreen", "yellow", "orange", "red", "lightgrey", "blue"]},
		"isError": {"type": "boolean"}
	}
}`

func TestBadgeIsValid(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(endpoint))
	if err != nil {
		t.Fatal(err)
	}
	wantValid(t, compiled(t, doc), BadgeJSON, evilSamples())
	for name, r := range evilSamples() {
		var root element
		err := xml.Unmarshal(render(t, BadgeSVG, r), &root)
		if err != nil || root.attr("role") != "img" || root.attr("aria-label") != root.Children[0].Text {
			t.Errorf("%s: got %v, error %v", name, root.Attrs, err)
		}
	}
}

func TestBadge(t *testing.T) {
	interrupted := twice()
	for want, r := range map[string]harness.Report{
		"MCP 2025-06-18|conforms|brightgreen":         conforming(),
		"MCP 2025-06-18|2 known failures|yellow":      accepted(),
		"MCP 2025-06-18|2 failures of the SDK|yellow": excused(),
		"MCP 2025-06-18|3 stale entries|red":          baselined(),
		"MCP 2025-06-18|1 failure|red":                overHTTP(),
		"MCP 2025-11-25|6 failures|red":               strict(),
		"MCP|not tested|lightgrey":                    untestable(),
		"MCP|interrupted|lightgrey":                   interrupted,
		"MCP 2025-11-25|error|orange":                 everything(),
	} {
		if b := newBadge(r); b.Label+"|"+b.Message+"|"+b.Color != want {
			t.Errorf("want %s, got %+v", want, b)
		}
		if badgeColors[newBadge(r).Color] == "" {
			t.Errorf("%s: no such colour", want)
		}
	}
}
