package reporters

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// FleetHTML writes the page of many servers, which is complete in itself as that of one server is. It is a table of
// servers by areas, which the script makes from one line of JSON for each server, in portions. It links to the reports
// next to it. The rows are written one by one between two halves of the template.
func FleetHTML(w io.Writer, f Fleet, t FleetTally) error {
	page := fleetPage{
		Policy: fleetPolicy, Style: template.CSS(pageStyle + fleetStyle), Scripts: fleetScripts,
		Outcome: "odd", Headline: sentenceCase(t.Headline()), Counts: t.Counts(),
		Version: withoutCommands(f.Tool.Version),
	}
	switch t.ExitCode() {
	case report.ExitConforms:
		page.Outcome = "good"
	case report.ExitFails:
		page.Outcome = "bad"
	}
	if err := fleetTemplate.ExecuteTemplate(w, "head", page); err != nil {
		return err
	}
	if err := writeFleetBlock(w, f, t); err != nil {
		return err
	}
	return fleetTemplate.ExecuteTemplate(w, "tail", page)
}

//go:embed html/fleet.html
var fleetText string

//go:embed html/fleet.css
var fleetStyle string

//go:embed html/fleet.js
var fleetScript string

var (
	fleetTemplate = template.Must(template.New("fleet").Parse(fleetText))
	fleetScripts  = []template.JS{template.JS(commonScript), template.JS(fleetScript)}
	fleetPolicy   = securityPolicy(pageStyle+fleetStyle, fleetScripts)
)

// fleetPage is the data of the template.
type fleetPage struct {
	Policy                    string
	Style                     template.CSS
	Scripts                   []template.JS
	Outcome, Headline, Counts string
	Version                   string
}

// fleetRow is a row as the page's script reads it.
type fleetRow struct {
	Name string `json:"name"`
	// Link leads to the server's report.
	Link    string `json:"link,omitempty"`
	Outcome string `json:"outcome"`
	Summary string `json:"said,omitempty"`
	// Server is the name and the version that the server declares.
	Server string `json:"server,omitempty"`
	// Cells are pairs of the index of an area and its counts.
	Cells [][2]any `json:"cells,omitempty"`
}

// writeFleetBlock writes the rows: a line with the areas, then one for each server.
func writeFleetBlock(w io.Writer, f Fleet, t FleetTally) error {
	if _, err := io.WriteString(w, `<script type="application/json" id="rows">`); err != nil {
		return err
	}
	at := map[string]int{}
	for i, name := range t.Areas {
		at[name] = i
	}
	line := func(v any) error {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		return encodeLine(w, v)
	}
	if err := line(t.Areas); err != nil {
		return err
	}
	for row, err := range f.Rows {
		if err != nil {
			return err
		}
		shown := fleetRow{
			Name: row.Name, Outcome: row.Outcome(), Summary: row.Summary(),
			Server: joinParts(nonEmpty(row.Server, row.Transport, row.Revisions)...),
		}
		if row.Dir != "" && isWebPath(row.Dir) {
			shown.Link = row.Dir + "/report.html"
		}
		for _, a := range row.Areas {
			if i, ok := at[a.Name]; ok {
				var counts []int
				for _, c := range a.counts() {
					counts = append(counts, *c.n)
				}
				shown.Cells = append(shown.Cells, [2]any{i, counts})
			}
		}
		if err := line(shown); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n</script>\n")
	return err
}
