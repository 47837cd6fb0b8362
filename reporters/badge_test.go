package reporters

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// endpointSchema is what shields.io accepts from an endpoint. It rejects unknown members. (badges/shields,
// services/endpoint)
const endpointSchema = `{
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
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(endpointSchema))
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, compileSchema(t, doc), BadgeJSON, allSampleReports())
	for name, r := range allSampleReports() {
		var root xmlElement
		err := xml.Unmarshal(render(t, BadgeSVG, r), &root)
		if err != nil || root.attr("role") != "img" || root.attr("aria-label") != root.Children[0].Text {
			t.Errorf("%s: got %v, error %v", name, root.Attrs, err)
		}
	}
}

func TestBadge(t *testing.T) {
	interrupted := interruptedReport()
	for want, r := range map[string]report.Report{
		"MCP 2025-06-18|conforms|brightgreen":         conformingReport(),
		"MCP 2025-06-18|2 known failures|yellow":      acceptedReport(),
		"MCP 2025-06-18|2 failures of the SDK|yellow": excusedReport(),
		"MCP 2025-06-18|3 stale entries|red":          baselineReport(),
		"MCP 2025-06-18|1 failure|red":                httpReport(),
		"MCP 2025-11-25|6 failures|red":               strictReport(),
		"MCP|not tested|lightgrey":                    untestableReport(),
		"MCP|interrupted|lightgrey":                   interrupted,
		"MCP 2025-11-25|error|orange":                 fullReport(),
	} {
		if b := newBadge(r); b.Label+"|"+b.Message+"|"+b.Color != want {
			t.Errorf("want %s, got %+v", want, b)
		}
		if badgeColors[newBadge(r).Color] == "" {
			t.Errorf("%s: no such colour", want)
		}
	}
}
